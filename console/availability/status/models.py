"""Models of availability: state of each partition, its start, and its history.

A time is exact unless `not_before` is set: then it was after that and at or before the time itself
(the poll before it, or a snapshot of the metadata log, which tells no times). `cause` is a word of
`jobs.quorum.history.changes.Cause` or of `jobs.availability.status.partition_seen`, `offset` the record of
the metadata log that tells it (null: polled). Rows of the past name their topic themselves: they outlive it.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from console.availability.status.broker_models import (
    Source,
)
from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from console.frame.rounds import Round
from jobs.availability.status.min_isr import MinIsrOrigin
from jobs.availability.status.severity import Severity, effective_min_isr
from jobs.availability.status.tally import ScopeKind

SEVERITY_CHOICES = [(one.value, one.word) for one in Severity]
KEY_LENGTH = TOPIC_NAME_LENGTH + 12
CAUSE_LENGTH = 60
RAW_STEP_S = 10


class AvailabilityRound(Round):
    """The last round of one kind over a cluster: how fresh its rows are.

    Of `status`: `source` is who tells now, `log_id` the metadata log that is read, and the three `cursor`
    fields the last change taken in (`effective_offset`, `offset`, `number`). `polled_at` is the round
    of the cluster that was taken in last, `interval_ms` how far apart the last two were: the resolution.
    `sampled_s` is the begin of the newest step of counts (seconds since 1970). `unclean_pruned` counts
    unclean elections that are no longer kept.
    """

    class Noun(models.TextChoices):
        """What is collected."""

        STATUS = "status", "Status"
        LAG = "lag", "Replica lag"
        WHAT_IF = "what_if", "What-if snapshot"

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="availability_rounds"
    )
    noun = models.CharField(max_length=10, choices=Noun)
    source = models.CharField(max_length=4, choices=Source, blank=True)
    log_id = models.BigIntegerField(null=True, blank=True)
    cursor = models.BigIntegerField(default=-1)
    cursor_offset = models.BigIntegerField(default=-1)
    cursor_number = models.BigIntegerField(default=-1)
    unclean_pruned = models.PositiveIntegerField(default=0)
    polled_at = models.DateTimeField(null=True, blank=True)
    interval_ms = models.PositiveIntegerField(null=True, blank=True)
    sampled_s = models.BigIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "noun"], name="one_availability_round_per_noun"
            )
        ]

    def __str__(self) -> str:
        return f"{self.noun} of {self.cluster_id}"


class PartitionStatus(models.Model):
    """Current state of a partition; `since` is the start of its severity, `known_since` of its history here.

    `key` is topic id (the name where it is not known) and partition. `elr` and `last_known_elr` are null
    where no source has them. `adding` null: whether a reassignment is in progress is not known.
    `observers` are replicas that stay out of the ISR by design. `replica_text` and
    `missing_text` hold the ids of all replicas, and of those out of sync, as `|1|2|3|`. `out_since` is the
    start of the oldest absence of a replica from the ISR, `worst_lag` the maximum lag of its out-of-sync
    replicas in records; null when unknown. `counted_text`: Kafka's counts, `|offline|`.
    `is_unsure` as in `severity.Standing`; `limits_min_isr` is true where it makes no difference.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="partition_statuses"
    )
    key = models.CharField(max_length=KEY_LENGTH)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH)
    topic_id = models.CharField(max_length=32, blank=True)
    partition = models.PositiveIntegerField()
    leader = models.IntegerField(null=True, blank=True)
    leader_epoch = models.IntegerField(null=True, blank=True)
    partition_epoch = models.IntegerField(null=True, blank=True)
    replicas = models.JSONField(default=list)
    isr = models.JSONField(default=list)
    elr = models.JSONField(null=True, blank=True)
    last_known_elr = models.JSONField(null=True, blank=True)
    adding = models.JSONField(default=list, null=True, blank=True)
    removing = models.JSONField(default=list)
    observers = models.JSONField(default=list)
    min_insync_replicas = models.PositiveIntegerField(null=True, blank=True)
    min_isr_origin = models.CharField(
        max_length=10,
        choices=[(one.value, one.value) for one in MinIsrOrigin],
        default=MinIsrOrigin.UNKNOWN.value,
    )
    severity = models.PositiveSmallIntegerField(choices=SEVERITY_CHOICES, default=0)
    counted_text = models.CharField(max_length=60, blank=True)
    is_unsure = models.BooleanField(default=False)
    limits_min_isr = models.BooleanField(null=True, blank=True, default=True)
    is_rf_below_min = models.BooleanField(default=False)
    missing_count = models.PositiveIntegerField(default=0)
    replica_text = models.CharField(max_length=400, blank=True)
    missing_text = models.CharField(max_length=400, blank=True)
    source = models.CharField(max_length=4, choices=Source)
    known_since = models.DateTimeField()
    since = models.DateTimeField()
    not_before = models.DateTimeField(null=True, blank=True)
    cause = models.CharField(max_length=CAUSE_LENGTH, blank=True)
    cause_broker = models.IntegerField(null=True, blank=True)
    offset = models.BigIntegerField(null=True, blank=True)
    seen_at = models.DateTimeField()
    out_since = models.DateTimeField(null=True, blank=True)
    worst_lag = models.BigIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["topic", "partition"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "key"], name="one_status_per_partition")
        ]
        indexes = [
            models.Index(fields=["cluster", "-severity", "id"], name="status_worst_first"),
            models.Index(fields=["cluster", "topic", "partition"], name="status_by_topic"),
        ]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def missing(self) -> list[int]:
        """The sync replicas that are not in the ISR."""
        return [int(one) for one in self.missing_text.strip("|").split("|") if one]

    @property
    def spare(self) -> int | None:
        """In-sync replicas that may fail before writes with acks=all stop."""
        least = effective_min_isr(
            self.min_insync_replicas, len(self.replicas), is_limited=self.limits_min_isr
        )
        return None if least is None else (0 if self.leader is None else len(self.isr)) - least


