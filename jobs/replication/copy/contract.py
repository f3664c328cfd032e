"""The seam between a flow and the engine that moves its records.

One interface: copy a set of partitions until told to stop. The record path (`copy.records.copier`)
implements it; another engine can take its place without anybody else noticing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from jobs.cluster.descriptions import TopicPartition

if TYPE_CHECKING:
    from jobs.replication.copy.assignment import AssignmentChanges


class CopyState(StrEnum):
    """What happens to a partition of a flow right now, best first.

    PAUSED is never said by a copier: a paused partition is one that no copier has. WATCHED is a partition
    that MirrorMaker 2 copies and that, by its committed position, is not caught up.
    """

    CAUGHT_UP = "caught_up"
    WATCHED = "watched"
    COPYING = "copying"
    STARTING = "starting"
    PAUSED = "paused"
    RETRYING = "retrying"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """A partition to copy: `position` is the next source offset to be copied.

    `remote_end` is where the remote partition ended when that position was committed; None when
    that is not known (first start, or the position was written by MirrorMaker 2). `leader_epoch` and
    `last_sync` belong to the last copied record, `untold_syncs` come before that (see `positions.Position`):
    whoever let go of the partition gives them along; None where only the target knows them.
    """

    topic: str
    partition: int
    position: int
    remote_topic: str
    remote_end: int | None = None
    leader_epoch: int | None = None
    last_sync: tuple[int, int] | None = None
    untold_syncs: tuple[tuple[int, int], ...] = ()

    @property
    def where(self) -> TopicPartition:
        """Topic and partition on the source."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """The state of one partition.

    `position` is the next source offset to copy: everything below it is acknowledged by the target
    and its position is committed there. `last_timestamp_ms` is the timestamp of the newest
    copied record (None: nothing copied in this run). `records` and `bytes` (key + value) count
    since the run began (on the batch path the bytes of batches, compressed as they are); `duplicates`
    are records that were written twice. `reason` says why, for every state that is not caught_up or copying;
    `findings` are things that a person must know although copying goes on. `path` is `batch` or
    `record`, with the reason for the slower one in `path_reason`. `batches` were written, `packed`
    of them made by crosslog out of others. `retries` count what was tried again, `commits` those that moved
    this partition's position. `commit_ms` (None: no
    commit yet) is how long the last commit of this partition's task took, `throttled_ms` how long that
    task rested because of the flow's limit, `quota_ms` how long because brokers asked for it (KIP-219).
    `denied` is the right that is missing where an authorizer refuses the partition, "" where none does.
    """

    topic: str
    partition: int
    position: int
    state: CopyState = CopyState.STARTING
    reason: str = ""
    last_timestamp_ms: int | None = None
    records: int = 0
    bytes: int = 0
    duplicates: int = 0
    path: str = "record"
    path_reason: str = ""
    batches: int = 0
    packed: int = 0
    retries: int = 0
    commits: int = 0
    commit_ms: float | None = None
    throttled_ms: int = 0
    quota_ms: int = 0
    end_offset: int | None = None
    findings: tuple[str, ...] = field(default=())
    denied: str = ""


class Copier(Protocol):
    """An engine.

    Invariants: order within a partition is kept; a position is committed only after the target
    acknowledged everything below it; a partition that cannot go on is reported as failed and does
    not stop the others. `copy` returns when `should_stop()` is true, with everything flushed and
    committed, or, without `changes`, when no partition is left that can go on. With `changes` it takes
    partitions on and lets others go while it runs: what was let go of is committed.
    """

    def copy(
        self,
        partitions: Sequence[PartitionStart],
        should_stop: Callable[[], bool],
        report: Callable[[Sequence[PartitionProgress]], None],
        changes: AssignmentChanges | None = None,
    ) -> None:
        """Copy these partitions until told to stop; raises `ClusterFault` when a whole cluster is lost."""
        ...
