"""The shapes of schedules in the API."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.accounts.asked_rights import STOPPED
from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import BodySerializer
from console.schedules import timing
from console.schedules.models import Schedule, ScheduleFiring
from console.schedules.queries import why_stopped


@extend_schema_field({"type": "object", "additionalProperties": True})
class ArgumentsField(serializers.JSONField):
    """Arguments of what is started; which there are depends on its kind."""


class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """A schedule; `last_...` are null or empty before its first time."""

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
    """What happened at one time; `due_at` is null when `by` started it by hand."""

    by = serializers.CharField(source="by.username", allow_null=True, default=None)

    class Meta:
        model = ScheduleFiring
        fields = ("due_at", "at", "by", "missed", "outcome", "sentence", "ref")
        read_only_fields = fields


class ScheduleDetailSerializer(ScheduleSerializer):
    """A schedule with its next times and its last firings."""

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
    """What can be changed of a schedule; what it starts stays."""

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
    """A schedule to be made."""

    name = serializers.CharField(max_length=200)
    kind = serializers.CharField(max_length=40, help_text="What is started: `analysis`.")
    arguments = serializers.DictField(required=False, default=dict)
    cron = serializers.CharField(max_length=timing.LONGEST_CRON, help_text=timing.HELP)


class ScheduleFilters(PageParameters):
    """What a list of schedules can be filtered by."""

    kind = serializers.CharField(required=False, max_length=40, help_text="What is started.")
    is_enabled = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Only these."
    )
