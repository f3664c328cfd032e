"""Events of slips as columns, in the order of each slip, and what each slip is by all of its events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.tracing.slips.states import Reached
from jobs.tracing.slips.verdicts import BEHIND, path_of
from jobs.wire.rebatch.table import Int64s

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


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
    """Events ordered by slip, time, position, place and offset, and the path of each slip.

    `order`: the index of each among the events given. `starts` and `lasts`: the first and last event of each
    slip, `path` the index of its path, `type` and `last_step` codes of `types` and `steps` (-1: none).
    `known`: steps that the topics read have, beside those of the events.
    """

    def __init__(self, events: Events, known: Collection[str]) -> None:
        self.reached = found = events.reached
        listed = {text for one in found for text in (one.step, *one.done)}
        self.steps = sorted(listed.union(*(one.plan for one in found)) - {""})
        self.types = sorted({one.type for one in found})
        position = np.array([_sort_position(one) for one in found], np.int64)[events.states]
        self.order = np.lexsort((events.offsets, events.places, position, events.times, events.ids))
        self.state = events.states[self.order]
        self.times, self.offsets = events.times[self.order], events.offsets[self.order]
        self.places = events.places[self.order]
        ids = events.ids[self.order]
        self.starts = np.flatnonzero(begins(ids))
        ends = np.append(self.starts, len(ids))[1:]
        self.lasts, self.ids = ends - 1, ids[self.starts]
        codes: dict[bytes, int] = {}
        states = zip(self.starts.tolist(), ends.tolist(), strict=True)
        numbers = [codes.setdefault(self.state[a:b].tobytes(), len(codes)) for a, b in states]
        self.path = np.array(numbers, np.int64)
        read = listed | set(known)
        each = (np.frombuffer(one, np.int64).tolist() for one in codes)
        self.paths = [path_of([found[state] for state in one], read) for one in each]
        self.step_codes = {text: code for code, text in enumerate(self.steps)}
        self.type = self.column(self.types.index(one.type) for one in self.paths)
        self.last_step = self.column(self.step_codes.get(one.step, -1) for one in self.paths)
        self.is_complete = self.column(one.is_complete for one in self.paths) == 1
        self.is_failed = self.column(one.is_failed for one in self.paths) == 1
        self.is_waiting = ~(self.is_complete | self.is_failed)

    def __len__(self) -> int:
        return len(self.starts)

    def column(self, values: Iterable[int]) -> Int64s:
        """Return for each slip the value of its path."""
        found: Int64s = np.fromiter(values, np.int64, len(self.paths))[self.path]
        return found

    def rows(self, lists: Sequence[Sequence[tuple[int, ...]]], width: int) -> tuple[Int64s, Int64s]:
        """Return rows that each path has, for all slips: the slip of each, and columns."""
        sizes = np.array([len(one) for one in lists], np.int64)
        flat = np.array([row for one in lists for row in one], np.int64).reshape(-1, width)
        mine = sizes[self.path]
        chosen = places_in((np.cumsum(sizes) - sizes)[self.path], mine)
        return np.repeat(np.arange(len(self)), mine), flat[chosen].T


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
