"""Engines over REST."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.errors import or_404
from console.frame.rest.parameters import PageParameters
from console.frame.rest.viewset import ApiViewSet
from console.runs.engines import actions, queries
from console.runs.engines.models import Engine, EngineKind, EngineState
from console.runs.serializers import DocumentField


class EngineSerializer(serializers.ModelSerializer[Engine]):
    """An engine; `flow_count` and `slot_count` are null before its first report, and of one for analyses."""

    flow_count = serializers.IntegerField(allow_null=True)
    slot_count = serializers.IntegerField(allow_null=True)

    class Meta:
        model = Engine
        fields = (
            "name",
            "kind",
            "state",
            "release",
            "host",
            "started_at",
            "seen_at",
            "ended_at",
            "roll_requested_at",
            "flow_count",
            "slot_count",
            "problem",
        )
        read_only_fields = fields


class EngineDetailSerializer(EngineSerializer):
    """An engine with its slots and flows in `progress`."""

    progress = DocumentField(read_only=True)
    log = serializers.SerializerMethodField(
        help_text="The last 400 lines; null while the log is on another host."
    )

    class Meta:
        model = Engine
        fields = (*EngineSerializer.Meta.fields, "progress", "log")
        read_only_fields = fields

    def get_log(self, engine: Engine) -> str | None:
        """Return the last lines of the log."""
        return queries.read_log(engine)


class EngineFilters(PageParameters):
    """Filters of engines."""

    kind = serializers.ChoiceField(
        EngineKind.choices, required=False, help_text="`flows`, or `engine` for analyses."
    )
    state = serializers.ChoiceField(
        EngineState.choices, required=False, help_text="Engines in this state."
    )
    host = serializers.CharField(required=False, max_length=255, help_text="Engines of this host.")


class EngineViewSet(mixins.ListModelMixin, ApiViewSet[Engine]):
    """Engines, newest first; they have flows of all clusters and need a role everywhere."""

    serializer_class = EngineSerializer
    ordering = ("-started_at", "name")
    parameters: ClassVar = {"list": EngineFilters}
    lookup_value_regex = r"[a-z]{1,20}-[0-9a-f]{1,32}"

    def get_queryset(self) -> QuerySet[Engine]:
        names = ("kind", "state", "host")
        wanted = {name: self.asked[name] for name in names if name in self.asked}
        return queries.list_engines().filter(**wanted)

    def list(self, request: Request) -> Response:
        """List engines."""
        return super().list(request)

    @extend_schema(responses=EngineDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one engine with its slots, flows and log."""
        return self._answer(pk)

    @extend_schema(request=None, responses=EngineDetailSerializer)
    @action(detail=True, methods=["post"])
    def roll(self, request: Request, pk: str) -> Response:
        """Move the flows to a new engine, one after the other; 409 `not_rollable` for any other engine."""
        actions.roll_engine(or_404(self.get_queryset().filter(pk=pk).first()).pk, timezone.now())
        return self._answer(pk)

    def _answer(self, name: str) -> Response:
        engine = or_404(Engine.objects.filter(pk=name).first())
        return Response(EngineDetailSerializer(engine).data)
