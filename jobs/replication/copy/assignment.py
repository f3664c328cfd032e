"""What is asked of a copier while it runs: take partitions on, let some go, go slower, take turns.

Two sides, in different threads: whoever deals out partitions asks, the copier looks here between two
pieces of work and answers. A partition moves from one copier to another without duplicates because the
second one hears of it only after the first one has answered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import PartitionStart


@dataclass(frozen=True, slots=True)
class RevokedPartition:
    """A partition that was let go of: everything below `position` is committed, nothing is on its way.

    The other fields are what is noted beside a position, see `positions.Position`.
    """

    topic: str
    partition: int
    position: int
    remote_end: int | None = None
    leader_epoch: int | None = None
    last_sync: tuple[int, int] | None = None
    untold_syncs: tuple[tuple[int, int], ...] = ()

    @property
    def where(self) -> TopicPartition:
        """Topic and partition on the source."""
        return TopicPartition(self.topic, self.partition)

    def start_of(self, before: PartitionStart) -> PartitionStart:
        """Return where whoever takes this partition next begins."""
        return replace(
            before,
            position=self.position,
            remote_end=self.remote_end,
            leader_epoch=self.leader_epoch,
            last_sync=self.last_sync,
            untold_syncs=self.untold_syncs,
        )


def revoked_at(start: PartitionStart) -> RevokedPartition:
    """Return the answer for a partition that was not even begun."""
    return RevokedPartition(
        *start.where,
        start.position,
        remote_end=start.remote_end,
        leader_epoch=start.leader_epoch,
        last_sync=start.last_sync,
        untold_syncs=start.untold_syncs,
    )


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
        on_released: Callable[[Sequence[RevokedPartition]], None],
        limits: CopyLimits | None = None,
    ) -> None:
        self._on_released = on_released
        self._lock = threading.Lock()
        self._waiting: list[Change] = []
        self.tuning = limits or CopyLimits()

    def add(self, starts: Iterable[PartitionStart]) -> None:
        """Ask to take partitions on."""
        with self._lock:
            self._waiting += starts

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask to let partitions go."""
        with self._lock:
            self._waiting += partitions

    @property
    def is_waiting(self) -> bool:
        """Whether something is asked for; cheap enough to ask all the time."""
        return bool(self._waiting)

    def take(self) -> list[Change]:
        """Return what is asked for, in the order of asking; it is the caller's to do now."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting

    def release(self, released: Sequence[RevokedPartition]) -> None:
        """Say that partitions were let go of."""
        if released:
            self._on_released(released)
