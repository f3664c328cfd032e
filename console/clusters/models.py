"""Clusters, and their rows of the last collection: one per broker, topic, partition, group and offset.

Rows are written only when they change, so `changed_at` is when a row last changed; `CollectionRound`
has the time of the last collection. A successful round removes what it no longer sees.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from django.db import models

from console.frame.rounds import Round
from jobs.availability.status.severity import Severity
from jobs.cluster.admin.groups import SHARE
from jobs.cluster.capabilities.verdicts import ClusterVersions
from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.limits import GROUP_ID, LEFT_OUT, short
from jobs.replication.flow.lag import LagStatus

TOPIC_NAME_LENGTH = 249
# Kafka bounds a group id only by its own wire format (a 16-bit length).
GROUP_ID_LENGTH = GROUP_ID
# Words of routes in the place of an alias (a test compares them with the routes).
RESERVED_ALIASES = (
    "brokers",
    "check",
    "elections",
    "imports",
    "new",
    "out-of-sync",
    "partitions",
    "rollups",
    "stretches",
    "unclean-elections",
    "voter-sets",
)
# How an address names a cluster where such words stand beside it.
NOT_RESERVED = rf"(?!(?:{'|'.join(RESERVED_ALIASES)})(?:/|$))"
# Producers choose timestamps: one beyond the year 9999 is no time for people.
_END_OF_TIME_MS = 253_402_300_800_000


class Cluster(models.Model):
    """A registered cluster: how to reach it, and what the last check said.

    Secrets are references. `cluster_id` is empty until a check or a round has seen it; from then on
    another id behind the same address is refused until somebody confirms it. `seen_cluster_id` is
    that other id, empty when there is none. `operations` are what this principal may do on the
    cluster (Kafka's names), null when the cluster did not say.
    """

    alias = models.CharField(max_length=63, unique=True)
    bootstrap_servers = models.TextField()
    security_protocol = models.CharField(
        max_length=20,
        choices=[(p.value, p.value) for p in SecurityProtocol],
        default=SecurityProtocol.PLAINTEXT.value,
    )
    sasl_mechanism = models.CharField(
        max_length=20, blank=True, choices=[(m.value, m.value) for m in SaslMechanism]
    )
    sasl_username = models.CharField(max_length=255, blank=True)
    sasl_password = models.CharField(max_length=255, blank=True)
    sasl_oauthbearer_token_url = models.CharField(max_length=1000, blank=True)
    sasl_oauthbearer_scope = models.CharField(max_length=255, blank=True)
    ssl_ca = models.CharField(max_length=255, blank=True)
    ssl_certificate = models.CharField(max_length=255, blank=True)
    ssl_key = models.CharField(max_length=255, blank=True)
    ssl_key_password = models.CharField(max_length=255, blank=True)
    ssl_check_hostname = models.BooleanField(default=True)
    cluster_id = models.CharField(max_length=64, blank=True)
    seen_cluster_id = models.CharField(max_length=64, blank=True)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True, blank=True)
    operations = models.JSONField(null=True, blank=True)
    findings = models.JSONField(default=list, blank=True)
    # What brokers last said that they offer, `ClusterVersions.to_mapping`; null: they never did.
    versions = models.JSONField(null=True, blank=True)
    versions_at = models.DateTimeField(null=True, blank=True)

    clusters_at: ClassVar = ("pk",)

    class Meta:
        ordering = ["alias"]

    def __str__(self) -> str:
        return self.alias

    @property
    def offers(self) -> ClusterVersions:
        """What its brokers last said that they offer."""
        kept = self.versions
        return ClusterVersions.from_mapping(kept, self.versions_at) if kept else ClusterVersions({})

    def connection(self) -> Connection:
        """Return how to reach this cluster; raises `InvalidFields`."""
        values = {name: getattr(self, name) for name in CONNECTION_FIELDS}
        return Connection.from_mapping({**values, "cluster_id": self.cluster_id})


# The fields that a person gives; the same names as in `Connection`.
CONNECTION_FIELDS = (
    "alias",
    "bootstrap_servers",
    "security_protocol",
    "sasl_mechanism",
    "sasl_username",
    "sasl_password",
    "sasl_oauthbearer_token_url",
    "sasl_oauthbearer_scope",
    "ssl_ca",
    "ssl_certificate",
    "ssl_key",
    "ssl_key_password",
    "ssl_check_hostname",
)


class Noun(models.TextChoices):
    """What a round asks for, in the order of asking."""

    BROKERS = "brokers", "Brokers"
    TOPICS = "topics", "Topics"
    OFFSETS = "offsets", "Offsets"
    GROUPS = "groups", "Groups"


class CollectionRound(Round):
    """The newest round for one noun of a cluster, and so the freshness of its rows."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="rounds")
    noun = models.CharField(max_length=10, choices=Noun)
    started_at = models.DateTimeField(null=True, blank=True)
    row_count = models.PositiveIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "noun"], name="one_round_per_cluster_noun")
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id} {self.noun}"