class Stretch(models.Model):
    """An interval of a partition; ongoing while `ended_at` is null."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH)
    partition = models.PositiveIntegerField()
    source = models.CharField(max_length=4, choices=Source)
    began_at = models.DateTimeField()
    not_before = models.DateTimeField(null=True, blank=True)
    cause = models.CharField(max_length=CAUSE_LENGTH, blank=True)
    cause_broker = models.IntegerField(null=True, blank=True)
    offset = models.BigIntegerField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_cause = models.CharField(max_length=CAUSE_LENGTH, blank=True)
    end_broker = models.IntegerField(null=True, blank=True)
    end_offset = models.BigIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        abstract = True

    @property
    def name(self) -> str:
        """Topic and partition, like `orders-0`."""
        return f"{self.topic}-{self.partition}"


class SeveritySpan(Stretch):
    """An interval in which a partition was unhealthy; severity OFFLINE is the leaderless time."""

    severity = models.PositiveSmallIntegerField(choices=SEVERITY_CHOICES)

    class Meta:
        ordering = ["-began_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "key"],
                condition=Q(ended_at=None),
                name="one_open_severity_span",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "key", "began_at"], name="severity_span_of_one"),
            models.Index(fields=["cluster", "severity", "began_at"], name="severity_span_by_kind"),
            models.Index(fields=["cluster", "ended_at"], name="severity_span_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {Severity(self.severity).word}"


class OutOfSyncSpan(Stretch):
    """How long a replica of `broker` was missing in the ISR.

    `left_end_offset` is where the partition ended when it was last looked at before that. `lag` is how
    many records the replica lacks by its own log directory (DescribeLogDirs), at `lag_at`; both null when
    its broker did not tell.
    """

    broker = models.IntegerField()
    left_end_offset = models.BigIntegerField(null=True, blank=True)
    lag = models.BigIntegerField(null=True, blank=True)
    lag_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-began_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "key", "broker"],
                condition=Q(ended_at=None),
                name="one_open_absence_per_replica",
            )
        ]
        indexes = [
            models.Index(fields=["cluster", "key", "began_at"], name="absence_of_one"),
            models.Index(
                fields=["cluster", "broker", "began_at"],
                condition=Q(ended_at=None),
                name="open_absence_by_broker",
            ),
            models.Index(fields=["cluster", "ended_at", "began_at"], name="absence_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.name} without {self.broker}"


class UncleanElection(models.Model):
    """A leader that was elected outside the ISR: records may be lost.

    `isr_before` are the replicas that were in sync until then.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH)
    partition = models.PositiveIntegerField()
    at = models.DateTimeField()
    offset = models.BigIntegerField(null=True, blank=True)
    leader = models.IntegerField(null=True, blank=True)
    isr_before = models.JSONField(default=list)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-at"]
        indexes = [models.Index(fields=["cluster", "at"], name="unclean_election_by_time")]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at {self.at}"

    @property
    def name(self) -> str:
        """Topic and partition, like `orders-0`."""
        return f"{self.topic}-{self.partition}"

    @property
    def why(self) -> str:
        """The elected broker, and the ISR before."""
        before = f"was {' '.join(map(str, self.isr_before))}" if self.isr_before else "was empty"
        return f"Broker {self.leader} became leader, ISR {before}."


class PolledMoment(models.Model):
    """A partition in a poll that differs from the poll before; `state` null: it was deleted.

    For followed partitions the metadata log has this. It happened after `not_before` (null: unknown)
    and at or before `at`. `state` holds `leader`, `replicas`, `isr`, `adding`, `observers` and
    `min_insync_replicas`.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=KEY_LENGTH)
    at = models.DateTimeField()
    not_before = models.DateTimeField(null=True, blank=True)
    cause = models.CharField(max_length=CAUSE_LENGTH)
    state = models.JSONField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["at"]
        indexes = [models.Index(fields=["cluster", "key", "at"], name="polled_moment_of_one")]

    def __str__(self) -> str:
        return f"{self.key} at {self.at}"


class Rollup(models.Model):
    """How many partitions of a cluster, topic, broker or rack are in which count or state; see `Counts`."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="rollups")
    kind = models.CharField(max_length=10, choices=[(one.value, one.value) for one in ScopeKind])
    name = models.CharField(max_length=255, blank=True)
    partitions = models.IntegerField(default=0)
    under_replicated = models.IntegerField(default=0)
    at_min_isr = models.IntegerField(default=0)
    under_min_isr = models.IntegerField(default=0)
    offline = models.IntegerField(default=0)
    broker_at_min_isr = models.IntegerField(default=0)
    broker_under_min_isr = models.IntegerField(default=0)
    unsure = models.IntegerField(default=0)
    state_under_replicated = models.IntegerField(default=0)
    state_at_min_isr = models.IntegerField(default=0)
    state_under_min_isr = models.IntegerField(default=0)
    rf_below_min = models.IntegerField(default=0)
    out_of_sync = models.IntegerField(default=0)
    leaders = models.IntegerField(default=0)
    worst = models.PositiveSmallIntegerField(choices=SEVERITY_CHOICES, default=0)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind", "name"], name="one_rollup_per_scope")
        ]
        indexes = [
            models.Index(
                fields=["cluster", "kind", "-worst", "-offline"], name="rollup_worst_first"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".rstrip()

    @property
    def is_unsure(self) -> bool:
        """Whether no partition is known to be unhealthy, and the state of at least one is unknown."""
        return bool(self.unsure) and not self.worst
