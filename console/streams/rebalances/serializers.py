"""The shapes of rebalances in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.frame.rest.parameters import OptionalTimeRange, PageParameters
from console.frame.rest.serializers import PlainSerializer
from console.streams.models import StreamsSnapshot
from console.streams.serializers import StreamsPlace
from jobs.streams.rebalances.changes import Change, Instance, Move, Place, ThreadJoins


class StreamsRebalanceFilters(OptionalTimeRange, PageParameters, StreamsPlace):
    """Of which cluster an application is, and of which time its rebalances."""


class RebalanceInstanceSerializer(PlainSerializer):
    """An instance after a change, with its counts of tasks."""

    of = Instance


class RebalancePlaceSerializer(PlainSerializer):
    """An instance, and where it is."""

    of = Place


class RebalanceMoveSerializer(PlainSerializer):
    """A task that another instance has in a role; null: no instance."""

    of, without = Move, ("source", "target")
    moved_from = RebalancePlaceSerializer(source="source", allow_null=True)
    moved_to = RebalancePlaceSerializer(source="target", allow_null=True)


class RebalanceJoinsSerializer(PlainSerializer):
    """A thread that joined more often than the group had generations."""

    of = ThreadJoins


class StreamsChangeSerializer(PlainSerializer):
    """What a rebalance changed; a count is null where it is not known.

    `generations` are those of the group at most. A stopped task had no active thread for `unavailable_ms` at
    most. `is_partial`: the application was beyond the limits; `is_gap`: the group was not watched before.
    """

    of, without = Change, ("at_ms", "packed", "waiting_since_ms")
    moves = RebalanceMoveSerializer(many=True)


class StreamsRebalanceSerializer(serializers.Serializer[StreamsSnapshot]):
    """A rebalance: when it was first collected, and what it changed."""

    id = serializers.IntegerField(source="pk")
    taken_at = serializers.DateTimeField()
    change = serializers.SerializerMethodField()

    @extend_schema_field(StreamsChangeSerializer)
    def get_change(self, row: StreamsSnapshot) -> Any:
        """Return the change as it was kept."""
        return StreamsChangeSerializer(Change.from_json(row.change)).data
