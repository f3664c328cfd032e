"""The shapes of availability in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.availability.status import queries
from console.availability.status.broker_models import BrokerStatus
from console.availability.status.facts import Answer, answer_of
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    Rollup,
    SeveritySpan,
    UncleanElection,
)
from console.clusters.counted import UNKNOWN, UNSURE
from console.clusters.models import Cluster
from console.clusters.serializers import ADDING, STATE_CHOICES, SeverityField
from console.frame.rest.serializers import FreshnessSerializer
from jobs.availability.status.partition_seen import PartitionSeen
from jobs.availability.status.peaks import SAMPLED
from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import COUNTED

_ID_LISTS = ("replicas", "isr", "elr", "last_known_elr", "adding", "removing", "observers")
_STRETCH = (
    "cluster", "topic", "partition", "source", "began_at", "not_before", "cause", "cause_broker",
    "offset", "ended_at", "end_cause", "end_broker", "end_offset",
)  # fmt: skip
_ORIGIN = "topic, broker, cluster, static (server.properties), kafka (its default), unknown"
_NOT_BEFORE = "Null: the time is exact; else it was after this and at or before the time."


class CountsSerializer(serializers.ModelSerializer[Rollup]):
    """Kafka's counts of partitions, which overlap, and by state (`state_...`), each partition once.

    `under_replicated`, `at_min_isr`, `under_min_isr` and `offline` are what kafka-topics.sh lists, which
    compares with min.insync.replicas as it is set; `broker_...` are the metrics of the brokers, which compare
    with the number of replicas where that is smaller.
    """

    class Meta:
        model = Rollup
        fields = COUNTED
        read_only_fields = fields
        extra_kwargs = {
            "under_min_isr": {"help_text": "kafka-topics.sh --under-min-isr-partitions"},
            "at_min_isr": {"help_text": "kafka-topics.sh --at-min-isr-partitions"},
            "broker_under_min_isr": {
                "help_text": "Sum of UnderMinIsrPartitionCount of the brokers"
            },
            "broker_at_min_isr": {"help_text": "Sum of AtMinIsrPartitionCount of the brokers"},
            "unsure": {"help_text": UNSURE},
        }


class AvailabilitySerializer(serializers.Serializer[Any]):
    """Availability of a cluster."""

    cluster = serializers.CharField(source="alias")
    answer = serializers.SerializerMethodField(
        help_text="Status text, such as All partitions writable."
    )
    why = serializers.SerializerMethodField(help_text="Reason of the status.")
    worst = serializers.SerializerMethodField(help_text="The worst state of any partition.")
    counts = serializers.SerializerMethodField(help_text="Null before the first collection.")
    out_since = serializers.DateTimeField(
        allow_null=True, help_text="Start of the oldest ongoing absence from an ISR."
    )
    source = serializers.SerializerMethodField(help_text="log, poll, or empty: not collected yet.")  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source
    resolution_ms = serializers.SerializerMethodField(
        help_text="Time between two polls; null with the metadata log, which has exact times."
    )
    freshness = serializers.SerializerMethodField()

    @extend_schema_field(serializers.CharField())
    def get_answer(self, row: Any) -> str:
        return _answer(row).word

    @extend_schema_field(serializers.CharField())
    def get_why(self, row: Any) -> str:
        return _answer(row).why

    @extend_schema_field(serializers.ChoiceField(choices=STATE_CHOICES, allow_null=True))
    def get_worst(self, row: Any) -> str | None:
        """Return the worst state; null before the first collection."""
        is_unsure = row.worst == Severity.OK and row.unsure_count
        return None if row.worst is None else UNKNOWN if is_unsure else Severity(row.worst).word

    @extend_schema_field(CountsSerializer(allow_null=True))
    def get_counts(self, row: Any) -> dict[str, int] | None:
        if row.partitions_count is None:
            return None
        return {name: getattr(row, f"{name}_count") for name in COUNTED}

    @extend_schema_field(serializers.CharField())
    def get_source(self, row: Cluster) -> str:
        found = queries.round_of(row)
        return "" if found is None else found.source

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_resolution_ms(self, row: Cluster) -> int | None:
        found = queries.round_of(row)
        return None if found is None or found.source != "poll" else found.interval_ms

    @extend_schema_field(FreshnessSerializer(many=True))
    def get_freshness(self, row: Cluster) -> list[dict[str, Any]]:
        nouns = (AvailabilityRound.Noun.STATUS, AvailabilityRound.Noun.LAG)
        return [dict(FreshnessSerializer(queries.freshness_of(row, n)).data) for n in nouns]


def _answer(row: Any) -> Answer:
    counts = None
    if row.partitions_count is not None:
        counts = Rollup(**{name: getattr(row, f"{name}_count") for name in COUNTED})
    return answer_of(counts, queries.freshness_of(row))


class PartitionStatusSerializer(serializers.ModelSerializer[PartitionStatus]):
    """Current state of a partition."""

    cluster = serializers.CharField(source="cluster.alias")
    severity = SeverityField()
    replicas = serializers.ListField(child=serializers.IntegerField())
    isr = serializers.ListField(child=serializers.IntegerField())
    elr = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    last_known_elr = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    adding = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True, help_text=ADDING
    )
    removing = serializers.ListField(child=serializers.IntegerField())
    observers = serializers.ListField(child=serializers.IntegerField())
    missing = serializers.ListField(
        child=serializers.IntegerField(), help_text="Sync replicas outside the ISR."
    )
    spare = serializers.IntegerField(
        allow_null=True,
        help_text="In-sync replicas that may fail before acks=all writes stop; negative: how many lack.",
    )
    min_isr_origin = serializers.CharField(help_text=_ORIGIN)
    source = serializers.CharField(help_text="log or poll")  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source

    class Meta:
        model = PartitionStatus
        fields = (
            "id", "cluster", "topic", "topic_id", "partition", "severity", "is_rf_below_min",
            "leader", "leader_epoch", "partition_epoch", *_ID_LISTS, "missing", "spare",
            "min_insync_replicas", "min_isr_origin", "since", "not_before", "cause",
            "cause_broker", "offset", "out_since", "worst_lag", "known_since", "source",
        )  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {"not_before": {"help_text": _NOT_BEFORE}}


class _StretchSerializer(serializers.ModelSerializer[Any]):
    cluster = serializers.CharField(source="cluster.alias")
    source = serializers.CharField(help_text="log or poll")  # type: ignore[assignment]  # likewise


class StretchSerializer(_StretchSerializer):
    """An interval in which a partition was unhealthy; null `ended_at`: ongoing."""

    severity = SeverityField()

    class Meta:
        model = SeveritySpan
        fields = (*_STRETCH[:3], "severity", *_STRETCH[3:])
        read_only_fields = fields


class AbsenceSerializer(_StretchSerializer):
    """An interval in which a replica was outside the ISR; `lag` in records, null when unknown."""

    class Meta:
        model = OutOfSyncSpan
        fields = (*_STRETCH[:3], "broker", *_STRETCH[3:], "lag", "lag_at")
        read_only_fields = fields


class UncleanElectionSerializer(serializers.ModelSerializer[UncleanElection]):
    """A leader that was elected outside the ISR."""

    cluster = serializers.CharField(source="cluster.alias")
    isr_before = serializers.ListField(child=serializers.IntegerField())

    class Meta:
        model = UncleanElection
        fields = ("cluster", "topic", "partition", "at", "offset", "leader", "isr_before")
        read_only_fields = fields


class RollupSerializer(serializers.ModelSerializer[Rollup]):
    """Counts of a topic, broker or rack."""

    cluster = serializers.CharField(source="cluster.alias")
    worst = SeverityField()

    class Meta:
        model = Rollup
        fields = ("cluster", "kind", "name", "worst", *COUNTED)
        read_only_fields = fields


class BrokerStatusSerializer(serializers.ModelSerializer[BrokerStatus]):
    """A broker, its out-of-sync replicas, and its churn in the time range."""

    cluster = serializers.CharField(source="cluster.alias")
    partition_count = serializers.IntegerField(help_text="Partitions with a replica on it.")
    leader_count = serializers.IntegerField()
    out_of_sync_count = serializers.IntegerField()
    out_since = serializers.DateTimeField(allow_null=True)
    shrinks = serializers.IntegerField(help_text="ISR shrinks of its replicas.")
    expands = serializers.IntegerField(help_text="ISR expands of its replicas.")
    leaders_won = serializers.IntegerField()
    leaders_lost = serializers.IntegerField()
    unclean = serializers.IntegerField(help_text="Unclean elections that it won.")
    source = serializers.CharField(help_text="log or poll")  # type: ignore[assignment]  # likewise

    class Meta:
        model = BrokerStatus
        fields = (
            "cluster", "broker_id", "rack", "is_there", "in_controlled_shutdown", "since",
            "last_fenced_at", "registered_at", "broker_epoch", "partition_count", "leader_count",
            "out_of_sync_count", "out_since", *queries.CHURN, "source",
        )  # fmt: skip
        read_only_fields = fields


class MomentSerializer(serializers.Serializer[PartitionSeen]):
    """A partition after a change."""

    at = serializers.DateTimeField()
    not_before = serializers.DateTimeField(allow_null=True, help_text=_NOT_BEFORE)
    leader = serializers.IntegerField(allow_null=True)
    replicas = serializers.ListField(child=serializers.IntegerField())
    isr = serializers.ListField(child=serializers.IntegerField())
    elr = serializers.ListField(child=serializers.IntegerField(), allow_null=True)
    cause = serializers.CharField(allow_blank=True)
    cause_broker = serializers.IntegerField(allow_null=True)
    offset = serializers.IntegerField(allow_null=True, help_text="Of the metadata log.")
    is_unclean = serializers.BooleanField()


class UnknownSerializer(serializers.Serializer[Any]):
    """A time without data."""

    from_at = serializers.DateTimeField()
    to_at = serializers.DateTimeField()


class HistorySerializer(serializers.Serializer[Any]):
    """A partition in a time range, oldest first; the first moment is the state at its start."""

    partition = PartitionStatusSerializer()
    moments = MomentSerializer(many=True)
    stretches = StretchSerializer(many=True)
    out_of_sync = AbsenceSerializer(many=True)
    unclean_elections = UncleanElectionSerializer(many=True)
    leaderless_s = serializers.FloatField(
        help_text="Leaderless seconds in the time range; unknown times are not counted."
    )
    unknown = UnknownSerializer(
        many=True, help_text="Times without metadata records and without polls."
    )


class CountSeriesSerializer(serializers.Serializer[Any]):
    """Columns of the same length: `at` in Unix seconds, and one per series; null without a sample.

    For the cluster the series are its counts; for brokers and racks they have the names of these.
    """

    at = serializers.ListField(child=serializers.IntegerField())
    events = serializers.ListField(child=serializers.DictField())

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        line = serializers.ListField
        return {
            **super().get_fields(),
            **{
                name: line(child=serializers.IntegerField(allow_null=True), required=False)
                for name in SAMPLED
            },
        }
