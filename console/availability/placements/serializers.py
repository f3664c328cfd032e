"""Serializers of placements, previews and observers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from console.availability.placements.effects import Preview, TopicEffect, TopicStanding
from console.availability.placements.models import (
    LARGEST_PRIORITY,
    PatternKind,
    TopicPlacement,
)
from console.availability.placements.observers import STATES, Observer
from console.availability.placements.placements import Origin
from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.rest.parameters import LARGEST_PAGE, PageParameters, Parameters
from console.frame.rest.serializers import BodySerializer
from jobs.availability.status.severity import Severity

_ALIAS = "Alias of the cluster."
_DOCUMENT = (
    "Confluent's placement constraints, version 1 or 2: `replicas`, `observers`, "
    "`observerPromotionPolicy`."
)
LARGEST_OFFSET = 10_000_000


class ClusterParameters(Parameters):
    """The cluster."""

    cluster = serializers.CharField(max_length=63, help_text=_ALIAS)


class RowParameters(ClusterParameters):
    """The cluster, and the page of a computed answer."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST_PAGE,
        default=50,
        help_text="Maximum number of rows.",
    )
    offset = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_OFFSET,
        default=0,
        help_text="Number of skipped rows.",
    )
    topic = serializers.CharField(
        required=False,
        default="",
        max_length=TOPIC_NAME_LENGTH,
        help_text="Only topics whose name contains this.",
    )


class PlacementFilters(PageParameters):
    """Filters of placements."""

    cluster = serializers.CharField(required=False, max_length=63, help_text=_ALIAS)


class StandingFilters(RowParameters):
    """Filters of topics with a placement."""

    wrong = serializers.BooleanField(
        required=False, default=False, help_text="Only topics with mismatches."
    )


class ObserverFilters(RowParameters):
    """Filters of observers."""

    state = serializers.ChoiceField(
        choices=STATES, required=False, default="all", help_text="`all` without it."
    )
    broker = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, help_text="Only those on this broker."
    )


class PlacementSerializer(serializers.ModelSerializer[TopicPlacement]):
    """A placement assigned in crosslog to a topic or a pattern."""

    cluster = serializers.CharField(source="cluster.alias")
    placement = serializers.DictField(source="document", help_text=_DOCUMENT)

    class Meta:
        model = TopicPlacement
        fields = (
            "id",
            "cluster",
            "kind",
            "pattern",
            "priority",
            "placement",
            "note",
            "created_at",
            "changed_at",
            "changed_by",
        )
        read_only_fields = fields


class DraftSerializer(BodySerializer):
    """A placement to preview; errors of its parts are keyed like `placement.replicas[0].count`."""

    kind = serializers.ChoiceField(choices=PatternKind.choices, required=False)
    pattern = serializers.CharField(max_length=TOPIC_NAME_LENGTH)
    priority = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_PRIORITY,
        help_text="Of several matching patterns the highest priority applies, then the longest.",
    )
    placement = serializers.JSONField(help_text=_DOCUMENT)
    note = serializers.CharField(max_length=300, required=False, allow_blank=True)

    def validate_placement(self, value: Any) -> Any:
        """Refuse other JSON types; the action validates the parts."""
        if not isinstance(value, dict | str):
            raise serializers.ValidationError("A JSON object, or its text.")
        return value


class PreviewQuery(DraftSerializer):
    """A placement to preview; `id` is that of the placement to change."""

    cluster = serializers.CharField(max_length=63, help_text=_ALIAS)
    id = serializers.IntegerField(required=False, min_value=1, max_value=2**62)
    pattern = serializers.CharField(max_length=TOPIC_NAME_LENGTH, required=False)
    placement = serializers.JSONField(required=False, help_text=_DOCUMENT)


class NewPlacementSerializer(DraftSerializer):
    """A placement to save; `confirm` is from its preview."""

    cluster = serializers.CharField(max_length=63, help_text=_ALIAS)
    confirm = serializers.CharField(max_length=64, help_text="From `POST placements/preview/`.")


class ChangedPlacementSerializer(DraftSerializer):
    """Changed fields of a placement; `confirm` is from the preview with its `id`."""

    shown_by = PlacementSerializer

    pattern = serializers.CharField(max_length=TOPIC_NAME_LENGTH, required=False)
    placement = serializers.JSONField(required=False, help_text=_DOCUMENT)
    confirm = serializers.CharField(max_length=64, help_text="From `POST placements/preview/`.")


