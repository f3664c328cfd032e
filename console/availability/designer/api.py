"""The designer over REST: requirements in, a placement out. Nothing is stored, no cluster is queried."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.availability.designer.forms import (
    LARGEST_ID,
    LONGEST_S,
    MOST_BROKERS,
    MOST_COPIES,
    MOST_PARTITIONS,
    MOST_SITES,
    MOST_VOTERS,
)
from console.availability.placements.models import TopicPlacement
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.rest.serializers import BodySerializer
from console.frame.rest.viewset import ApiViewSet
from jobs.availability.designer.design import design
from jobs.availability.designer.model import Design
from jobs.availability.designer.requirements import (
    DesignRequirements,
    ImpossibleRequirements,
    LossAllowed,
    ObserverSupport,
    Site,
    WritableAfter,
)
from jobs.cluster.errors import InvalidFields

_IDS: dict[str, Any] = {"min_value": 0, "max_value": LARGEST_ID}


class SiteSerializer(BodySerializer):
    """A site; without brokers it holds controllers only."""

    name = serializers.CharField(max_length=255)
    brokers = serializers.ListField(
        child=serializers.IntegerField(**_IDS), required=False, max_length=MOST_BROKERS
    )
    standbys = serializers.ListField(
        child=serializers.IntegerField(**_IDS),
        required=False,
        max_length=MOST_BROKERS,
        help_text="Its brokers that run, or are planned, as fenced standby brokers.",
    )


class WishSerializer(BodySerializer):
    """Requirements of a placement; null and absent: no requirement."""

    sites = SiteSerializer(many=True, allow_empty=False)
    rpo = serializers.ChoiceField(choices=[one.value for one in LossAllowed], required=False)
    rto_s = serializers.FloatField(
        required=False, allow_null=True, min_value=0.1, max_value=LONGEST_S
    )
    writable_after = serializers.ChoiceField(
        choices=[one.value for one in WritableAfter], required=False
    )
    observers = serializers.ChoiceField(
        choices=[one.value for one in ObserverSupport], required=False
    )
    topic = serializers.RegexField(
        r"[a-zA-Z0-9._-]+\Z", max_length=TOPIC_NAME_LENGTH, required=False
    )
    partitions = serializers.IntegerField(required=False, min_value=1, max_value=MOST_PARTITIONS)
    is_existing_topic = serializers.BooleanField(
        required=False,
        help_text="The topic exists: commands move its replicas (`partitions` as many as it has) and do not "
        "create it.",
    )
    preferred_site = serializers.CharField(required=False, allow_null=True, max_length=255)
    majority_site = serializers.CharField(required=False, allow_null=True, max_length=255)
    most_copies = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MOST_COPIES
    )
    voters = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MOST_VOTERS
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse too many sites."""
        if len(attrs["sites"]) > MOST_SITES:
            raise serializers.ValidationError({"sites": f"At most {MOST_SITES} sites."})
        return attrs

    def requirements(self) -> DesignRequirements:
        """Return the requirements; call after `is_valid`."""
        given = dict(self.validated_data)
        sites = tuple(
            Site(one["name"], tuple(one.get("brokers", ())), tuple(one.get("standbys", ())))
            for one in given.pop("sites")
        )
        words = {"rpo": LossAllowed, "writable_after": WritableAfter, "observers": ObserverSupport}
        for name, kind in words.items():
            if name in given:
                given[name] = kind(given[name])
        return DesignRequirements(sites, **given)


class LayoutSerializer(serializers.Serializer[Any]):
    """Replicas, observers and voters of a site."""

    site = serializers.CharField()
    replicas = serializers.IntegerField()
    observers = serializers.IntegerField()
    voters = serializers.IntegerField()


class SurvivalSerializer(serializers.Serializer[Any]):
    """The simulated effect of one loss; `takes_s` null: until an operator acts."""

    loss = serializers.CharField()
    is_writable = serializers.BooleanField()
    data_at_risk = serializers.BooleanField()
    needs_unclean = serializers.BooleanField()
    has_quorum = serializers.BooleanField()
    takes_s = serializers.FloatField(allow_null=True)
    sentence = serializers.CharField()


class ReasonSerializer(serializers.Serializer[Any]):
    """The reason of a value of the design."""

    subject = serializers.CharField()
    sentence = serializers.CharField()


class AlternativeSerializer(serializers.Serializer[Any]):
    """Another placement, and why it was not chosen."""

    title = serializers.CharField()
    layout = LayoutSerializer(many=True)
    min_insync_replicas = serializers.IntegerField()
    why_not = serializers.CharField()
    is_possible = serializers.BooleanField()


class DesignCommandsSerializer(serializers.Serializer[Any]):
    """Commands that belong together, in their order; or lines of a properties file."""

    title = serializers.CharField()
    lines = serializers.ListField(child=serializers.CharField())
    is_file = serializers.BooleanField()


class DesignSerializer(serializers.Serializer[Any]):
    """A placement that meets the requirements."""

    layout = LayoutSerializer(many=True)
    placement = serializers.SerializerMethodField()
    min_insync_replicas = serializers.IntegerField()
    assignment = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Brokers of each partition, leader first.",
    )
    reasons = ReasonSerializer(many=True)
    survives = SurvivalSerializer(many=True)
    alternatives = AlternativeSerializer(many=True)
    commands = DesignCommandsSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField())

    def get_placement(self, found: Design) -> dict[str, Any]:
        """Return the placement in Confluent's form."""
        return found.placement.as_json()


class PlacementDesignViewSet(ApiViewSet[TopicPlacement]):
    """Placements that meet requirements."""

    queryset = TopicPlacement.objects.none()
    serializer_class = DesignSerializer
    anywhere_actions: ClassVar = ("create",)
    # It writes nothing.
    access: ClassVar = {"create": "view"}
    secret_answers: ClassVar = ("create",)

    @extend_schema(request=WishSerializer, responses={200: DesignSerializer})
    def create(self, request: Request) -> Response:
        """Generate a placement for requirements, with reasons and simulated failures."""
        asked = WishSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        try:
            found = design(asked.requirements())
        except ImpossibleRequirements as impossible:
            raise InvalidFields(impossible.problems) from None
        return Response(DesignSerializer(found).data)
