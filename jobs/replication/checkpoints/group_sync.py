"""Offsets of groups on the target, set to where the same groups are on the source while they have no members
there.

Source: `sync.group.offsets` of MirrorCheckpointTask (KIP-545), without what it does wrong: a group whose
state or offsets could not be read is skipped; what is written was read again right before; and a group
that goes back on the source is followed, as long as what the target has is what was written here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from jobs.cluster.descriptions import CommittedOffset, GroupDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.checkpoints.topic import GroupPartition

IDLE = frozenset({"Empty", "Dead"})
MOST_TOLD = 20
AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """Functions for the groups of the target; each may raise `ClusterFault`.

    `describe` returns every group, with `error` where that failed, Dead where there is none. `committed`
    lacks groups that could not be read. `alter` returns why not, per partition.
    """

    describe: Callable[[Collection[str]], Mapping[str, GroupDescription]]
    committed: Callable[[Collection[str]], Mapping[str, Mapping[TopicPartition, CommittedOffset]]]
    alter: Callable[
        [str, Mapping[TopicPartition, CommittedOffset]], Mapping[TopicPartition, str | None]
    ]


@dataclass(slots=True)
class GroupSyncReport:
    """What came of one sync: counts, `errors` by group, and a sentence by group about those that are ahead
    of what they have read on the source.
    """

    groups: int = 0
    active: int = 0
    written: int = 0
    moved_back: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    ahead: dict[str, str] = field(default_factory=dict)


def may_write(current: CommittedOffset | None, wanted: int, ours: Collection[int]) -> bool:
    """Return whether a target group's offset is to be set.

    It is when there is none, or it is lower; and when it is higher only if it is one of `ours`: offsets that
    were written here, so that no consumer has read beyond them on the target. Unknown is not absent.
    """
    if current is None:
        return True
    if current.error is not None:
        return False
    if current.offset is None or current.offset < wanted:
        return True
    return current.offset > wanted and current.offset in ours


class GroupSync:
    """Syncs groups round by round; remembers what it wrote."""

    def __init__(self, target: TargetGroups) -> None:
        self._target = target
        self._written: dict[GroupPartition, int] = {}

    def sync(
        self,
        wanted: Mapping[str, Mapping[TopicPartition, CommittedOffset]],
        told_before: Mapping[GroupPartition, int],
    ) -> GroupSyncReport:
        """Set offsets of groups without members; raises `ClusterFault` when the target does not answer.

        `wanted` are target offsets by group, `told_before` the last checkpoints before this round's: another
        driver may have written them to the groups.
        """
        report = GroupSyncReport(groups=len(wanted))
        changes = list(self._changes(wanted, told_before, report))
        # Asked again right before: the first answers are as old as all groups together take.
        for at in range(0, len(changes), AT_ONCE):
            few = {group: wanted[group] for group in changes[at : at + AT_ONCE]}
            for group, fresh in self._changes(few, told_before, GroupSyncReport()).items():
                self._write(group, fresh, report)
        return report

    def _changes(
        self,
        wanted: Mapping[str, Mapping[TopicPartition, CommittedOffset]],
        told_before: Mapping[GroupPartition, int],
        report: GroupSyncReport,
    ) -> dict[str, dict[TopicPartition, tuple[CommittedOffset, int | None]]]:
        """Return what is to be written by group, each with the offset that is there now."""
        idle = self._idle(wanted, report)
        committed = self._target.committed(idle) if idle else {}
        changes: dict[str, dict[TopicPartition, tuple[CommittedOffset, int | None]]] = {}
        for group in idle:
            if group not in committed:
                report.errors[group] = "Its offsets on the target could not be read."
                continue
            ahead: dict[TopicPartition, tuple[int, int]] = {}
            for where, offset in wanted[group].items():
                current = committed[group].get(where)
                key = GroupPartition(group, where)
                ours = {o for o in (self._written.get(key), told_before.get(key)) if o is not None}
                if may_write(current, offset.offset or 0, ours):
                    here = None if current is None else current.offset
                    changes.setdefault(group, {})[where] = (offset, here)
                elif (offsets := _ahead_of(current, offset)) is not None:
                    ahead[where] = offsets
            if ahead:
                report.ahead[group] = _ahead_text(group, ahead)
        return changes

    def _idle(self, ids: Collection[str], report: GroupSyncReport) -> list[str]:
        found = []
        for group, description in self._target.describe(ids).items():
            if description.error is not None:
                report.errors[group] = description.error
            elif description.state in IDLE and not description.member_count:
                found.append(group)
            else:
                report.active += 1
        return found

    def _write(
        self,
        group: str,
        changes: Mapping[TopicPartition, tuple[CommittedOffset, int | None]],
        report: GroupSyncReport,
    ) -> None:
        try:
            answers = self._target.alter(group, {w: offset for w, (offset, _) in changes.items()})
        except ClusterFault as fault:
            report.errors[group] = fault.message
            return
        for where, (offset, before) in changes.items():
            error = answers.get(where, "There is no answer about it.")
            if error is not None:
                report.errors[group] = f"{where}: {error}"
                continue
            report.written += 1
            report.moved_back += before is not None and before > (offset.offset or 0)
            self._written[GroupPartition(group, where)] = offset.offset or 0


def _ahead_of(current: CommittedOffset | None, wanted: CommittedOffset) -> tuple[int, int] | None:
    """Return the offset there is and the one that is wanted, where the first one is higher."""
    if current is None or current.offset is None or wanted.offset is None:
        return None
    return (current.offset, wanted.offset) if current.offset > wanted.offset else None


def _ahead_text(group: str, ahead: Mapping[TopicPartition, tuple[int, int]]) -> str:
    where, (there, wanted) = max(ahead.items(), key=lambda one: one[1][0] - one[1][1])
    count = f"{len(ahead)} partition" + ("s" if len(ahead) > 1 else "")
    return (
        f"Group {group} is ahead on the target at {count}: its offset of {where} is {there}, what it has "
        f"read on the source ends at {wanted} there. It was used on the target, or its offsets were set by "
        "hand: they are not changed. If neither was on purpose, fail it over with a plan, which sets them."
    )
