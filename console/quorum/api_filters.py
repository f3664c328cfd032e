"""Query parameters of the routes of quorums."""

from __future__ import annotations

from rest_framework import serializers

from console.frame.rest.parameters import OptionalTimeRange, PageParameters, Parameters
from console.quorum.labels import Kind

LARGEST_ID, LARGEST_OFFSET = 2**31 - 1, 2**63 - 1
_NAME = "The cluster's alias; `_` and a word for an imported log."


class _OfCluster(PageParameters):
    cluster = serializers.CharField(required=False, max_length=100, help_text=_NAME)


class TimedFilters(OptionalTimeRange, _OfCluster):
    """Rows of one quorum, and of a time range when one is given."""


class ChangeFilters(TimedFilters):
    """Filters of changes."""

    topic = serializers.CharField(required=False, max_length=249, help_text="Its name.")
    broker = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_ID,
        help_text="The broker that changed, or that caused the change.",
    )
    type = serializers.CharField(
        required=False, max_length=60, help_text="The record type, such as PARTITION_CHANGE_RECORD."
    )
    kind = serializers.ChoiceField(
        required=False, choices=Kind.choices, help_text="Kind of the subject."
    )


class PartitionChangeFilters(TimedFilters):
    """Filters of partition changes."""

    topic = serializers.CharField(required=False, max_length=249, help_text="Its name.")
    partition = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_ID, help_text="Its number."
    )


class StateFilters(PageParameters):
    """A moment, and a kind of subjects."""

    offset = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_OFFSET,
        help_text="The state after this offset.",
    )
    time = serializers.CharField(
        required=False, max_length=64, help_text="ISO 8601, UTC unless it says otherwise."
    )
    kind = serializers.ChoiceField(
        required=False,
        choices=[k for k in Kind.choices if k[0] != "anomaly"],
        default="topic",
        help_text="What to list; `topic` without it.",
    )
    topic = serializers.CharField(required=False, max_length=249, help_text="Its name.")


class DifferenceFilters(Parameters):
    """Two moments, each as an offset or a time."""

    from_offset = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_OFFSET, help_text="The earlier moment."
    )
    to_offset = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_OFFSET, help_text="The later moment."
    )
    from_time = serializers.CharField(
        required=False, max_length=64, help_text="Instead of the offset; ISO 8601."
    )
    to_time = serializers.CharField(
        required=False, max_length=64, help_text="Instead of the offset; ISO 8601."
    )
    kind = serializers.ChoiceField(
        required=False, choices=Kind.choices, help_text="Kind of the subject."
    )


class RecordFilters(Parameters):
    """Offset of a record."""

    offset = serializers.IntegerField(
        min_value=0, max_value=LARGEST_OFFSET, help_text="Of the metadata log."
    )


class AdviceFilters(Parameters):
    """The requested voter change; ids separated by blanks or commas."""

    add = serializers.CharField(
        required=False, max_length=200, help_text="Ids of controllers that run as observers."
    )
    remove = serializers.CharField(required=False, max_length=200, help_text="Ids of voters.")
    replace = serializers.CharField(
        required=False, max_length=200, help_text="Ids of voters that get a new disk."
    )
    sites = serializers.CharField(
        required=False, max_length=1000, help_text="Sites of nodes: `1=dc-a 2=dc-b`."
    )
    per_site = serializers.CharField(
        required=False, max_length=400, help_text="Voters per site: `dc-a=2 dc-b=1`."
    )