class Broker(models.Model):
    """A broker that is alive, or that is down but still has replicas.

    `seen_at` is when it was last found alive (null: never by us); host and port are empty then.
    `log_dirs` are mappings `path`, `total_bytes`, `usable_bytes` (of its volume, null: not known), `error`;
    null when the broker did not answer at `log_dirs_at`.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="brokers")
    broker_id = models.IntegerField()
    host = models.CharField(max_length=255, blank=True)
    port = models.PositiveIntegerField(null=True, blank=True)
    rack = models.CharField(max_length=255, blank=True)
    is_live = models.BooleanField(default=True)
    leader_count = models.PositiveIntegerField(default=0)
    replica_count = models.PositiveIntegerField(default=0)
    seen_at = models.DateTimeField(null=True, blank=True)
    log_dirs = models.JSONField(null=True, blank=True)
    log_dirs_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["broker_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "broker_id"], name="one_row_per_broker")
        ]

    def __str__(self) -> str:
        return f"broker {self.broker_id}"

    @property
    def free_share(self) -> float | None:
        """The smallest free share among the volumes of its log directories; null when unknown."""
        known = [one for one in self.log_dirs or () if one["total_bytes"]]
        return min((one["usable_bytes"] / one["total_bytes"] for one in known), default=None)


class Topic(models.Model):
    """A topic with the sums over its partitions.

    `configs` are the read settings (Kafka's names), `configs_read_at` when (null: not yet);
    `min_isr_source` is where min.insync.replicas comes from, in the words of DescribeConfigs.
    `record_count` is the sum of end offset minus log start offset: an upper bound, because
    compaction and transaction markers leave gaps; null when unknown.
    `unsure_count` is for how many partitions it is not known whether a replica is missing or being added.
    `error` is why the answer for this topic was incomplete; its partitions keep their last state.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="topics")
    name = models.CharField(max_length=TOPIC_NAME_LENGTH)
    topic_id = models.CharField(max_length=32, blank=True)
    is_internal = models.BooleanField(default=False)
    partition_count = models.PositiveIntegerField(default=0)
    replication_factor = models.PositiveIntegerField(null=True, blank=True)
    min_insync_replicas = models.PositiveIntegerField(null=True, blank=True)
    min_isr_source = models.CharField(max_length=40, blank=True)
    configs = models.JSONField(default=dict)
    configs_read_at = models.DateTimeField(null=True, blank=True)
    severity = models.PositiveSmallIntegerField(
        choices=[(s.value, s.word) for s in Severity], default=Severity.OK.value
    )
    under_replicated_count = models.PositiveIntegerField(default=0)
    offline_count = models.PositiveIntegerField(default=0)
    unsure_count = models.PositiveIntegerField(default=0)
    record_count = models.BigIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="one_row_per_topic")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_unsure(self) -> bool:
        """Whether no partition is known to be unhealthy, and the state of at least one is unknown."""
        return bool(self.unsure_count) and not self.severity


