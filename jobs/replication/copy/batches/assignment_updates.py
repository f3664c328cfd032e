"""What is asked of the batch path while it runs, done between two sessions: then nothing is on its way."""

from __future__ import annotations

from collections.abc import Callable

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.assignment import AssignmentChanges, RevokedPartition
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.throttle import Throttle
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.fetch_scheduler import FetchScheduler
from jobs.replication.copy.sync_tracker import SyncTracker


class AssignmentUpdates:
    """Takes partitions on and lets others go, in the list of them that the copier works with.

    `unprepared` are those that the copier has to ask the target about before it begins with them.
    """

    def __init__(
        self,
        parts: list[BatchPartition],
        changes: AssignmentChanges | None,
        make: Callable[[PartitionStart], BatchPartition],
    ) -> None:
        self._parts = parts
        self._changes = changes
        self._make = make
        self.unprepared = list(parts)

    @property
    def is_waiting(self) -> bool:
        """Whether something is asked for."""
        return self._changes is not None and self._changes.is_waiting

    @property
    def may_come(self) -> bool:
        """Whether something may still be asked for: then the copier stays although it has no work."""
        return self._changes is not None

    def apply(self) -> list[TopicPartition]:
        """Do what is asked for and return what was let go of.

        Only what is committed, or known not to count, may be in the partitions: an uncertain commit must
        be cleared up before.
        """
        if self._changes is None:
            return []
        released: list[RevokedPartition] = []
        for change in self._changes.take():
            if isinstance(change, PartitionStart):
                self._take_on(change)
            else:
                released += self._let_go(change)
        self._changes.release(released)
        return [one.where for one in released]

    def tune(self, throttle: Throttle, scheduler: FetchScheduler) -> None:
        """Go on with the limit and the priorities that are asked for now."""
        if self._changes is not None:
            throttle.per_s = self._changes.tuning.max_bytes_per_s
            scheduler.prefer(self._changes.tuning.priorities)

    def _take_on(self, start: PartitionStart) -> None:
        part = self._make(start)
        if start.leader_epoch is not None:
            part.committed_epoch = start.leader_epoch
        if start.last_sync is not None:
            part.syncs = SyncTracker.after(start.last_sync, start.untold_syncs)
        self._parts.append(part)
        self.unprepared.append(part)

    def _let_go(self, where: TopicPartition) -> list[RevokedPartition]:
        left = [part for part in self._parts if part.where == where]
        for part in left:
            part.begin()  # forgets what was sent and not committed
            self._parts.remove(part)
        self.unprepared = [part for part in self.unprepared if part.where != where]
        return [
            RevokedPartition(
                *where,
                part.committed,
                remote_end=part.remote_end,
                leader_epoch=part.committed_epoch if part.committed_epoch >= 0 else None,
                last_sync=part.syncs.last,
                untold_syncs=part.syncs.untold(),
            )
            for part in left
        ]
