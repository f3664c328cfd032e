"""Query parameters of the availability routes."""

from __future__ import annotations

from rest_framework import serializers

from console.clusters.serializers import COUNTED_AS, SEVERITY_CHOICES, STATE_CHOICES
from console.frame.rest.parameters import PageParameters, TimeRangeParameters
from console.frame.series import MOST_POINTS
from jobs.availability.status.peaks import SAMPLED
from jobs.availability.status.severity import Counted
from jobs.availability.status.tally import ScopeKind

_LARGEST = 2**31 - 1
_PARTS = (ScopeKind.CLUSTER.value, ScopeKind.BROKER.value, ScopeKind.RACK.value)


class _OfCluster(PageParameters):
    cluster = serializers.CharField(required=False, max_length=63, help_text="Its alias.")


class StatusFilters(_OfCluster):
    """Filters of partitions."""

    topic = serializers.CharField(required=False, max_length=249, help_text="Its name.")
    severity = serializers.ChoiceField(
        required=False, choices=STATE_CHOICES, help_text="Exactly this state."
    )
    counted_as = serializers.ChoiceField(
        choices=[one.value for one in Counted],
        required=False,
        help_text=COUNTED_AS,
    )
    is_wrong = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Whether it is unhealthy."
    )
    broker = serializers.IntegerField(
        required=False, min_value=0, max_value=_LARGEST, help_text="A broker with a replica."
    )
    missing = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_LARGEST,
        help_text="A broker whose replica is out of sync.",
    )
    rack = serializers.CharField(
        required=False, max_length=255, help_text="A rack with a replica; needs `cluster`."
    )


class AbsenceFilters(_OfCluster):
    """Filters of out-of-sync replicas."""

    topic = serializers.CharField(required=False, max_length=249, help_text="Its name.")
    broker = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_LARGEST,
        help_text="A broker whose replica is out of sync.",
    )
    is_open = serializers.BooleanField(
        required=False, default=True, help_text="Only ongoing ones; the default."
    )


class StretchFilters(TimeRangeParameters, _OfCluster):
    """Filters of unavailability intervals: those that overlap the time range."""

    least = serializers.ChoiceField(
        required=False,
        default="under_min_isr",
        choices=SEVERITY_CHOICES,
        help_text="At least this severity; `under_min_isr` without it.",
    )


class UncleanFilters(TimeRangeParameters, _OfCluster):
    """Filters of unclean elections: those in the time range."""


class RollupFilters(_OfCluster):
    """Filters of roll-ups."""

    kind = serializers.ChoiceField(
        required=False,
        default=ScopeKind.TOPIC.value,
        choices=[one.value for one in ScopeKind],
        help_text="What is counted by; `topic` without it.",
    )
    is_wrong = serializers.BooleanField(
        required=False, default=False, help_text="Only unhealthy ones."
    )


class BrokerFilters(TimeRangeParameters, _OfCluster):
    """Brokers, with their churn in a time range."""

    rack = serializers.CharField(required=False, max_length=255, help_text="Its rack.")


class HistoryFilters(TimeRangeParameters):
    """The time range."""


class CountSeriesFilters(TimeRangeParameters):
    """Which series: counts of the cluster, or one measure of each broker or rack."""

    kind = serializers.ChoiceField(
        required=False, default=_PARTS[0], choices=_PARTS, help_text="`cluster` without it."
    )
    measure = serializers.ChoiceField(
        required=False,
        default="out_of_sync",
        choices=SAMPLED,
        help_text="What is counted for each broker or rack.",
    )
    points = serializers.IntegerField(
        required=False,
        default=MOST_POINTS,
        min_value=1,
        max_value=MOST_POINTS,
        help_text="Maximum number of intervals.",
    )
