"""Who has which partition of a running flow, and what to ask of the tasks next: a pure state machine.

Invariant: at any moment at most one task may write a partition. It is given to a task only while nobody has
it: never given before, let go of by its last task (which committed), or recovered (its last task is gone
and fenced, and its position was read from the target again).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.changes import Released
from jobs.replication.copy.contract import PartitionStart
from jobs.spark.flow_driver.dealing import Rates, deal


@dataclass(slots=True)
class Holding:
    """One partition: `start` is where whoever gets it next begins.

    `owner` is the task that it is meant for, and that has it once `is_given`. `is_leaving`: its task
    was asked to let go of it. `is_lost`: its task is gone and it is not recovered yet. `goes_to` is where it
    is to move. `again` is where to begin instead once it is let go of. `is_forgotten` when nothing is to be
    remembered then.
    """

    start: PartitionStart
    is_wanted: bool = True
    owner: int | None = None
    is_given: bool = False
    is_leaving: bool = False
    is_lost: bool = False
    is_restarting: bool = False
    is_forgotten: bool = False
    goes_to: int | None = None
    before: int | None = None
    again: PartitionStart | None = None

    @property
    def should_leave(self) -> bool:
        """Whether its task is to be asked to let go of it."""
        moves = self.goes_to is not None and self.goes_to != self.owner
        return not self.is_wanted or self.is_restarting or moves


@dataclass(slots=True)
class Orders:
    """What to tell the tasks now, by task."""

    add: dict[int, list[PartitionStart]] = field(default_factory=dict)
    remove: dict[int, list[TopicPartition]] = field(default_factory=dict)


class Holdings:
    """All partitions that a flow copies, or would if they were not held back."""

    def __init__(self) -> None:
        self._all: dict[TopicPartition, Holding] = {}

    def __contains__(self, where: object) -> bool:
        return where in self._all

    def __len__(self) -> int:
        return len(self._all)

    @property
    def partitions(self) -> list[TopicPartition]:
        """All partitions, also those that are held back."""
        return list(self._all)

    @property
    def wanted(self) -> int:
        """How many partitions are to be copied now."""
        return sum(holding.is_wanted for holding in self._all.values())

    def owner(self, where: TopicPartition) -> int | None:
        """Return the task that has a partition and may report it, None when nobody does."""
        holding = self._all.get(where)
        if holding is None or not holding.is_given or holding.is_forgotten:
            return None
        return holding.owner

    def owners(self) -> dict[TopicPartition, int]:
        """Return the task of every partition that stays with one."""
        return {
            where: holding.owner
            for where, holding in self._all.items()
            if holding.owner is not None and holding.is_given and not holding.is_leaving
        }

    def want(self, start: PartitionStart) -> None:
        """Copy a partition from here on; one that is copied already goes on as it is."""
        holding = self._all.get(start.where)
        if holding is None:
            self._all[start.where] = Holding(start)
        elif holding.is_forgotten:
            holding.is_forgotten, holding.is_wanted = False, True
            holding.is_restarting, holding.again = True, start

    def hold_back(self, where: TopicPartition, *, hold: bool) -> None:
        """Stop copying a partition, or go on with it; its place is remembered."""
        holding = self._all[where]
        if not holding.is_forgotten:
            holding.is_wanted = not hold

    def is_resting(self, where: TopicPartition) -> bool:
        """Return whether a partition is held back and no task has it any more."""
        holding = self._all[where]
        return not holding.is_wanted and not holding.is_given

    def forget(self, where: TopicPartition) -> None:
        """Stop copying a partition for good."""
        holding = self._all.get(where)
        if holding is None:
            return
        if holding.is_given:
            holding.is_wanted, holding.is_forgotten = False, True
        else:
            del self._all[where]

    def restart(self, where: TopicPartition) -> None:
        """Let a partition go and take it on again at its position."""
        holding = self._all[where]
        holding.is_restarting = holding.is_given

    def move(self, where: TopicPartition, task: int) -> None:
        """Move a partition to another task as soon as its task has let go of it."""
        self._all[where].goes_to = task

    def released(self, task: int, let_go: Released) -> bool:
        """Take a task's answer; returns False for one that nobody waits for any more."""
        holding = self._all.get(let_go.where)
        if holding is None or holding.owner != task or not holding.is_leaving:
            return False
        self._set_free(holding, let_go.start_of(holding.start))
        return True

    def lost(self, task: int) -> list[TopicPartition]:
        """Note that a task is gone; returns the partitions whose positions must be read again."""
        for holding in self._all.values():
            if holding.goes_to == task:
                holding.goes_to = None
            if holding.owner == task and holding.is_given:
                holding.is_lost = True
        return self.lost_by(task)

    def lost_by(self, task: int) -> list[TopicPartition]:
        """Return the partitions of a task that wait for their recovery."""
        return [w for w, h in self._all.items() if h.owner == task and h.is_lost]

    def start_of(self, where: TopicPartition) -> PartitionStart:
        """Return where a partition began when it was given away last."""
        return self._all[where].start

    def recovered(self, starts: Iterable[PartitionStart]) -> None:
        """Note where lost partitions really are; now somebody may have them."""
        for start in starts:
            holding = self._all.get(start.where)
            if holding is not None and holding.is_lost:
                self._set_free(holding, start)

    def _set_free(self, holding: Holding, start: PartitionStart) -> None:
        if holding.is_forgotten:
            del self._all[start.where]
            return
        holding.before = holding.owner
        holding.start = holding.again or start
        holding.owner, holding.goes_to, holding.again = holding.goes_to, None, None
        holding.is_given = holding.is_leaving = holding.is_lost = holding.is_restarting = False

    def orders(self, ready: Collection[int], expected: Collection[int], rates: Rates) -> Orders:
        """Decide what is to be said now; the caller says it.

        `ready` are tasks that listen, `expected` those that will soon: their share is kept for them.
        """
        orders = Orders()
        for where, holding in self._all.items():
            owner = holding.owner
            if owner is None or not holding.is_given or holding.is_leaving or holding.is_lost:
                continue
            if holding.should_leave and owner in ready:
                holding.is_leaving = True
                orders.remove.setdefault(owner, []).append(where)
        self._deal({*ready, *expected}, rates)
        for holding in self._all.values():
            if holding.owner in ready and not holding.is_given and holding.owner is not None:
                holding.is_given = True
                orders.add.setdefault(holding.owner, []).append(holding.start)
        return orders

    def _deal(self, tasks: Collection[int], rates: Rates) -> None:
        """Find a task for every partition that has none, or whose task does not come."""
        free: dict[TopicPartition, Holding] = {}
        taken: dict[TopicPartition, int] = {}
        for where, holding in self._all.items():
            if not holding.is_given and (not holding.is_wanted or holding.owner not in tasks):
                holding.owner = None
            if holding.owner is not None:
                taken[where] = holding.owner
            elif holding.is_wanted:
                free[where] = holding
        before = {w: h.before for w, h in free.items() if h.before is not None}
        for where, task in deal(list(free), taken, rates, tasks, before).items():
            free[where].owner = task


def start_at(start: PartitionStart, position: int, remote_end: int | None) -> PartitionStart:
    """Return a start at a position that was read from the target, where all else is noted as well."""
    return replace(
        start, position=position, remote_end=remote_end, leader_epoch=None, last_sync=None
    )
