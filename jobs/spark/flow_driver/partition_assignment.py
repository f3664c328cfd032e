"""The assignment of partitions to tasks of a running flow, and the next requests: a pure state machine.

Invariant: at any moment at most one task may write a partition. It is given to a task only while no task has
it: never given before, let go of by its last task (which committed), or recovered (its last task is gone
and fenced, and its position was read from the target again).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import PartitionStart
from jobs.spark.flow_driver.balancing import Rates, assign


@dataclass(slots=True)
class AssignedPartition:
    """One partition: `start` is where its next task begins.

    `owner` is the task that it is meant for, and that has it once `is_given`. `is_leaving`: its task
    was requested to let go of it. `is_lost`: its task is gone and it is not recovered yet. `goes_to` is where
    it is to move. `again` is where to begin instead once it is let go of. `is_forgotten` when nothing is to
    be remembered then.
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
class AssignmentCommands:
    """What to tell the tasks now, by task."""

    add: dict[int, list[PartitionStart]] = field(default_factory=dict)
    remove: dict[int, list[TopicPartition]] = field(default_factory=dict)


class PartitionAssignment:
    """All partitions that a flow copies, or would if they were not held back.

    `version` grows with every change: the same one means that nothing else is to be said.
    """

    def __init__(self) -> None:
        self._all: dict[TopicPartition, AssignedPartition] = {}
        self._owners: tuple[int, dict[TopicPartition, int]] = (-1, {})
        self.version = 0

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
        return sum(assigned.is_wanted for assigned in self._all.values())

    def owner(self, where: TopicPartition) -> int | None:
        """Return the task that has a partition and may report it, None when none does."""
        assigned = self._all.get(where)
        if assigned is None or not assigned.is_given or assigned.is_forgotten:
            return None
        return assigned.owner

    def owners(self) -> dict[TopicPartition, int]:
        """Return the task of every partition that stays with one; the same object until one changes."""
        if self._owners[0] != self.version:
            found = {
                where: assigned.owner
                for where, assigned in self._all.items()
                if assigned.owner is not None and assigned.is_given and not assigned.is_leaving
            }
            self._owners = (self.version, found)
        return self._owners[1]

    def add(self, start: PartitionStart) -> None:
        """Copy a partition from here on; one that is copied already continues as it is."""
        self.version += 1
        assigned = self._all.get(start.where)
        if assigned is None:
            self._all[start.where] = AssignedPartition(start)
        elif assigned.is_forgotten:
            assigned.is_forgotten, assigned.is_wanted = False, True
            assigned.is_restarting, assigned.again = True, start

    def set_paused(self, where: TopicPartition, *, hold: bool) -> None:
        """Stop copying a partition, or resume it; its place is remembered."""
        assigned = self._all[where]
        if not assigned.is_forgotten and assigned.is_wanted == hold:
            assigned.is_wanted = not hold
            self.version += 1

    def is_paused(self, where: TopicPartition) -> bool:
        """Return whether a partition is held back and no task has it any more."""
        assigned = self._all[where]
        return not assigned.is_wanted and not assigned.is_given

    def forget(self, where: TopicPartition) -> None:
        """Stop copying a partition for good."""
        assigned = self._all.get(where)
        if assigned is None:
            return
        self.version += 1
        if assigned.is_given:
            assigned.is_wanted, assigned.is_forgotten = False, True
        else:
            del self._all[where]

    def restart(self, where: TopicPartition) -> None:
        """Let a partition go and take it on again at its position."""
        assigned = self._all[where]
        assigned.is_restarting = assigned.is_given
        self.version += 1

    def move(self, where: TopicPartition, task: int) -> None:
        """Move a partition to another task as soon as its task has let go of it."""
        self._all[where].goes_to = task
        self.version += 1

    def revoked(self, task: int, let_go: PartitionStart) -> bool:
        """Take a task's answer; returns False for one that is not expected any more."""
        assigned = self._all.get(let_go.where)
        if assigned is None or assigned.owner != task or not assigned.is_leaving:
            return False
        self._set_free(assigned, let_go)
        return True

    def lost(self, task: int) -> list[TopicPartition]:
        """Note that a task is gone; returns the partitions whose positions must be read again."""
        self.version += 1
        for assigned in self._all.values():
            if assigned.goes_to == task:
                assigned.goes_to = None
            if assigned.owner == task and assigned.is_given:
                assigned.is_lost = True
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
            assigned = self._all.get(start.where)
            if assigned is not None and assigned.is_lost:
                self._set_free(assigned, start)

    def _set_free(self, assigned: AssignedPartition, start: PartitionStart) -> None:
        self.version += 1
        if assigned.is_forgotten:
            del self._all[start.where]
            return
        assigned.before = assigned.owner
        assigned.start = assigned.again or start
        assigned.owner, assigned.goes_to, assigned.again = assigned.goes_to, None, None
        assigned.is_given = assigned.is_leaving = assigned.is_lost = assigned.is_restarting = False

    def next_commands(
        self, ready: Collection[int], expected: Collection[int], rates: Rates
    ) -> AssignmentCommands:
        """Decide what is to be said now; the caller says it.

        `ready` are tasks that listen, `expected` those that will soon: their share is kept for them.
        """
        commands = AssignmentCommands()
        for where, assigned in self._all.items():
            owner = assigned.owner
            if owner is None or not assigned.is_given or assigned.is_leaving or assigned.is_lost:
                continue
            if assigned.should_leave and owner in ready:
                assigned.is_leaving = True
                commands.remove.setdefault(owner, []).append(where)
        self._assign_free({*ready, *expected}, rates)
        for assigned in self._all.values():
            if assigned.owner in ready and not assigned.is_given and assigned.owner is not None:
                assigned.is_given = True
                commands.add.setdefault(assigned.owner, []).append(assigned.start)
        self.version += bool(commands.add or commands.remove)
        return commands

    def _assign_free(self, tasks: Collection[int], rates: Rates) -> None:
        """Find a task for every partition that has none, or whose task does not come."""
        free: dict[TopicPartition, AssignedPartition] = {}
        taken: dict[TopicPartition, int] = {}
        for where, assigned in self._all.items():
            if not assigned.is_given and (not assigned.is_wanted or assigned.owner not in tasks):
                assigned.owner = None
            if assigned.owner is not None:
                taken[where] = assigned.owner
            elif assigned.is_wanted:
                free[where] = assigned
        before = {w: h.before for w, h in free.items() if h.before is not None}
        for where, task in assign(list(free), taken, rates, tasks, before).items():
            free[where].owner = task


def start_at(start: PartitionStart, position: int, remote_end: int | None) -> PartitionStart:
    """Return a start at a position that was read from the target, where all else is noted as well."""
    return replace(
        start,
        position=position,
        remote_end=remote_end,
        leader_epoch=None,
        last_sync=None,
        untold_syncs=(),
    )
