"""What the metadata log changed: one value per change, each with its cause from a closed vocabulary.

The log holds no causes. They are read from the record itself and from its neighbours of the same batch
(Kafka's `ReplicationControlManager` writes a broker's event beside the partition changes it brings).
A change is dated only where a log segment dates it: a snapshot tells what is so, never since when.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar


class ChangeKind(StrEnum):
    """What a change is about."""

    PARTITION = "partition"
    TOPIC = "topic"
    BROKER = "broker"
    CONTROLLER = "controller"
    CONFIG = "config"
    FEATURE = "feature"
    QUOTA = "quota"
    ACL = "acl"
    PRODUCER_IDS = "producer_ids"
    SCRAM = "scram"
    DELEGATION_TOKEN = "delegation_token"  # noqa: S105 - a kind, no secret
    ANOMALY = "anomaly"


class Cause(StrEnum):
    """Why something changed; the closed vocabulary of every `cause` that crosslog stores and shows."""

    # A broker's event: partitions change with it, and `cause_broker` names it.
    BROKER_FENCED = "broker_fenced"
    BROKER_UNFENCED = "broker_unfenced"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"
    BROKER_UNREGISTERED = "broker_unregistered"
    BROKER_RESTARTED = "broker_restarted"
    LOG_DIR_FAILED = "log_dir_failed"
    # Of brokers alone.
    BROKER_REGISTERED = "broker_registered"
    REGISTRATION_UPDATED = "registration_updated"
    LOG_DIRS_CHANGED = "log_dirs_changed"
    LOG_DIRS_CORDONED = "log_dirs_cordoned"
    # The leader asked (AlterPartition): a follower fell behind, or caught up.
    ISR_SHRINK = "isr_shrink"
    ISR_EXPAND = "isr_expand"
    ISR_CHANGED = "isr_changed"
    LEADER_RECOVERED = "leader_recovered"
    # Elections without a broker's event beside them.
    PREFERRED_ELECTION = "preferred_election"
    LEADER_ELECTION = "leader_election"
    ELR_ELECTION = "elr_election"
    UNCLEAN_ELECTION = "unclean_election"
    LEADER_LOST = "leader_lost"
    LEADER_EPOCH_BUMPED = "leader_epoch_bumped"
    # Eligible leader replicas (KIP-966).
    ELR_CHANGED = "elr_changed"
    ELR_CLEARED = "elr_cleared"
    # Replicas.
    REASSIGNMENT_STARTED = "reassignment_started"
    REASSIGNMENT_CHANGED = "reassignment_changed"
    REASSIGNMENT_COMPLETED = "reassignment_completed"
    REASSIGNMENT_CANCELLED = "reassignment_cancelled"
    DIRECTORIES_ASSIGNED = "directories_assigned"
    # Topics.
    TOPIC_CREATED = "topic_created"
    TOPIC_RECREATED = "topic_recreated"
    TOPIC_DELETED = "topic_deleted"
    PARTITIONS_ADDED = "partitions_added"
    PARTITION_REPLACED = "partition_replaced"
    # Everything else that can be set and removed.
    SET = "set"
    REMOVED = "removed"
    UPGRADED = "upgraded"
    DOWNGRADED = "downgraded"
    # Known from a snapshot only.
    SNAPSHOT = "snapshot"
    BETWEEN = "between"
    # A record that changed nothing one could name, and records that Kafka would refuse.
    NOTHING = "nothing"
    REFUSED = "refused"


class Election(StrEnum):
    """How a partition came by its leader."""

    PREFERRED = "preferred"
    IN_SYNC = "in_sync"
    ELIGIBLE_LEADER_REPLICA = "eligible_leader_replica"
    UNCLEAN = "unclean"
    NO_LEADER = "no_leader"


class AnomalyKind(StrEnum):
    """What is wrong with a record of the log, or with the log itself."""

    UNKNOWN_TOPIC = "unknown_topic"
    UNKNOWN_PARTITION = "unknown_partition"
    UNKNOWN_BROKER = "unknown_broker"
    UNKNOWN_ACL = "unknown_acl"
    WRONG_BROKER_EPOCH = "wrong_broker_epoch"
    DUPLICATE_TOPIC = "duplicate_topic"
    TRANSACTION = "transaction"
    SNAPSHOT = "snapshot"
    SNAPSHOT_DISAGREES = "snapshot_disagrees"
    UNKNOWN_RECORD = "unknown_record"
    UNDECODABLE = "undecodable"
    MALFORMED = "malformed"
    DAMAGE = "damage"
    GAP = "gap"
    OFFSET_WENT_BACK = "offset_went_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What every change says.

    `offset` is that of the record; for a change that only a snapshot tells, the last offset the snapshot
    holds. `epoch` is the raft epoch of its batch. `timestamp_ms` is the clock of the active controller then
    (not monotonic across leader changes); None where only a snapshot tells: then it happened after
    `since_offset` (None: nothing is known before), at or before `offset`, and at or before `not_after_ms`
    (the snapshot's time). `batch_offset` is the first offset of the batch, None for snapshots.
    `applied_offset`: a record of a transaction (KIP-868) takes effect with the record that ends it, at this
    offset; None elsewhere.
    """

    kind: ClassVar[ChangeKind]

    offset: int
    epoch: int
    timestamp_ms: int | None
    batch_offset: int | None
    cause: Cause
    since_offset: int | None = None
    not_after_ms: int | None = None
    applied_offset: int | None = None

    @property
    def effective_offset(self) -> int:
        """From which offset on it is so."""
        return self.offset if self.applied_offset is None else self.applied_offset

    @property
    def is_dated(self) -> bool:
        """Whether the log says when it happened."""
        return self.timestamp_ms is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChange(Change):
    """A partition after the change, and its state before.

    `leader` -1 means none; `recovery_state` 1 means recovering after an unclean election. `directories` are
    directory ids in the order of `replicas`. `previous_*` are None where nothing was known before (new, or
    first seen). `election` is None when the leader stayed. An unclean election has two signs:
    `leader_was_outside` (neither in the ISR before nor eligible; the older sign) and `began_recovering`
    (`LeaderRecoveryState` became RECOVERING). `cause_broker` is the broker whose event caused it, or the one
    replica that fell behind or caught up. `is_removed`: the topic was deleted, and the other fields are its
    last state.
    """

    kind: ClassVar[ChangeKind] = ChangeKind.PARTITION

    topic_id: str
    topic: str | None
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    recovery_state: int
    directories: tuple[str, ...] = ()
    previous_leader: int | None = None
    previous_isr: tuple[int, ...] | None = None
    previous_elr: tuple[int, ...] | None = None
    cause_broker: int | None = None
    election: Election | None = None
    leader_was_outside: bool = False
    began_recovering: bool = False
    is_removed: bool = False

    @property
    def is_unclean(self) -> bool:
        """Whether either sign of an unclean election is there."""
        return self.leader_was_outside or self.began_recovering

    @property
    def left_isr(self) -> tuple[int, ...]:
        """The brokers that the ISR lost."""
        return tuple(one for one in self.previous_isr or () if one not in self.isr)

    @property
    def joined_isr(self) -> tuple[int, ...]:
        """The brokers that the ISR gained."""
        before = self.previous_isr
        return () if before is None else tuple(one for one in self.isr if one not in before)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A listener as a broker or controller registered it; `security_protocol` is Kafka's number."""

    name: str
    host: str
    port: int
    security_protocol: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerChange(Change):
    """A broker's registration as it is after the change.

    `is_removed`: it was unregistered, and the other fields say what was last there. `previous_*` are None
    when the broker was not known before. `features` are (name, lowest, highest level).
    """

    kind: ClassVar[ChangeKind] = ChangeKind.BROKER

    broker_id: int
    incarnation_id: str
    broker_epoch: int
    rack: str | None
    is_fenced: bool
    in_controlled_shutdown: bool
    endpoints: tuple[Endpoint, ...]
    log_dirs: tuple[str, ...]
    cordoned_log_dirs: tuple[str, ...]
    features: tuple[tuple[str, int, int], ...] = ()
    previous_is_fenced: bool | None = None
    previous_incarnation_id: str | None = None
    previous_rack: str | None = None
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerChange(Change):
    """A controller's registration after the change (Kafka 3.7 and later write them)."""

    kind: ClassVar[ChangeKind] = ChangeKind.CONTROLLER

    controller_id: int
    incarnation_id: str
    endpoints: tuple[Endpoint, ...]
    features: tuple[tuple[str, int, int], ...] = ()
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange(Change):
    """A topic created, created again under the same name (`previous_topic_id`), or deleted."""

    kind: ClassVar[ChangeKind] = ChangeKind.TOPIC

    topic_id: str
    topic: str
    previous_topic_id: str | None = None
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange(Change):
    """One setting of one resource; `value` None means it was removed (the default holds again).

    `resource_type` is Kafka's name (TOPIC, BROKER with name "" for the cluster's default, BROKER_LOGGER,
    CLIENT_METRICS, GROUP) or the number where it is not known. Secret values were redacted when decoded.
    """

    kind: ClassVar[ChangeKind] = ChangeKind.CONFIG

    resource_type: str
    resource_name: str
    name: str
    value: str | None
    previous_value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureChange(Change):
    """A finalised feature's level; None means not set (Kafka writes level 0 for it)."""

    kind: ClassVar[ChangeKind] = ChangeKind.FEATURE

    name: str
    level: int | None
    previous_level: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChange(Change):
    """One client quota of one entity: ((type, name), ...), where a name None is the default entity."""

    kind: ClassVar[ChangeKind] = ChangeKind.QUOTA

    entity: tuple[tuple[str, str | None], ...]
    key: str
    value: float | None
    previous_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AclChange(Change):
    """One ACL; numbers are Kafka's codes of `AccessControlEntryRecord`."""

    kind: ClassVar[ChangeKind] = ChangeKind.ACL

    acl_id: str
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsChange(Change):
    """A block of producer ids went to a broker; the next one begins at `next_producer_id`."""

    kind: ClassVar[ChangeKind] = ChangeKind.PRODUCER_IDS

    broker_id: int
    next_producer_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramChange(Change):
    """A SCRAM credential was set or removed; names only. `mechanism` is Kafka's number (1: 256, 2: 512)."""

    kind: ClassVar[ChangeKind] = ChangeKind.SCRAM

    user: str
    mechanism: int
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenChange(Change):
    """A delegation token was made, renewed, or removed; owner and id only."""

    kind: ClassVar[ChangeKind] = ChangeKind.DELEGATION_TOKEN

    token_id: str
    owner: str | None
    requester: str | None
    renewers: tuple[str, ...]
    issued_at_ms: int | None
    max_at_ms: int | None
    expires_at_ms: int | None
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly(Change):
    """A record that Kafka's own replay would refuse, or a part of the log that cannot be read.

    The fold continues after it. `problem` is a sentence for people; `raw` is what the record said.
    """

    kind: ClassVar[ChangeKind] = ChangeKind.ANOMALY

    anomaly: AnomalyKind
    problem: str
    record_type: str | None = None
    raw: dict[str, Any] | None = None


AnyChange = (
    PartitionChange
    | BrokerChange
    | ControllerChange
    | TopicChange
    | ConfigChange
    | FeatureChange
    | QuotaChange
    | AclChange
    | ProducerIdsChange
    | ScramChange
    | DelegationTokenChange
    | Anomaly
)
