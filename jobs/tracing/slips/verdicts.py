"""Verdicts on slips: rules that they break, and whether one that waits was read by the group of its step."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from jobs.tracing.slips.events import Bools, Slips, places_in
from jobs.wire.rebatch.table import Int64s

KINDS = ("unknown_step", "done_twice", "incomplete", "out_of_order")
UNKNOWN_STEP, DONE_TWICE, INCOMPLETE, OUT_OF_ORDER = range(4)


class Violations(NamedTuple):
    """Columns: the event of `Slips`, the index of `KINDS`, the code of the step; the oldest event first.

    A slip has each kind once for each step. `not_judged`: slips that lack a step of which nothing was read.
    """

    events: Int64s
    kinds: Int64s
    steps: Int64s
    not_judged: int


def violations(slips: Slips, cut: Bools, seen: Collection[str]) -> Violations:
    """Return what breaks a rule; `cut` slips are not judged by what they lack.

    `seen`: steps that the topics read are known to have, beside those of the events.
    """
    found: list[tuple[Int64s, int, Int64s]] = []

    def add(kind: int, events: Int64s, steps: Int64s) -> None:
        key = slips.slip[events] * (len(slips.steps) + 1) + steps
        # Of each slip and step the first event.
        firsts = np.sort(np.unique(key, return_index=True)[1])
        found.append((events[firsts], kind, steps[firsts]))

    for kind, texts in (
        (UNKNOWN_STEP, [one.step if one.is_unknown_step else "" for one in slips.reached]),
        (DONE_TWICE, [one.repeated for one in slips.reached]),
        (OUT_OF_ORDER, [one.disordered for one in slips.reached]),
    ):
        codes = [slips.step_codes.get(text, -1) for text in texts]
        steps = np.array(codes, np.int64)[slips.state]
        add(kind, events := np.flatnonzero(steps >= 0), steps[events])
    add(DONE_TWICE, again := _entered_again(slips), slips.step[again])
    lacking, missing, not_judged = _missing(slips, cut, seen)
    found.append((slips.of_complete[lacking], INCOMPLETE, missing))
    events, kinds, steps = (
        np.concatenate([np.broadcast_to(part[n], len(part[0])) for part in found]) for n in range(3)
    )
    order = np.lexsort(
        (steps, kinds, slips.offsets[events], slips.places[events], slips.times[events])
    )
    return Violations(events[order], kinds[order], steps[order], not_judged)


def _entered_again(slips: Slips) -> Int64s:
    """Return events that come to a step once more than the plan has it and than it failed before.

    A record in another topic than the first one of the step is a retry, which counts as a failure. Records
    that list the steps done are judged by their lists.
    """
    reached = slips.reached
    is_listed = np.array([one.has_done for one in reached], np.bool_)[slips.state]
    chosen = np.flatnonzero((slips.step >= 0) & ~is_listed)
    group = slips.slip[chosen] * (len(slips.steps) + 1) + slips.step[chosen]
    order = np.argsort(group, kind="stable")
    chosen, group = chosen[order], group[order]
    starts = np.searchsorted(group, group)
    topics = {text: code for code, text in enumerate({one.topic for one in reached})}
    topic = np.array([topics[one.topic] for one in reached], np.int64)[slips.state[chosen]]
    is_failure = slips.is_failure[chosen]
    entries = np.flatnonzero(~is_failure)
    firsts = np.minimum(np.searchsorted(group[entries], group), max(len(entries) - 1, 0))
    is_retry = is_failure | (topic != topic[entries[firsts]]) if len(entries) else is_failure
    retries = is_retry.astype(np.int64)
    retried = np.cumsum(retries) - retries
    retried -= retried[starts]
    allowed = [max(one.plan.count(one.step), 1) for one in reached]
    entered = np.arange(len(group)) - starts - retried
    most = np.array(allowed, np.int64)[slips.state[chosen]] + retried
    found: Int64s = chosen[~is_retry & (entered >= most)]
    return found


def _missing(slips: Slips, cut: Bools, seen: Collection[str]) -> tuple[Int64s, Int64s, int]:
    """Return complete slips that lack a step of their plan, the first one, and how many are not judged."""
    width = len(slips.steps) + 1
    complete = np.flatnonzero((slips.of_complete >= 0) & (slips.of_plan > 0) & ~cut)
    expected = _keys(slips, complete, slips.of_plan[complete], slips.plans, width)
    listed = [one.done for one in slips.reached]
    had = [
        slips.slip * width + np.where(slips.step >= 0, slips.step, width - 1),
        _keys(slips, slips.slip, slips.state, listed, width),
    ]
    lacking = expected[~np.isin(expected, np.concatenate(had))]
    known = np.zeros(width, np.bool_)
    known[slips.step[slips.step >= 0]] = True
    known[[slips.step_codes[one] for one in seen if one in slips.step_codes]] = True
    for state in np.unique(slips.state):
        known[[slips.step_codes[one] for one in listed[state]]] = True
    is_judged = known[lacking % width]
    judged = lacking[is_judged]
    owners, firsts = np.unique(judged // width, return_index=True)
    others = np.setdiff1d(lacking[~is_judged] // width, owners)
    return owners, judged[firsts] % width, len(others)


def _keys(
    slips: Slips, owners: Int64s, lists: Int64s, texts: list[tuple[str, ...]], width: int
) -> Int64s:
    """Return a number for each slip and each step of its list, in the order of the list."""
    sizes = np.array([len(one) for one in texts], np.int64)
    flat = np.array([slips.step_codes[step] for one in texts for step in one], np.int64)
    starts = np.cumsum(sizes) - sizes
    steps = flat[places_in(starts[lists], sizes[lists])]
    found: Int64s = np.repeat(owners, sizes[lists]) * width + steps
    return found


class Read(NamedTuple):
    """Whether a record was read: the verdict as a word, the group, and the offset that decides."""

    verdict: str
    group: str = ""
    committed: int | None = None


def was_read(offset: int, committed: Mapping[str, int | None] | None, group: str) -> Read:
    """Return whether the group of a step read a record.

    `committed`: offsets of groups on its partition, None for a group without one; None: they could not be
    read. `group`: that of the step, "": all groups that commit there, which have to agree.
    """
    if committed is None:
        return Read("unknown", group)
    offsets = {
        name: one for name, one in committed.items() if one is not None and group in ("", name)
    }
    if not offsets:
        return Read("no_group", group)
    names = ", ".join(sorted(offsets))
    are_past = {one > offset for one in offsets.values()}
    if len(are_past) > 1:
        return Read("unknown", names)
    return Read("read_and_lost" if True in are_past else "not_read", names, min(offsets.values()))
