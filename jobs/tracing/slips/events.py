"""Events of slips as columns, in the order of each slip, and what each slip is by all of its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jobs.tracing.slips.states import Reached
from jobs.wire.rebatch.table import Int64s

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
# A position behind every plan.
BEHIND = 1 << 30


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """An entry of each array for each event: the hash of its slip's id, Unix ms, the index of its topic and
    partition, its offset, and the index of what it says among `states`.
    """

    ids: Int64s
    times: Int64s
    places: Int64s
    offsets: Int64s
    states: Int64s
    reached: Sequence[Reached]

    def __len__(self) -> int:
        return len(self.ids)


class Slips:
    """Events ordered by slip, time, position, place and offset, with columns of what they say.

    `order`: the index of each among the events given. `slip`: number of its slip; `starts` and `lasts`: the
    first and last event of each slip. `step`, `type`: codes of `steps` and `types`, -1: none. `plan`: code of
    `plans`, 0: unknown. Arrays with `of_` have an entry for each slip: `of_complete` is its first event that
    completes it, -1 for none; `of_back`: whether its last step is before another one that it had. A slip has
    the type of its first event with one; `several_types` counts those with more.
    """

    def __init__(self, events: Events) -> None:
        found = events.reached
        self.reached = found
        self.steps = sorted(
            {text for one in found for text in (one.step, *one.plan, *one.done)} - {""}
        )
        self.types = sorted({one.type for one in found} - {""})
        self.plans = [(), *sorted({one.plan for one in found} - {()})]
        self.step_codes = {text: code for code, text in enumerate(self.steps)}
        position = np.array([_sort_position(one) for one in found], np.int64)[events.states]
        self.order = np.lexsort((events.offsets, events.places, position, events.times, events.ids))
        self.state = events.states[self.order]
        self.times, self.offsets = events.times[self.order], events.offsets[self.order]
        self.places = events.places[self.order]
        ids = events.ids[self.order]
        is_first = begins(ids)
        self.starts = np.flatnonzero(is_first)
        self.slip = np.cumsum(is_first) - 1
        self.lasts = np.append(self.starts[1:], len(ids)) - 1 if len(ids) else self.starts
        self.ids = ids[self.starts]
        self._describe()

    def _describe(self) -> None:
        found = self.reached
        types = {text: code for code, text in enumerate(self.types)}
        plans = {plan: code for code, plan in enumerate(self.plans)}

        def column(values: Sequence[int]) -> Any:
            return np.array(values, np.int32)[self.state]

        self.position = column([one.position for one in found])
        self.step = column([self.step_codes.get(one.step, -1) for one in found])
        self.plan = column([plans[one.plan] for one in found])
        self.is_failure = column([one.is_failure for one in found]) == 1
        self.is_complete = column([one.is_complete for one in found]) == 1
        type_ = column([types.get(one.type, -1) for one in found])
        self.of_complete = self._first(self.is_complete)
        typed = self._first(type_ >= 0)
        self.of_type = np.where(typed >= 0, type_[typed], -1).astype(np.int64)
        is_other = (type_ >= 0) & (type_ != self.of_type[self.slip])
        self.several_types = len(np.unique(self.slip[is_other]))
        planned = self._first(self.plan > 0, 1)
        self.of_plan = np.where(planned >= 0, self.plan[planned], 0)
        is_over = self.of_complete >= 0
        self.of_failed = ~is_over & self.is_failure[self.lasts]
        self.of_waiting = ~is_over & ~self.of_failed
        has_failure = self._first(self.is_failure) >= 0
        furthest = np.maximum.reduceat(self.position, self.starts) if len(self) else self.starts
        # By its times, such a slip went back: clocks, or a loop.
        self.of_back = (self.position[self.lasts] < furthest) & ~has_failure

    def __len__(self) -> int:
        return len(self.starts)

    def _first(self, wanted: Bools, step: int = -1) -> Int64s:
        """Return the first event of each slip in a mask (the last one with a step of 1), -1 for none."""
        found, chosen = np.full(len(self), -1, np.int64), np.flatnonzero(wanted)[::step]
        # Of several the last one stays.
        found[self.slip[chosen]] = chosen
        return found


def _sort_position(one: Reached) -> int:
    return BEHIND if one.is_complete and not one.step else one.position


def begins(*columns: Int64s) -> Bools:
    """Return which rows begin a run of equal ones."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = np.any([one[1:] != one[:-1] for one in columns], axis=0)
    return found


def places_in(starts: Int64s, sizes: Int64s) -> Int64s:
    """Return all indices of slices, one slice behind the other."""
    ends = np.cumsum(sizes)
    shifts = np.repeat(starts - (ends - sizes), sizes)
    found: Int64s = shifts + np.arange(len(shifts))
    return found
