"""Runtime controls and syncs of remote topics in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.frame.rest.serializers import BodySerializer
from jobs.replication.flow.spec import HIGHEST_BYTES_PER_S, LOWEST_BYTES_PER_S
from jobs.spark.control import HIGHEST_PRIORITY

# A topic's name has at most 249 characters, and a partition's number follows.
LONGEST_NAME = 260
MOST_NAMES = 5000
MOST_WINDOWS = 50


def _names(**more: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME), max_length=MOST_NAMES, **more
    )


class ControlSerializer(BodySerializer):
    """Runtime controls of a flow; a value that is not given stays as it is."""

    paused = _names(required=False, help_text="Paused topics (orders) and partitions (orders:3).")
    priorities = serializers.DictField(
        child=serializers.IntegerField(min_value=-HIGHEST_PRIORITY, max_value=HIGHEST_PRIORITY),
        required=False,
        help_text="By topic; each step doubles the topic's share of its task while there is a backlog.",
    )
    own_limit = serializers.BooleanField(
        required=False,
        help_text="Whether max_bytes_per_s overrides the flow's setting; true when a limit is given.",
    )
    max_bytes_per_s = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=LOWEST_BYTES_PER_S,
        max_value=HIGHEST_BYTES_PER_S,
        help_text="Of the whole flow; null for no limit.",
    )
    windows = serializers.ListField(
        child=serializers.CharField(max_length=100),
        max_length=MOST_WINDOWS,
        required=False,
        help_text="Catch-up windows: Mon-Fri 22:00-06:00 Europe/Berlin. None: always.",
    )
    bulk_lag = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=2**62,
        help_text="Catch-up threshold in records: a partition whose lag was never below it waits for a "
        "window.",
    )


class PartNamesSerializer(BodySerializer):
    """Topics (`orders`) and partitions (`orders:3`) of a flow."""

    names = _names(min_length=1)


class TopicChangeSerializer(serializers.Serializer[Any]):
    """A change of a remote topic: `key` is a setting, `partitions` or `acl`; null: not there."""

    topic = serializers.CharField()
    key = serializers.CharField()
    to = serializers.CharField(allow_null=True)
    why = serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `from`: it is a word of Python."""
        return {**super().get_fields(), "from": serializers.CharField(allow_null=True)}


class TopicNoteSerializer(serializers.Serializer[Any]):
    """A sentence about a remote topic; about the flow as a whole when `topic` is empty."""

    topic = serializers.CharField()
    key = serializers.CharField()
    text = serializers.CharField()


class TopicSyncSerializer(serializers.Serializer[Any]):
    """The last sync of remote topics: changes, unchanged configs, and failures.

    `changes` are those of the last sync that made any, at `changed_at`.
    """

    at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField(allow_null=True)
    changes = TopicChangeSerializer(many=True)
    notes = TopicNoteSerializer(many=True)
    failures = TopicNoteSerializer(many=True)
