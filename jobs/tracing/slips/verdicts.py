"""Verdicts on slips: what the path of one says, and whether the group of its step read a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from jobs.tracing.slips.states import Reached

KINDS = ("unknown_step", "done_twice", "incomplete", "out_of_order")
UNKNOWN_STEP, DONE_TWICE, INCOMPLETE, OUT_OF_ORDER = range(4)
# A position behind every plan.
BEHIND = 1 << 30


class Stay(NamedTuple):
    """A step, its position (-1: unknown), its first event and the one that ends it (-1: none is known to)."""

    step: str
    position: int
    event: int
    end: int


class Path(NamedTuple):
    """What the events of a slip say, in their order; many slips have the same path. Events are numbers.

    `type`: the first one. `is_failed`: the newest event is a failure. `is_back`: it is before a step that the
    slip had, by clocks or in a loop. `broken`: event, index of `KINDS` and step, each kind once for a step.
    `is_unsure`: complete, and lacks steps of which nothing was read.
    """

    type: str
    has_types: bool
    step: str
    is_complete: bool
    is_failed: bool
    is_back: bool
    is_from_start: bool
    stays: Sequence[Stay]
    broken: Sequence[tuple[int, int, str]]
    is_unsure: bool


def path_of(states: Sequence[Reached], known: Collection[str]) -> Path:
    """Return what states in their order say; `known`: steps of which something was read, of any slip."""
    last, types = states[-1], list(dict.fromkeys(one.type for one in states if one.type))
    over = next((n for n, one in enumerate(states) if one.is_complete), -1)
    plan = next((one.plan for one in reversed(states) if one.plan), ())
    had = {step for one in states for step in (one.step, *one.done)}
    lacking = [step for step in plan if over >= 0 and step not in had]
    missing = [(over, INCOMPLETE, step) for step in lacking if step in known][:1]
    furthest = max(one.position for one in states)
    return Path(
        type=types[0] if types else "",
        has_types=len(types) > 1,
        step=last.step,
        is_complete=over >= 0,
        is_failed=over < 0 and last.is_failure,
        is_back=last.position < furthest and not any(one.is_failure for one in states),
        is_from_start=states[0].position == 0,
        stays=_stays(states, over, plan),
        broken=[*_broken(states), *missing],
        is_unsure=bool(lacking and not missing),
    )


def _stays(states: Sequence[Reached], over: int, plan: Sequence[str]) -> list[Stay]:
    """Return the stays in the order of the plan, those at steps of no plan behind them."""
    firsts: dict[str, int] = {}
    for n, one in enumerate(states):
        if one.step and not one.is_failure:
            firsts.setdefault(one.step, n)
    found = [Stay(step, states[n].position, n, -1) for step, n in firsts.items()]
    found.sort(key=lambda one: (one.position if one.position >= 0 else BEHIND, one.event))
    ends = [*found]
    if over >= 0 and over not in firsts.values():
        ends.append(Stay("", len(plan) or -1, over, -1))
    for n, (stay, after) in enumerate(pairwise(ends)):
        if after.position == (stay.position + 1 if stay.position >= 0 else -1):
            found[n] = stay._replace(end=after.event)
    return found


def _broken(states: Sequence[Reached]) -> list[tuple[int, int, str]]:
    """Return rules that are broken.

    A step is done twice when a slip comes to it once more than the plan has it and than it failed before. A
    record in another topic than the first one of the step is a retry, which counts as a failure. Records that
    list the steps done are judged by their lists.
    """
    found: dict[tuple[int, str], int] = {}
    topics: dict[str, str] = {}
    retried, entered = Counter[str](), Counter[str]()
    for n, one in enumerate(states):
        step, is_again = one.step, False
        if step and not one.has_done:
            if one.is_failure or topics.setdefault(step, one.topic) != one.topic:
                retried[step] += 1
            else:
                is_again = entered[step] >= max(one.plan.count(step), 1) + retried[step]
                entered[step] += 1
        for kind, where in (
            (UNKNOWN_STEP, step if one.is_unknown_step else ""),
            (DONE_TWICE, step if is_again else one.repeated),
            (OUT_OF_ORDER, one.disordered),
        ):
            if where:
                found.setdefault((kind, where), n)
    return [(n, kind, step) for (kind, step), n in found.items()]


class Read(NamedTuple):
    """Whether a record was read: the verdict as a word, the group, and the offset that decides."""

    verdict: str
    group: str | None = None
    committed: int | None = None


def was_read(offset: int, committed: Mapping[str, int | None] | None, group: str) -> Read:
    """Return whether the group of a step read a record.

    `committed`: offsets of groups on its partition, None for a group without one; None: they could not be
    read. `group`: that of the step, "": all groups that commit there, which have to agree.
    """
    offsets = {
        name: one
        for name, one in (committed or {}).items()
        if one is not None and group in ("", name)
    }
    names = ", ".join(sorted(offsets)) or group or None
    are_past = {one > offset for one in offsets.values()}
    if committed is None or len(are_past) > 1:
        return Read("unknown", names)
    if not offsets:
        return Read("no_group", names)
    return Read("read_and_lost" if True in are_past else "not_read", names, min(offsets.values()))
