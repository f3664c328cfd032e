"""Set, check and roll back the offsets of one group, so that doing it twice does no harm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, GroupDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.failover.model import GroupPlan, counted

Offsets = Mapping[TopicPartition, CommittedOffset]
Problems = Mapping[TopicPartition, str | None]
NO_COMMIT = CommittedOffset(None)
_INACTIVE = frozenset({"Empty", "Dead", "Unknown", ""})
_FEW = 5


@dataclass(frozen=True, slots=True)
class DestinationGroups:
    """Functions for the groups of the destination; each may raise `ClusterFault`.

    `committed` returns {} for a group without offsets. `alter` and `delete` return why not per partition,
    None where it is done.
    """

    describe: Callable[[str], GroupDescription]
    committed: Callable[[str], Offsets]
    alter: Callable[[str, Offsets], Problems]
    delete: Callable[[str, Collection[TopicPartition]], Problems]


class OutcomeState(StrEnum):
    """How it went with a group; `refused`: nothing was changed, `failed`: maybe something was."""

    APPLIED = "applied"
    REHEARSED = "rehearsed"
    UNDONE = "undone"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """One partition: what it was, what was wanted and what is there now; None for no commit."""

    where: TopicPartition
    before: int | None
    wanted: int | None
    after: int | None
    error: str = ""

    def to_mapping(self) -> dict[str, Any]:
        return {
            "topic": self.where.topic,
            "partition": self.where.partition,
            "before": self.before,
            "wanted": self.wanted,
            "after": self.after,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """How it went with one group."""

    group: str
    state: OutcomeState
    message: str
    items: tuple[ItemOutcome, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "state": self.state.value,
            "message": self.message,
            "items": [one.to_mapping() for one in self.items],
        }


def apply_group(
    groups: DestinationGroups,
    plan: GroupPlan,
    stored: Offsets | None,
    store: Callable[[Offsets], None],
    *,
    rehearse: bool = False,
) -> GroupOutcome:
    """Set the planned offsets of a group and read them back.

    `stored` are the offsets that it had before an earlier try, None at the first one: then `store` is given
    what it has now, before anything is changed. What was set already is not set again. With `rehearse`
    everything is queried and nothing is stored or changed. Never raises `ClusterFault`: it is in the outcome.
    """
    wanted = {
        one.destination: CommittedOffset(one.target, one.metadata)
        for one in plan.to_be_set
        if one.destination
    }
    try:
        now = groups.committed(plan.group)
        refusal = _refusal(groups, plan, now, is_first=stored is None)
        if refusal:
            return GroupOutcome(plan.group, OutcomeState.REFUSED, refusal)
        if rehearse:
            return _rehearsed(plan.group, now, wanted)
        before = stored if stored is not None else _only(now, wanted)
        if stored is None:
            store(before)
        return _set(groups, plan.group, before, wanted, _differing(now, wanted))
    except ClusterFault as fault:
        text = f"{fault} {fault.hint}"
        return GroupOutcome(plan.group, OutcomeState.FAILED, text)


def undo_group(
    groups: DestinationGroups,
    group: str,
    before: Offsets,
    written: Offsets,
    *,
    even_if_moved: bool = False,
) -> GroupOutcome:
    """Give a group the offsets back that it had before, and take away those that it did not have.

    Refused when the group has committed since, unless `even_if_moved`; partitions that have their old offset
    already are unchanged.
    """
    try:
        now = groups.committed(group)
        moved = [
            w for w in before if _offset(now, w) not in {_offset(before, w), _offset(written, w)}
        ]
        if moved and not even_if_moved:
            text = _moved_on(group, now, written, moved)
            return GroupOutcome(group, OutcomeState.REFUSED, text)
        described = groups.describe(group)
        if _is_active(described):
            text = _active(group, described)
            return GroupOutcome(group, OutcomeState.REFUSED, text)
        return _give_back(groups, group, now, before)
    except ClusterFault as fault:
        return GroupOutcome(group, OutcomeState.FAILED, f"{fault} {fault.hint}")


def _refusal(groups: DestinationGroups, plan: GroupPlan, now: Offsets, *, is_first: bool) -> str:
    described = groups.describe(plan.group)
    if _is_active(described):
        return _active(plan.group, described)
    if not is_first:
        return ""
    moved = [
        f"{one.destination} from {_shown(one.before)} to {_shown(_offset(now, one.destination))}"
        for one in plan.to_be_set
        if one.destination and _offset(now, one.destination) != one.before
    ]
    if moved:
        return f"{plan.group} has moved since the plan was made: {', '.join(moved[:_FEW])}."
    return "" if plan.to_be_set else f"There is nothing to be set for {plan.group}."


def _is_active(described: GroupDescription) -> bool:
    return bool(described.member_count) or (
        not described.error and described.state not in _INACTIVE
    )


def _active(group: str, described: GroupDescription) -> str:
    members = described.member_count or 0
    return (
        f"{group} is active there (state {described.state}, {members} members): stop its consumers, "
        "then try again."
    )


def _moved_on(group: str, now: Offsets, written: Offsets, moved: Collection[TopicPartition]) -> str:
    told = [
        f"{where} from {_shown(_offset(written, where))} to {_shown(_offset(now, where))}"
        for where in sorted(moved)[:_FEW]
    ]
    return (
        f"{group} has moved on since: {', '.join(told)}. A roll back would reprocess "
        "these records or skip them; confirm it to roll back all the same."
    )


def _rehearsed(group: str, now: Offsets, wanted: Offsets) -> GroupOutcome:
    items = [
        ItemOutcome(where, _offset(now, where), one.offset, _offset(now, where))
        for where, one in sorted(wanted.items())
    ]
    text = f"{counted(len(items), 'offset')} would be set; nothing was changed."
    return GroupOutcome(group, OutcomeState.REHEARSED, text, tuple(items))


def _set(
    groups: DestinationGroups, group: str, before: Offsets, wanted: Offsets, missing: Offsets
) -> GroupOutcome:
    errors = dict(groups.alter(group, missing)) if missing else {}
    items = _verified(groups, group, before, wanted, errors)
    return _judged(group, items, OutcomeState.APPLIED, "set and read back")


def _give_back(
    groups: DestinationGroups, group: str, now: Offsets, before: Offsets
) -> GroupOutcome:
    to_set = _differing(now, {w: one for w, one in before.items() if one.offset is not None})
    to_delete = [
        w for w, one in before.items() if one.offset is None and _offset(now, w) is not None
    ]
    errors = dict(groups.alter(group, to_set)) if to_set else {}
    errors |= dict(groups.delete(group, to_delete)) if to_delete else {}
    items = _verified(groups, group, now, before, errors)
    return _judged(group, items, OutcomeState.UNDONE, "as before")


def _verified(
    groups: DestinationGroups, group: str, before: Offsets, wanted: Offsets, errors: Problems
) -> list[ItemOutcome]:
    """Read back what is there now and compare it with what was wanted."""
    there = groups.committed(group)
    found = []
    for where, one in sorted(wanted.items()):
        after, error = _offset(there, where), errors.get(where) or ""
        if after != one.offset and not error:
            error = f"It was set to {_shown(one.offset)}, and {_shown(after)} was read back."
        found.append(ItemOutcome(where, _offset(before, where), one.offset, after, error))
    return [replace(one, error="") if one.after == one.wanted else one for one in found]


def _judged(
    group: str, items: Iterable[ItemOutcome], done: OutcomeState, words: str
) -> GroupOutcome:
    listed = tuple(items)
    wrong = [one for one in listed if one.error]
    if not wrong:
        return GroupOutcome(group, done, f"{counted(len(listed), 'offset')} {words}.", listed)
    first = f"{wrong[0].where}: {wrong[0].error}"
    text = f"{len(wrong)} of {len(listed)} partitions could not be done. {first}"
    return GroupOutcome(group, OutcomeState.FAILED, text, listed)


def _differing(now: Offsets, wanted: Offsets) -> dict[TopicPartition, CommittedOffset]:
    return {where: one for where, one in wanted.items() if _offset(now, where) != one.offset}


def _only(now: Offsets, wanted: Offsets) -> dict[TopicPartition, CommittedOffset]:
    return {where: now.get(where, NO_COMMIT) for where in wanted}


def _offset(offsets: Offsets, where: TopicPartition) -> int | None:
    return offsets.get(where, NO_COMMIT).offset


def _shown(offset: int | None) -> str:
    return "no commit" if offset is None else str(offset)
