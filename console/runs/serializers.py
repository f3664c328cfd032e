"""The shapes of runs in the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.frame.rest.parameters import PageParameters, Parameters
from console.frame.rest.serializers import RenamedChoiceField
from console.runs.analyses.questions import written_arguments
from console.runs.analyses.queue import queue_position
from console.runs.analyses.results import RecordContent, check_reader, kept_until
from console.runs.models import Run, RunState
from jobs.spark.contract import OUTCOMES_BEFORE


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run without its documents."""

    requested_by = serializers.CharField(
        source="requested_by.username", allow_null=True, default=None
    )

    class Meta:
        model = Run
        fields = (
            "id",
            "kind",
            "subject",
            "title",
            "state",
            "requested_by",
            "created_at",
            "started_at",
            "finished_at",
            "heartbeat_at",
            "reported_at",
            "cancel_requested_at",
            "host",
            "error",
        )
        read_only_fields = fields


@extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
class DocumentField(serializers.JSONField):
    """A document of the job; null before."""


class HostingSerializer(serializers.Serializer[Any]):
    """The application that copies the flow of a run; `name` is empty where it is the run's own.

    `cpu_percent` and `memory_bytes` are the share of this run; null: not known.
    """

    name = serializers.CharField()
    slots = serializers.ListField(child=serializers.IntegerField())
    cpu_percent = serializers.FloatField(allow_null=True, help_text="Percent of one core.")
    memory_bytes = serializers.IntegerField(allow_null=True)


class RunDetailSerializer(RunSerializer):
    """A run with the newest progress and the summary of its end; of an analysis, that is its result."""

    arguments = serializers.SerializerMethodField(help_text="Of an analysis; else null.")
    queue_position = serializers.SerializerMethodField(
        help_text="The place of a queued analysis, 1 for the next; else null."
    )
    kept_until = serializers.SerializerMethodField(help_text="When the ended run is removed.")
    progress = DocumentField(read_only=True)
    hosting = HostingSerializer(source="progress.engine", default=None, allow_null=True)
    summary = serializers.SerializerMethodField(
        help_text="Null before, and for those who may not see the content of records in it."
    )

    class Meta:
        model = Run
        fields = (
            *RunSerializer.Meta.fields,
            "arguments",
            "queue_position",
            "attempts",
            "kept_until",
            "progress",
            "hosting",
            "summary",
        )
        read_only_fields = fields

    @extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
    def get_arguments(self, run: Run) -> dict[str, Any] | None:
        """Return the arguments, ready for a new request."""
        return written_arguments(run.kind, run.arguments) if run.is_analysis else None

    @extend_schema_field({"type": ["object", "null"], "additionalProperties": True})
    def get_summary(self, run: Run) -> dict[str, Any] | None:
        """Return the summary to those who may see it."""
        try:
            check_reader(run, self.context["request"].user)
        except RecordContent:
            return None
        return run.summary

    def get_queue_position(self, run: Run) -> int | None:
        """Return the place in the queue."""
        return queue_position(run)

    def get_kept_until(self, run: Run) -> datetime | None:
        """Return when the run is removed."""
        return kept_until(run)


class RunFilters(PageParameters):
    """Filters of runs."""

    subject = serializers.CharField(
        required=False, max_length=100, help_text="Subject of the run: `flow:12`."
    )
    state = RenamedChoiceField(
        RunState.choices, before=OUTCOMES_BEFORE, required=False, help_text="Runs in this state."
    )
    kind = serializers.CharField(
        required=False, max_length=40, help_text="`replicate`, or a kind of analysis."
    )


class LogQuery(Parameters):
    """Number of lines."""

    lines = serializers.IntegerField(
        required=False,
        default=400,
        min_value=1,
        max_value=5000,
        help_text="The last lines of the log.",
    )


class LogSerializer(serializers.Serializer[Any]):
    """The last lines of a log; `is_here` is false when it is on another host."""

    is_here = serializers.BooleanField()
    host = serializers.CharField()
    text = serializers.CharField()
