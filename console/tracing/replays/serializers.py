"""Redrives as JSON."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import BodySerializer
from console.runs.analyses.results import has_answer
from console.tracing.replays.actions import LONGEST_NAME
from console.tracing.replays.models import Redrive


class RedriveFilters(PageParameters):
    """Redrives of one cluster."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="An alias.")


class RedriveSerializer(serializers.ModelSerializer[Redrive]):
    """A redrive; `state` is that of its last run, or NOT_APPLIED."""

    cluster = serializers.CharField(source="cluster.alias")
    state = serializers.CharField()
    plan = serializers.SerializerMethodField()
    result = serializers.SerializerMethodField()
    created_by = serializers.CharField(source="created_by.username", default=None)
    applied_by = serializers.CharField(source="applied_by.username", default=None)

    class Meta:
        model = Redrive
        fields = (
            "id", "cluster", "name", "state", "plan_run", "plan", "run", "result", "records_per_s",
            "created_at", "created_by", "applied_at", "applied_by",
        )  # fmt: skip
        read_only_fields = fields

    def get_plan(self, row: Redrive) -> dict[str, Any]:
        """Return the facts of the plan, and in `tiers` how many records come from where."""
        return {**row.plan["facts"], "tiers": row.plan["tiers"]}

    def get_result(self, row: Redrive) -> dict[str, Any] | None:
        """Return the facts of the last run; null while there are none."""
        if row.run is None or not has_answer(row.run):
            return None
        return dict((row.run.summary or {})["facts"])


class NewRedriveSerializer(BodySerializer):
    """The run of a replay plan, and a name."""

    plan_run = serializers.UUIDField()
    name = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_NAME)


class ApplyRedriveSerializer(BodySerializer):
    """The redrive's name as confirmation, and its speed."""

    confirm = serializers.CharField(max_length=LONGEST_NAME)
    records_per_s = serializers.IntegerField(default=100)
