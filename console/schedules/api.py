"""Schedules over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import STOPPED
from console.frame.errors import or_404
from console.frame.rest.parameters import PageParameters
from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import BodySerializer
from console.frame.rest.viewset import ApiViewSet
from console.schedules import actions, queries, timing
from console.schedules.models import Schedule, ScheduleFiring
from console.schedules.queries import why_stopped


@extend_schema_field({"type": "object", "additionalProperties": True})
class ArgumentsField(serializers.JSONField):
    """Arguments of the job; they depend on its kind."""


class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """A schedule; `last_...` are null or empty before its first run."""

    arguments = ArgumentsField(read_only=True)
    created_by = serializers.CharField(source="created_by.username", allow_null=True, default=None)

    class Meta:
        model = Schedule
        fields = (
            "id",
            "name",
            "kind",
            "arguments",
            "cron",
            "time_zone",
            "is_enabled",
            "created_by",
            "created_at",
            "next_at",
            "last_at",
            "last_outcome",
            "last_sentence",
            "last_ref",
            "last_started_at",
        )
        read_only_fields = fields


class FiringSerializer(serializers.ModelSerializer[ScheduleFiring]):
    """One run of a schedule; `due_at` is null when `by` started it by hand."""

    by = serializers.CharField(source="by.username", allow_null=True, default=None)

    class Meta:
        model = ScheduleFiring
        fields = ("due_at", "at", "by", "missed", "outcome", "sentence", "ref")
        read_only_fields = fields


class ScheduleDetailSerializer(ScheduleSerializer):
    """A schedule with its next and last runs."""

    next_times = serializers.ListField(
        child=serializers.DateTimeField(), help_text="Three at most."
    )
    firings = FiringSerializer(many=True, source="last_firings", help_text="Newest first.")
    stopped = serializers.SerializerMethodField(help_text=STOPPED)

    class Meta:
        model = Schedule
        fields = (*ScheduleSerializer.Meta.fields, "next_times", "firings", "stopped")
        read_only_fields = fields

    def get_stopped(self, schedule: Schedule) -> str:
        return why_stopped(schedule)


class ChangedScheduleSerializer(BodySerializer):
    """Fields of a schedule that can change; its job cannot."""

    shown_by = ScheduleDetailSerializer

    name = serializers.CharField(max_length=200, required=False)
    cron = serializers.CharField(
        max_length=timing.LONGEST_CRON, required=False, help_text=timing.HELP
    )
    time_zone = serializers.CharField(
        max_length=64, required=False, help_text="A name of the IANA database: `Europe/Berlin`."
    )
    is_enabled = serializers.BooleanField(required=False)


class NewScheduleSerializer(ChangedScheduleSerializer):
    """A new schedule."""

    name = serializers.CharField(max_length=200)
    kind = serializers.CharField(max_length=40, help_text="Kind of the job: `analysis`.")
    arguments = serializers.DictField(required=False, default=dict)
    cron = serializers.CharField(max_length=timing.LONGEST_CRON, help_text=timing.HELP)


class ScheduleFilters(PageParameters):
    """What a list of schedules can be filtered by."""

    kind = serializers.CharField(required=False, max_length=40, help_text="Kind of the job.")
    is_enabled = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Only these."
    )


class ScheduleViewSet(mixins.ListModelMixin, ApiViewSet[Schedule]):
    """Schedules by cron expression; they belong to no cluster and need a role everywhere."""

    serializer_class = ScheduleSerializer
    ordering = "name"
    parameters: ClassVar = {"list": ScheduleFilters}
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[Schedule]:
        wanted = {name: self.asked.get(name) for name in ("kind", "is_enabled")}
        given = {name: value for name, value in wanted.items() if value is not None}
        return queries.list_schedules().filter(**given)

    def list(self, request: Request) -> Response:
        """List schedules with their next run and the result of the last one."""
        return super().list(request)

    @extend_schema(responses=ScheduleDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one schedule with its next and last runs."""
        return self._answer()

    @extend_schema(request=NewScheduleSerializer, responses={201: ScheduleDetailSerializer})
    def create(self, request: Request) -> Response:
        """Create a schedule, owned by the user of the request."""
        asked = body_of(NewScheduleSerializer, request)
        person: Any = request.user
        self.kwargs["pk"] = actions.create_schedule(asked, person, timezone.now()).pk
        return self._answer(status.HTTP_201_CREATED)

    @extend_schema(request=ChangedScheduleSerializer, responses=ScheduleDetailSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change name, cron expression or time zone; disable or enable."""
        asked = body_of(ChangedScheduleSerializer, request, partial=True)
        actions.change_schedule(self._schedule().pk, asked, timezone.now())
        return self._answer()

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a schedule; its running jobs continue."""
        actions.delete_schedule(self._schedule().pk)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=FiringSerializer)
    @action(detail=True, methods=["post"], url_path="run", url_name="run")
    def run_now(self, request: Request, pk: str) -> Response:
        """Start the job now, for the user of the request; refused while the last run is live."""
        person: Any = request.user
        fired = actions.run_now(self._schedule().pk, person, timezone.now())
        return Response(FiringSerializer(fired).data)

    def _schedule(self) -> Schedule:
        return or_404(queries.get_schedule(int(self.kwargs["pk"])))

    def _answer(self, http_status: int = status.HTTP_200_OK) -> Response:
        schedule: Any = self._schedule()
        schedule.next_times = queries.list_next_times(schedule, timezone.now())
        schedule.last_firings = queries.list_firings(schedule)
        return Response(ScheduleDetailSerializer(schedule).data, http_status)
