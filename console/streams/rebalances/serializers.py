"""The shapes of rebalances in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.frame.rest.parameters import OptionalTimeRange, PageParameters
from console.streams.models import StreamsSnapshot
from console.streams.serializers import TASK_ROLES, StreamsPlace
from jobs.streams.rebalances.changes import Change, Reason

REBALANCE_REASONS = [one.value for one in Reason]


class StreamsRebalanceFilters(OptionalTimeRange, PageParameters, StreamsPlace):
    """Of which cluster an application is, and of which time its rebalances."""


class RebalanceInstanceSerializer(serializers.Serializer[Any]):
    """An instance after a change, with its counts of tasks."""

    process_id = serializers.CharField()
    place = serializers.CharField()
    threads = serializers.IntegerField()
    active = serializers.IntegerField()
    standby = serializers.IntegerField()
    warm_up = serializers.IntegerField()


class RebalancePlaceSerializer(serializers.Serializer[Any]):
    """An instance, and where it is."""

    process_id = serializers.CharField()
    place = serializers.CharField()


class RebalanceMoveSerializer(serializers.Serializer[Any]):
    """A task that another instance has in a role; null: no instance."""

    task = serializers.CharField()
    role = serializers.ChoiceField(choices=TASK_ROLES)
    moved_from = RebalancePlaceSerializer(source="source", allow_null=True)
    moved_to = RebalancePlaceSerializer(source="target", allow_null=True)


class RebalanceJoinsSerializer(serializers.Serializer[Any]):
    """A thread that joined more often than the group had generations."""

    client_id = serializers.CharField()
    process_id = serializers.CharField()
    joins = serializers.IntegerField()


class StreamsChangeSerializer(serializers.Serializer[Any]):
    """What a rebalance changed; a count is null where it is not known."""

    reasons = serializers.ListField(child=serializers.ChoiceField(choices=REBALANCE_REASONS))
    generation = serializers.IntegerField(allow_null=True)
    instances = RebalanceInstanceSerializer(many=True)
    joined = RebalancePlaceSerializer(many=True)
    left = RebalancePlaceSerializer(many=True)
    restarted = RebalancePlaceSerializer(many=True)
    moves = RebalanceMoveSerializer(many=True)
    move_count = serializers.IntegerField(allow_null=True)
    stopped_tasks = serializers.IntegerField(allow_null=True)
    next_rebalance_ms = serializers.IntegerField(allow_null=True)
    generations = serializers.IntegerField(allow_null=True, help_text="Of the group, at most.")
    joins = RebalanceJoinsSerializer(many=True)
    is_partial = serializers.BooleanField(help_text="The application was beyond the limits.")
    is_gap = serializers.BooleanField(help_text="The group was not watched before.")
    since_ms = serializers.IntegerField(allow_null=True)
    unavailable_ms = serializers.IntegerField(
        allow_null=True, help_text="A stopped task had no active thread for so long at most."
    )


class StreamsRebalanceSerializer(serializers.Serializer[StreamsSnapshot]):
    """A rebalance: when it was first collected, and what it changed."""

    id = serializers.IntegerField(source="pk")
    taken_at = serializers.DateTimeField()
    change = serializers.SerializerMethodField()

    @extend_schema_field(StreamsChangeSerializer)
    def get_change(self, row: StreamsSnapshot) -> Any:
        """Return the change as it was kept."""
        return StreamsChangeSerializer(Change.from_json(row.change)).data
