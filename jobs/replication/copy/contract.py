"""The seam between a flow and the engines that move its records, batch by batch or record by record.

An engine copies a set of partitions until told to stop. Invariants: order within a partition is kept; a
position is committed only after the target acknowledged everything below it; a partition that cannot be
copied is reported as failed and does not stop the others. `copy` returns when `should_stop()` is true, with
everything flushed and committed, or, without `AssignmentChanges`, when no partition is left that can be
copied.

With `AssignmentChanges` it takes partitions on and lets others go while it runs. Two sides, in different
threads: the one that deals out partitions asks, the copier looks between two pieces of work and answers. A
partition moves from one copier to another without duplicates because the second one hears of it only after
the first one has answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.cluster.descriptions import TopicPartition


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

    A copier that let go of a partition answers with one, too: everything below `position` is committed,
    nothing is on its way. `remote_end` is where the remote partition ended when that position was committed;
    None when that is not known (first start, or MirrorMaker 2 wrote the position). `leader_epoch` and
    `last_sync` belong to the last copied record, `untold_syncs` come before that (see `positions.Position`):
    the copier that let go of the partition gives them along; None where only the target knows them.
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
    `findings` are things that a person must know although copying continues. `path` is `batch` or
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


Report = Callable[[Sequence[PartitionProgress]], None]


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """How fast and in which order: a limit for this copier (None: no limit), priorities by topic.

    A topic that is not named has priority 0; higher goes first.
    """

    max_bytes_per_s: float | None = None
    priorities: Mapping[str, int] = field(default_factory=dict)


Change = PartitionStart | TopicPartition
"""A start is to be taken on, a topic and partition is to be let go of."""


class AssignmentChanges:
    """Changes that wait for a copier; safe to use from several threads.

    The copier answers each partition that it lets go of by `release`, and ignores those that it does
    not have. `limits` may differ every time it is looked at.
    """

    def __init__(
        self,
        on_released: Callable[[Sequence[PartitionStart]], None],
        limits: CopyLimits | None = None,
    ) -> None:
        self._on_released = on_released
        self._lock = threading.Lock()
        self._waiting: list[Change] = []
        self._wake: list[Callable[[], object]] = []
        self.tuning = limits or CopyLimits()

    def listen(self, wake: Callable[[], object]) -> None:
        """Call this whenever something is requested, or something else is to be looked at; in any thread."""
        self._wake.append(wake)

    def wake(self) -> None:
        """Make the copier look at once, also for a stop."""
        for wake in self._wake:
            wake()

    def add(self, starts: Iterable[PartitionStart]) -> None:
        """Ask to take partitions on."""
        self._ask(starts)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask to let partitions go."""
        self._ask(partitions)

    def _ask(self, changes: Iterable[Change]) -> None:
        with self._lock:
            self._waiting += changes
        self.wake()

    @property
    def is_waiting(self) -> bool:
        """Whether something is requested; cheap enough to ask all the time."""
        return bool(self._waiting)

    def take(self) -> list[Change]:
        """Return what is requested, in the order of asking; it is the caller's to do now."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    def release(self, released: Sequence[PartitionStart]) -> None:
        """Say that partitions were let go of."""
        if released:
            self._on_released(released)
