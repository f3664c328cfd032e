"""Flows, what was last measured of their topics and partitions, and the lag as a series."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models

from console.clusters.models import Cluster
from console.frame.rounds import Round
from console.replication.checkpoints.models import (
    CheckpointSample,
    CheckpointSeries,
    FlowReadiness,
    GroupReadiness,
    ReadinessChange,
    TopicReadiness,
)
from console.replication.failover.models import (
    FailoverPlan,
    FailoverPlanGroup,
    FailoverRun,
    FailoverRunGroup,
)
from console.runs.models import Run
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.spec import (
    DEFAULT_CHECKPOINTS_S,
    DEFAULT_COMMIT_MS,
    DEFAULT_CONFIG_PROPERTIES_EXCLUDE,
    CopiedBy,
    CopyPath,
    FlowEngine,
    FlowSpec,
    Guarantee,
    HeartbeatsTo,
    IsolationLevel,
    OnExisting,
    OnRecreated,
    PolicyName,
    SyncsLocation,
)

if TYPE_CHECKING:
    from console.frame.pages.freshness import Freshness
    from console.replication.control.crashes import Crashes
    from console.replication.flows.audits import FlowAudit
    from console.replication.flows.status import FlowStatus

__all__ = [
    "CheckpointSample",
    "CheckpointSeries",
    "FailoverPlan",
    "FailoverPlanGroup",
    "FailoverRun",
    "FailoverRunGroup",
    "FlowPartition",
    "FlowReadiness",
    "FlowRound",
    "FlowTopic",
    "GroupReadiness",
    "LagSample",
    "ReadinessChange",
    "ReplicationFlow",
    "TopicReadiness",
]

STATE_CHOICES = [(state.value, state.value.replace("_", " ")) for state in CopyState]


SETTINGS = (
    "name",
    "copied_by",
    "topics",
    "topics_exclude",
    "groups",
    "groups_exclude",
    "policy",
    "separator",
    "custom_policy",
    "replication_factor",
    "tasks",
    "on_recreated",
    "path",
    "delivery",
    "isolation_level",
    "offset_syncs",
    "heartbeats",
    "commit_interval_ms",
    "max_bytes_per_s",
    "engine",
    "client_rack",
    "on_existing",
    "grow_partitions",
    "sync_configs",
    "delete_target_overrides",
    "config_properties_exclude",
    "sync_acls",
    "emit_checkpoints_interval_s",
    "sync_group_offsets",
    "sync_group_offsets_interval_s",
)


def _word(default: StrEnum) -> models.CharField[str, str]:
    """Return a column for one of the words of a setting."""
    words = [(word.value, word.value) for word in type(default)]
    return models.CharField(max_length=20, choices=words, default=default)


def excluded_config_properties() -> list[str]:
    """Return the topic configs that are excluded by default."""
    return list(DEFAULT_CONFIG_PROPERTIES_EXCLUDE)


class ReplicationFlow(models.Model):
    """Source, target, topics, groups and settings of a flow, and its totals of the last round.

    `is_wanted` is what a person asked for; `run` is the newest run of the flow, live or ended.
    `judged_run`, `failures`, `failing_since`, `failure` and `next_try_at` are the back-off: they
    count the runs that ended badly in a row, up to and including the run `judged_run`.
    `topic_ids` are the ids of the topics whose records were copied; `reset_topics` are those that
    a person accepted to be copied again from their beginning. `worst_reason` is why the worst
    partition is not replicated, and `worst_since` since when.
    `control` are the runtime controls, as in a run's `control.json`;
    `control_problem` is why the run could not apply them. `held_back` is how many partitions wait, by
    the reason. `eta_s` is the time until the lag is gone (null: unknown, or no run).
    `topic_sync` is how remote topics were last made to follow, empty before the first time.
    `steered_by` says who paused what in `control` and who set its limit, and when.
    `checkpoint_writing` is the newest run's report of its checkpoints, likewise.
    `hosting` is the newest run's report of the application that copies it, null without a run.
    `set_apart_at` is when slots had died with the flow at work: its runs have an application of their own.
    `task_crashes` are the times (ms) of crashes of tasks in the last 24 hours, see `crashes`.
    `counted` is what all runs copied together, see `counting`.
    """

    name = models.CharField(max_length=100, unique=True)
    source = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="flows_from_here")
    target = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="flows_to_here")
    topics = models.JSONField(default=list)
    topics_exclude = models.JSONField(default=list)
    groups = models.JSONField(default=list)
    groups_exclude = models.JSONField(default=list)
    copied_by = _word(CopiedBy.CROSSLOG)
    policy = _word(PolicyName.DEFAULT)
    separator = models.CharField(max_length=10, default=".")
    custom_policy = models.JSONField(default=dict, blank=True)
    replication_factor = models.PositiveIntegerField(null=True, blank=True)
    tasks = models.PositiveIntegerField(default=1)
    on_recreated = _word(OnRecreated.STOP)
    path = _word(CopyPath.AUTO)
    delivery = _word(Guarantee.EXACTLY_ONCE)
    isolation_level = _word(IsolationLevel.READ_COMMITTED)
    offset_syncs = _word(SyncsLocation.TARGET)
    heartbeats = _word(HeartbeatsTo.BOTH)
    commit_interval_ms = models.PositiveIntegerField(default=DEFAULT_COMMIT_MS)
    max_bytes_per_s = models.PositiveBigIntegerField(null=True, blank=True)
    engine = _word(FlowEngine.SHARED)
    client_rack = models.CharField(max_length=100, blank=True, default="")
    on_existing = _word(OnExisting.REFUSE)
    grow_partitions = models.BooleanField(default=True)
    sync_configs = models.BooleanField(default=True)
    delete_target_overrides = models.BooleanField(default=False)
    config_properties_exclude = models.JSONField(default=excluded_config_properties)
    sync_acls = models.BooleanField(default=False)
    emit_checkpoints_interval_s = models.PositiveIntegerField(default=DEFAULT_CHECKPOINTS_S)
    sync_group_offsets = models.BooleanField(default=False)
    sync_group_offsets_interval_s = models.PositiveIntegerField(default=DEFAULT_CHECKPOINTS_S)
    is_wanted = models.BooleanField(default=False)
    deletion_asked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    topic_ids = models.JSONField(default=dict)
    reset_topics = models.JSONField(default=list)
    control = models.JSONField(default=dict, blank=True)
    steered_by = models.JSONField(default=dict, blank=True)

    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    judged_run = models.UUIDField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True, blank=True)
    failure = models.TextField(blank=True)
    next_try_at = models.DateTimeField(null=True, blank=True)
    set_apart_at = models.DateTimeField(null=True, blank=True)

    measured_at = models.DateTimeField(null=True, blank=True)
    topics_sampled_at = models.DateTimeField(null=True, blank=True)
    partition_count = models.PositiveIntegerField(null=True, blank=True)
    states = models.JSONField(default=dict)
    lag = models.BigIntegerField(null=True, blank=True)
    lag_ms = models.BigIntegerField(null=True, blank=True)
    unknown_count = models.PositiveIntegerField(default=0)
    unknown_ms_count = models.PositiveIntegerField(default=0)
    rate_per_s = models.FloatField(null=True, blank=True)
    eta_s = models.FloatField(null=True, blank=True)
    held_back = models.JSONField(default=dict, blank=True)
    topic_sync = models.JSONField(default=dict, blank=True)
    checkpoint_writing = models.JSONField(default=dict, blank=True)
    hosting = models.JSONField(null=True, blank=True)
    task_crashes = models.JSONField(default=list, blank=True)
    counted = models.JSONField(default=dict, blank=True)
    control_problem = models.TextField(blank=True, default="")
    worst_reason = models.TextField(blank=True)
    worst_since = models.DateTimeField(null=True, blank=True)

    # Not columns: queries set them on rows that are shown.
    status: FlowStatus
    measured: Freshness
    recent_lag: list[int | None]
    crashes: Crashes
    failover: FlowReadiness | None
    audit: FlowAudit

    clusters_at: ClassVar = ("source", "target")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_watched(self) -> bool:
        """Whether MirrorMaker 2 copies this flow: then no run of it is ever started."""
        return self.copied_by == CopiedBy.MIRROR_MAKER

    @property
    def is_refused(self) -> bool:
        """Whether the last run ended with what the next one with the same settings would end with, too."""
        run = self.run
        return bool(
            self.failures and run and not run.is_live and (run.summary or {}).get("is_final")
        )

    @property
    def subject(self) -> str:
        """What the runs of this flow are about."""
        return f"flow:{self.pk}"

    def spec(self) -> FlowSpec:
        """Return the flow as the engine needs it; raises `InvalidFields`."""
        return FlowSpec.from_mapping(
            {
                "name": self.name,
                "source": self.source.connection().to_mapping(),
                "target": self.target.connection().to_mapping(),
                **{name: getattr(self, name) for name in SETTINGS if name != "name"},
            }
        )


class FlowTopic(models.Model):
    """A source topic of a flow: where it goes, what is wrong with it, totals of its partitions.

    `problem` is about the topic as a whole; `reason` is why its worst partition is not replicated.
    `unknown_count` and `unknown_ms_count` are how many partitions have no number in `lag` and `lag_ms`.
    """

    flow = models.ForeignKey(ReplicationFlow, on_delete=models.CASCADE, related_name="flow_topics")
    topic = models.CharField(max_length=249)
    topic_id = models.CharField(max_length=32, blank=True)
    remote_topic = models.CharField(max_length=320, blank=True)
    partition_count = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=20, choices=STATE_CHOICES, default=CopyState.STARTING)
    failed_count = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True)
    problem = models.TextField(blank=True)
    accepts_new = models.BooleanField(default=False)
    lag = models.BigIntegerField(null=True, blank=True)
    lag_ms = models.BigIntegerField(null=True, blank=True)
    unknown_count = models.PositiveIntegerField(default=0)
    unknown_ms_count = models.PositiveIntegerField(default=0)
    rate_per_s = models.FloatField(null=True, blank=True)
    updated_at = models.DateTimeField()

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        ordering = ["topic"]
        constraints = [
            models.UniqueConstraint(fields=["flow", "topic"], name="one_row_per_flow_topic")
        ]

    def __str__(self) -> str:
        return self.topic


class FlowPartition(models.Model):
    """The last measured state of one partition of a flow.

    `position` is the next source offset to copy. `lag` (records) and `lag_ms` (between the newest
    record of the source and the last copied one) are null when unknown. `path` is `batch` or `record`,
    `path_reason` why the slower one. `batch_bytes` is the mean size of the batches written in this run,
    `packed` how many of them crosslog made; `commit_ms` is how long the last commit took,
    `throttled_ms` how long the flow's limit held copying up, `quota_ms` how long quotas of the brokers
    did; they belong to the task that
    copies the partition. `since` is when the state or its reason last changed; `updated_at` is when the
    numbers last changed.
    """

    flow = models.ForeignKey(ReplicationFlow, on_delete=models.CASCADE, related_name="partitions")
    topic = models.CharField(max_length=249)
    partition = models.PositiveIntegerField()
    remote_topic = models.CharField(max_length=320, blank=True)
    state = models.CharField(max_length=20, choices=STATE_CHOICES, default=CopyState.STARTING)
    reason = models.TextField(blank=True)
    position = models.BigIntegerField(null=True, blank=True)
    log_start_offset = models.BigIntegerField(null=True, blank=True)
    end_offset = models.BigIntegerField(null=True, blank=True)
    lag = models.BigIntegerField(null=True, blank=True)
    lag_ms = models.BigIntegerField(null=True, blank=True)
    rate_per_s = models.FloatField(null=True, blank=True)
    last_timestamp_ms = models.BigIntegerField(null=True, blank=True)
    head_timestamp_ms = models.BigIntegerField(null=True, blank=True)
    path = models.CharField(max_length=20, blank=True)
    path_reason = models.TextField(blank=True)
    bytes_per_s = models.FloatField(null=True, blank=True)
    batch_bytes = models.BigIntegerField(null=True, blank=True)
    packed = models.BigIntegerField(default=0)
    retries = models.BigIntegerField(default=0)
    commit_ms = models.FloatField(null=True, blank=True)
    throttled_ms = models.BigIntegerField(default=0)
    quota_ms = models.BigIntegerField(default=0)
    duplicates = models.BigIntegerField(default=0)
    findings = models.JSONField(default=list)
    since = models.DateTimeField()
    updated_at = models.DateTimeField()

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        ordering = ["topic", "partition"]
        constraints = [
            models.UniqueConstraint(
                fields=["flow", "topic", "partition"], name="one_row_per_flow_partition"
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class FlowRound(Round):
    """Freshness of a part of what is known of a flow: where it is, where its source ends, its syncs.

    A measurement ends with the source: the row of the source has its claim.
    """

    class Noun(models.TextChoices):
        POSITIONS = "positions", "Positions"
        SOURCE = "source", "Source offsets"
        SYNCS = "syncs", "Offset syncs"

    flow = models.ForeignKey(ReplicationFlow, on_delete=models.CASCADE, related_name="rounds")
    noun = models.CharField(max_length=20, choices=Noun)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["flow", "noun"], name="one_round_per_flow_noun")
        ]

    def __str__(self) -> str:
        return f"{self.flow_id} {self.noun}"


class LagSample(models.Model):
    """Lag at a time; `topic` is "" for the flow as a whole. Pruned after LAG_RETENTION_H.

    `at_s` is Unix time in seconds and not a datetime, because charts group it into buckets by
    arithmetic that SQLite and PostgreSQL share.
    """

    flow = models.ForeignKey(ReplicationFlow, on_delete=models.CASCADE, related_name="samples")
    topic = models.CharField(max_length=249, blank=True, default="")
    at_s = models.BigIntegerField()
    lag = models.BigIntegerField(null=True)
    lag_ms = models.BigIntegerField(null=True)
    unknown_count = models.PositiveIntegerField(default=0)
    rate_per_s = models.FloatField(null=True)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        indexes = [
            models.Index(fields=["flow", "topic", "at_s"], name="lag_flow_topic_at"),
            models.Index(fields=["at_s"], name="lag_at"),
        ]

    def __str__(self) -> str:
        return f"{self.flow_id} {self.topic} {self.at_s}"
