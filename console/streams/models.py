"""What is kept of Kafka Streams applications: state, lag, one snapshot per generation, how old it all is."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from console.clusters.models import GROUP_ID_LENGTH, Cluster
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.frame.rounds import Round
from jobs.severity import Severity

PROTOCOLS = [("classic", "Classic"), ("streams", "Streams")]
FINGERPRINT_LENGTH = 80


class StreamsRound(Round):
    """The last collection of a cluster's applications; `error` is also set when a part did not answer."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="streams_round")
    row_count = models.PositiveIntegerField(default=0)

    clusters_at: ClassVar = ("cluster",)

    def __str__(self) -> str:
        return f"streams of {self.cluster_id}"


class StreamsApplication(models.Model):
    """An application that was seen at least once, with its counts for lists.

    `state` is Kafka's word for its group, or `Gone` while the cluster does not list it. Counts are null where
    nothing tells them: a rebalancing group shows no tasks. `answers_wrong` says whether its own metadata
    names the wrong instance for some keys (null: not known), `misrouted_share` the worst share of them.
    `lag_unknown_count` is how many source partitions have no number in `lag_records`.
    `facts` are offsets and commits (`jobs.streams.stored.pack_facts`) of `facts_at`, when it was last seen
    whole. `description` is what `Topology#describe()` printed, empty for none; `broker_description` is the
    same from the broker (KIP-1331). `audit` has the conditions of the last collection
    (`jobs.streams.audit.rules`), empty before the first. `problem` is a sentence while its group cannot be
    described. `left_out` says what of it is beyond the limits (`jobs.limits`), empty for nothing: counts are
    at least what is shown then, and what follows from all tasks is null.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="streams_applications"
    )
    application_id = models.CharField(max_length=GROUP_ID_LENGTH)
    protocol = models.CharField(max_length=10, choices=PROTOCOLS)
    state = models.CharField(max_length=40)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    problem = models.TextField(blank=True)
    left_out = models.TextField(blank=True, default="")
    instances = models.PositiveIntegerField(null=True, blank=True)
    threads = models.PositiveIntegerField(null=True, blank=True)
    tasks = models.PositiveIntegerField(null=True, blank=True)
    tasks_without_thread = models.PositiveIntegerField(null=True, blank=True)
    stores = models.PositiveIntegerField(null=True, blank=True)
    lag_records = models.BigIntegerField(null=True, blank=True)
    lag_unknown_count = models.PositiveIntegerField(default=0)
    lag_at_most_ms = models.BigIntegerField(null=True, blank=True)
    event_time_lag_ms = models.BigIntegerField(null=True, blank=True)
    caution_count = models.PositiveIntegerField(default=0)
    cautions = models.JSONField(default=list, blank=True)
    answers_wrong = models.BooleanField(null=True, blank=True)
    misrouted_share = models.FloatField(null=True, blank=True)
    facts = models.BinaryField(default=bytes, blank=True)
    facts_at = models.DateTimeField(null=True, blank=True)
    description = models.TextField(blank=True)
    described_at = models.DateTimeField(null=True, blank=True)
    described_by = models.CharField(max_length=150, blank=True)
    broker_description = models.TextField(blank=True, default="")
    audit = models.JSONField(default=dict, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["application_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "application_id"], name="one_row_per_streams_application"
            )
        ]
        indexes = [models.Index(fields=["last_seen_at"], name="streams_last_seen")]

    def __str__(self) -> str:
        return self.application_id

    @property
    def worst_finding(self) -> Severity:
        """The severity of its worst open finding, where `queries.with_findings` added it."""
        return Severity.of_rank(getattr(self, "worst_rank", None) or Severity.HEALTHY.rank)

    @property
    def freshness(self) -> Freshness:
        """How old it is: that of its cluster's round; a problem of its own counts as a failure."""
        row: StreamsRound | None = getattr(self.cluster, "streams_round", None)
        told = freshness_of_round("Application", row, settings.STREAMS_INTERVAL_S)
        if not self.problem or told.is_failing:
            return told
        return Freshness(told.noun, self.last_seen_at, self.last_seen_at, self.problem)


class StreamsSnapshot(models.Model):
    """An application as it ran from `taken_at` on: the last change of members, tasks or topology of a minute.

    Where `jobs.limits.SNAPSHOT_BYTES_PER_DAY` is reached the newest row takes the change.

    `content` is `jobs.streams.stored.pack_application`, without what a description adds. `generation` is null
    with the classic protocol, which does not tell it. `changelogs` are starts and ends of the changelogs then
    (`jobs.streams.lag.changelogs_of`, packed; empty: not kept). `change` is what differs from the snapshot
    before (`jobs.streams.rebalances.changes.Change`); null in rows of earlier versions. The newest row holds
    now.
    """

    application = models.ForeignKey(
        StreamsApplication, on_delete=models.CASCADE, related_name="snapshots"
    )
    taken_at = models.DateTimeField()
    generation = models.IntegerField(null=True, blank=True)
    fingerprint = models.CharField(max_length=FINGERPRINT_LENGTH)
    content = models.BinaryField()
    changelogs = models.BinaryField(default=bytes, blank=True)
    change = models.JSONField(null=True, blank=True)

    clusters_at: ClassVar = ("application__cluster",)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["taken_at"], name="streams_snapshot_taken")]

    def __str__(self) -> str:
        return f"{self.application_id} at {self.taken_at}"
