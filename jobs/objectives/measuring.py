"""Steps of measured time, from what was recorded. Pure; times are Unix seconds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from jobs.objectives.objective import Step

STEP_S = 300
# Begin and end, and which share of the whole is meant (1 for all).
Weighted = tuple[float, float, float]
Interval = tuple[float, float]
# When, and the value from then on (None: not known).
Sample = tuple[float, int | None]


def step_of(at_s: float) -> int:
    """Return the begin of the step that a time is in."""
    return int(at_s // STEP_S) * STEP_S


def measure(
    start_s: int, end_s: int, known: Iterable[Interval], bad: Iterable[Weighted]
) -> list[Step]:
    """Return the steps from `start_s` (the begin of one) to `end_s`, where the last one may be cut.

    `known` are in order and do not overlap; the rest of the time is unknown, whatever is bad in it.
    """
    seen = list(known)
    known_s, bad_s = defaultdict[int, float](float), defaultdict[int, float](float)
    for begin, end in seen:
        for at, length in _by_step(max(begin, start_s), min(end, end_s)):
            known_s[at] += length
    for begin, end, share in bad:
        for known_begin, known_end in seen:
            low, high = max(begin, known_begin, start_s), min(end, known_end, end_s)
            for at, length in _by_step(low, high):
                bad_s[at] += length * share
    found = []
    for at in range(start_s, end_s, STEP_S):
        length = min(STEP_S, end_s - at)
        of_known = min(known_s[at], float(length))
        of_bad = min(bad_s[at], of_known)
        found.append(Step(at, of_known - of_bad, of_bad))
    return found


def above(
    samples: Sequence[Sample], limit: int, gap_s: float, end_s: float
) -> tuple[list[Interval], list[Weighted]]:
    """Return when a value was known, and when it was above a limit.

    A sample (in order of time) holds until the next one, for `gap_s` at most, and not after `end_s`.
    """
    known: list[Interval] = []
    bad: list[Weighted] = []
    for (at, value), (following, _) in pairwise([*samples, (end_s, None)]):
        until = min(following, at + gap_s, end_s)
        if value is None or until <= at:
            continue
        if known and known[-1][1] == at:
            known[-1] = (known[-1][0], until)
        else:
            known.append((at, until))
        if value > limit:
            bad.append((at, until, 1.0))
    return known, bad


def portions(
    oldest: int | None,
    newest: int | None,
    source: Interval,
    late_s: int,
    most: int,
) -> Iterator[tuple[int, int]]:
    """Yield from when to when is to be measured now: at the end, then one portion before the first step.

    `oldest` and `newest` are the steps that there are, the newest not after now. `source` is from when to
    when there is data, `most` how many steps are measured at once. Steps of the last
    `late_s` are measured again.
    """
    end = int(source[1])
    again = step_of(end - late_s)
    begin = max(again if newest is None else min(newest, again), step_of(source[0]))
    if begin < end:
        yield begin, min(begin + most * STEP_S, end)
    first = begin if oldest is None else min(oldest, begin)
    if step_of(source[0]) < first:
        yield max(step_of(source[0]), first - most * STEP_S), first


def _by_step(begin: float, end: float) -> Iterator[tuple[int, float]]:
    """Yield the steps that a time touches, each with how much of it."""
    at = step_of(begin)
    while begin < end and at < end:
        yield at, min(end, at + STEP_S) - max(begin, at)
        at += STEP_S