class ViolationSerializer(serializers.Serializer[Any]):
    """A kind of mismatch between replicas and the placement."""

    code = serializers.CharField()
    partitions = serializers.IntegerField(source="count")
    sentence = serializers.CharField(help_text="Of one of the partitions.")
    brokers = serializers.ListField(child=serializers.IntegerField())


class StandingSerializer(serializers.Serializer[TopicStanding]):
    """A topic under its placement; `missing` counts partitions with a sync replica outside the ISR."""

    topic = serializers.CharField(source="name")
    partitions = serializers.IntegerField()
    origin = serializers.ChoiceField(
        choices=[one.value for one in Origin], source="resolved.origin.value"
    )
    rule = serializers.IntegerField(source="resolved.rule.pk", default=None, allow_null=True)
    placement = serializers.SerializerMethodField()
    problem = serializers.CharField(source="resolved.problem", allow_blank=True)
    violations = ViolationSerializer(many=True)
    missing = serializers.IntegerField()
    reassigned = serializers.IntegerField(
        help_text="Partitions in a reassignment: judged by the replicas that it leads to."
    )
    worst = serializers.ChoiceField(choices=[s.word for s in Severity], source="worst.word")

    def get_placement(self, one: TopicStanding) -> dict[str, Any] | None:
        """Return the effective placement; null for none."""
        return None if one.placement is None else one.placement.as_json()


class EffectSerializer(serializers.Serializer[TopicEffect]):
    """A topic before and after; `shadow` is why another placement applies to it."""

    topic = serializers.CharField(source="name")
    counts = serializers.BooleanField()
    shadow = serializers.CharField(allow_blank=True)
    before = StandingSerializer()
    after = StandingSerializer()


class PreviewSerializer(serializers.Serializer[Preview]):
    """The effect of saving; `effects` by severity, at most 100 of `fitting`."""

    confirm = serializers.CharField(
        help_text="Required for saving: it identifies the previewed values."
    )
    fitting = serializers.IntegerField(help_text="Topics that the name or pattern matches.")
    counting = serializers.IntegerField(
        help_text="Those of them for which the placement would be effective."
    )
    partitions = serializers.IntegerField()
    wrong = serializers.IntegerField(help_text="Topics that would have mismatches.")
    missing_before = serializers.IntegerField()
    missing_after = serializers.IntegerField()
    effects = EffectSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField())


class RowsSerializer(serializers.Serializer[Any]):
    """Rows of an answer: `count` of all that fit, `results` those from `offset` on."""

    cluster = serializers.CharField()
    seen_at = serializers.DateTimeField(allow_null=True)
    gaps = serializers.ListField(child=serializers.CharField(), help_text="Missing data.")
    count = serializers.IntegerField()
    offset = serializers.IntegerField()


class StandingsSerializer(RowsSerializer):
    """Topics with a placement, those with mismatches first."""

    results = StandingSerializer(many=True)


class ObserverSerializer(serializers.Serializer[Observer]):
    """One observer replica; null where unknown."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    broker = serializers.IntegerField()
    rack = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=STATES[1:])
    is_in_isr = serializers.BooleanField()
    is_leader = serializers.BooleanField()
    is_alive = serializers.BooleanField()
    is_standby = serializers.BooleanField(help_text="A fenced standby broker.")
    since = serializers.DateTimeField(allow_null=True)
    since_before = serializers.BooleanField(help_text="It was earlier than `since`.")
    is_caught_up = serializers.BooleanField(allow_null=True)
    lag = serializers.IntegerField(allow_null=True, help_text="Records.")
    policy = serializers.CharField(allow_null=True)
    origin = serializers.CharField()


class StandbySerializer(serializers.Serializer[Any]):
    """A fenced broker that is alive."""

    broker = serializers.IntegerField(source="broker.broker_id")
    rack = serializers.CharField(source="broker.rack", allow_null=True)
    partitions = serializers.IntegerField()
    in_isr = serializers.IntegerField()


class ObserverCountsSerializer(serializers.Serializer[Any]):
    """How many observers there are, by state."""

    partitions = serializers.IntegerField()
    total = serializers.IntegerField()
    in_isr = serializers.IntegerField()
    leading = serializers.IntegerField()
    waiting = serializers.IntegerField()
    dead = serializers.IntegerField()


@extend_schema_serializer(many=False)
class ObserversSerializer(RowsSerializer):
    """Observers, and the fenced standby brokers."""

    counts = ObserverCountsSerializer()
    standbys = StandbySerializer(many=True)
    results = ObserverSerializer(many=True)
