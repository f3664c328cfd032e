"""Deliveries over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.delivery import actions, queries
from console.delivery.destinations import LONGEST
from console.delivery.models import OF_REPORTS, Channel, Delivery, DeliveryState
from console.frame.rest.parameters import PageParameters
from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import BodySerializer
from console.frame.rest.viewset import ApiViewSet


class LogEntrySerializer(serializers.Serializer[Any]):
    """What happened at one moment."""

    at = serializers.DateTimeField()
    outcome = serializers.CharField()
    sentence = serializers.CharField()


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """A report or notification on its way to one address; of a webhook only the host is shown."""

    run = serializers.UUIDField(
        source="run_id", allow_null=True, help_text="Of a report, else null."
    )
    sender = serializers.CharField(
        source="sender.name", default=None, help_text="The channel of a notification, else null."
    )
    address = serializers.CharField(source="shown_address")
    sentence = serializers.CharField(help_text="What happened last.")
    log = LogEntrySerializer(many=True, help_text="Newest last.")

    class Meta:
        model = Delivery
        fields = (
            "id",
            "source",
            "subject",
            "run",
            "sender",
            "channel",
            "address",
            "state",
            "attempts",
            "created_at",
            "next_at",
            "delivered_at",
            "sentence",
            "log",
        )
        read_only_fields = fields


class DeliveryFilters(PageParameters):
    """What a list of deliveries can be filtered by."""

    run = serializers.UUIDField(required=False, help_text="Of this run of a report.")
    state = serializers.ChoiceField(
        DeliveryState.choices, required=False, help_text="In this state."
    )
    channel = serializers.ChoiceField(Channel.choices, required=False, help_text="By this channel.")


class DeliveryTestSerializer(BodySerializer):
    """Where a test message is sent."""

    channel = serializers.ChoiceField(OF_REPORTS)
    address = serializers.CharField(max_length=LONGEST)


class SaidSerializer(serializers.Serializer[Any]):
    """What the server said."""

    sentence = serializers.CharField()


class DeliveryViewSet(mixins.ListModelMixin, ApiViewSet[Delivery]):
    """Deliveries, newest first: of the reports that a person sees, of notifications for administrators."""

    serializer_class = DeliverySerializer
    ordering = "-pk"
    access: ClassVar = {"write": "administer"}
    anywhere_actions: ClassVar = ("list",)
    parameters: ClassVar = {"list": DeliveryFilters}
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[Delivery]:
        wanted = {name: self.asked.get(name) for name in ("run", "state", "channel")}
        given = {name: value for name, value in wanted.items() if value is not None}
        return queries.list_deliveries(self.request.user).filter(**given)

    def list(self, request: Request) -> Response:
        """List deliveries with their state, their next attempt and what happened."""
        return super().list(request)

    @extend_schema(request=None, responses=DeliverySerializer)
    @action(detail=True, methods=["post"], url_path="retry", url_name="retry")
    def retry(self, request: Request, pk: str) -> Response:
        """Try a delivery again that was refused or given up; 409 for any other."""
        delivery = actions.retry(int(pk), timezone.now())
        return Response(DeliverySerializer(delivery).data)

    @extend_schema(request=DeliveryTestSerializer, responses=SaidSerializer)
    @action(detail=False, methods=["post"], url_path="test", url_name="test")
    def send_test(self, request: Request) -> Response:
        """Send a test message at once; 409 with what the server said when it was not delivered."""
        given = body_of(DeliveryTestSerializer, request)
        person: Any = request.user
        said = actions.send_test(given["channel"], given["address"], person, timezone.now())
        return Response(SaidSerializer({"sentence": said}).data)