class Partition(models.Model):
    """A partition: who has it (noun topics) and from where to where it reaches (noun offsets).

    `leader` is null while the partition is offline. `adding` and `removing` are replicas that a reassignment
    adds and removes; `adding` is null where it is not known whether there is one. `counted_text` are Kafka's
    counts that it is in, as `|under_replicated|offline|`; `is_unsure` as in `severity.Standing`.
    `end_offset` is the last stable offset.
    `max_timestamp_ms` is the largest timestamp among its records. `open_transaction` is null unless the last
    stable offset stays below the high watermark, see `collection.stuck`. `error` is why the offsets could
    not be read; they keep their last values then.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="partitions")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="partitions")
    partition = models.PositiveIntegerField()
    leader = models.IntegerField(null=True, blank=True)
    replicas = models.JSONField(default=list)
    isr = models.JSONField(default=list)
    isr_count = models.PositiveIntegerField(default=0)
    adding = models.JSONField(default=list, null=True, blank=True)
    removing = models.JSONField(default=list)
    severity = models.PositiveSmallIntegerField(
        choices=[(s.value, s.word) for s in Severity], default=Severity.OK.value
    )
    counted_text = models.CharField(max_length=60, blank=True)
    is_unsure = models.BooleanField(default=False)
    log_start_offset = models.BigIntegerField(null=True, blank=True)
    end_offset = models.BigIntegerField(null=True, blank=True)
    high_watermark = models.BigIntegerField(null=True, blank=True)
    max_timestamp_ms = models.BigIntegerField(null=True, blank=True)
    open_transaction = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["topic__name", "partition"]
        constraints = [
            models.UniqueConstraint(fields=["topic", "partition"], name="one_row_per_partition")
        ]
        indexes = [
            models.Index(fields=["cluster", "-severity", "id"], name="partition_worst_first")
        ]

    def __str__(self) -> str:
        return f"{self.topic.name}-{self.partition}"

    @property
    def record_count(self) -> int | None:
        """How many offsets the log spans; null when unknown."""
        if self.end_offset is None or self.log_start_offset is None:
            return None
        return max(0, self.end_offset - self.log_start_offset)

    @property
    def newest_at(self) -> datetime | None:
        """When the newest record says that it was made; null when unknown or not a time."""
        ms = self.max_timestamp_ms
        if ms is None or not 0 <= ms < _END_OF_TIME_MS:
            return None
        return datetime.fromtimestamp(ms / 1000, UTC)


class Group(models.Model):
    """A group of any type, in Kafka's words; `protocol` is what its members speak: consumer, share, connect.

    `lag` is the sum over the partitions whose lag is known, null when none is; `unknown_count` is how many
    partitions have no number: no commit where a member reads, no end, or left out. `lag_ms` and
    `unknown_ms_count` are likewise the largest lag in time, which is never 0 by guess. `error` is why the
    description or the offsets of this group are missing, or some of them left out (`jobs.limits.LEFT_OUT`).
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="groups")
    group_id = models.CharField(max_length=GROUP_ID_LENGTH)
    state = models.CharField(max_length=40, blank=True)
    type = models.CharField(max_length=40, blank=True)
    protocol = models.CharField(max_length=255, blank=True, default="")
    assignor = models.CharField(max_length=255, blank=True)
    member_count = models.PositiveIntegerField(null=True, blank=True)
    coordinator = models.IntegerField(null=True, blank=True)
    topic_count = models.PositiveIntegerField(default=0)
    partition_count = models.PositiveIntegerField(default=0)
    unknown_count = models.PositiveIntegerField(default=0)
    unknown_ms_count = models.PositiveIntegerField(default=0)
    lag = models.BigIntegerField(null=True, blank=True)
    lag_to_high_watermark = models.BigIntegerField(null=True, blank=True)
    lag_ms = models.BigIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["group_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "group_id"], name="one_row_per_group")
        ]

    def __str__(self) -> str:
        return short(self.group_id) or "(no id)"

    @property
    def is_shared(self) -> bool:
        """Whether it is a share group (KIP-932): it commits no offsets, so none are moved or translated."""
        return self.type == SHARE

    @property
    def is_partial(self) -> bool:
        """Whether some of its offsets are beyond the limits: lag and counts are at least what is shown."""
        return self.error.startswith(LEFT_OUT)


class GroupOffset(models.Model):
    """Committed offset and lag of a group in one partition.

    `committed_offset` is null for a partition that a member holds and never committed, and for share groups:
    they have a `start_offset`, null before their first record.
    `lag` counts records between the commit and the last real record of committed transactions,
    `lag_to_high_watermark` also those of open ones; null unless `lag_status` is
    ok, behind_log_start or ahead_of_end. `next_timestamp_ms` belongs to the first record that is not
    committed, `lag_ms` is from there to the newest record of the partition; null when unknown.
    `committed_since` is since when rounds see this commit with records behind it; while there are none, since
    when they see the commit. Null: no commit, or not seen by a round yet.
    """

    LAG_STATUSES = tuple((status.value, status.value) for status in LagStatus)

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="offsets")
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH)
    partition = models.PositiveIntegerField()
    is_assigned = models.BooleanField(default=False)
    committed_offset = models.BigIntegerField(null=True, blank=True)
    committed_since = models.DateTimeField(null=True, blank=True)
    start_offset = models.BigIntegerField(null=True, blank=True)
    log_start_offset = models.BigIntegerField(null=True, blank=True)
    end_offset = models.BigIntegerField(null=True, blank=True)
    high_watermark = models.BigIntegerField(null=True, blank=True)
    lag = models.BigIntegerField(null=True, blank=True)
    lag_to_high_watermark = models.BigIntegerField(null=True, blank=True)
    next_timestamp_ms = models.BigIntegerField(null=True, blank=True)
    lag_status = models.CharField(
        max_length=20, choices=LAG_STATUSES, default=LagStatus.UNKNOWN.value
    )
    lag_ms = models.BigIntegerField(null=True, blank=True)
    error = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    clusters_at: ClassVar = ("group__cluster",)

    class Meta:
        ordering = ["topic", "partition"]
        constraints = [
            models.UniqueConstraint(
                fields=["group", "topic", "partition"], name="one_row_per_group_offset"
            )
        ]
        # The page of a topic asks who reads it, among the offsets of thousands of groups.
        indexes = [models.Index(fields=["topic"], name="group_offsets_by_topic")]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
