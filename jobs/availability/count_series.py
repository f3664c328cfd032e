"""How many stretches held at once, as a series of steps: each step tells its worst moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobs.availability.severity import Severity


@dataclass(frozen=True, slots=True)
class Held:
    """A severity from `start` to before `end`, in seconds since 1970; `end` None: it goes on."""

    severity: Severity
    start: float
    end: float | None = None


def peak_counts(
    stretches: Iterable[Held], start: int, end: int, step: int
) -> list[dict[Severity, int]]:
    """Return for each step from `start` to before `end` the most partitions at once on each severity.

    Of stretches that lasted no time at all (one record undid another with the same time) each counts for its
    moment. Severities that no partition had are absent.
    """
    steps: list[dict[Severity, int]] = [{} for _ in range(start, end, step)]
    now: dict[Severity, int] = {}
    reached = 0
    for at, change, severity in sorted(_events(stretches, start, end)):
        place = min(int((at - start) // step), len(steps) - 1)
        # What ends as a step begins was never there in it.
        is_over = change == _END and at == start + place * step
        while reached < place - is_over:
            reached += 1
            steps[reached] = {one: count for one, count in now.items() if count}
        now[severity] = now.get(severity, 0) + (1 if change == _BEGIN else -1)
        if now[severity] > steps[place].get(severity, 0):
            steps[place][severity] = now[severity]
    for place in range(reached + 1, len(steps)):
        steps[place] = {one: count for one, count in now.items() if count}
    return steps


# At one moment: first what ends, then what begins, then what ends as soon as it began.
_END, _BEGIN, _END_AT_ONCE = 0, 1, 2


def _events(
    stretches: Iterable[Held], start: int, end: int
) -> Iterator[tuple[float, int, Severity]]:
    for one in stretches:
        began, ended = max(one.start, start), one.end
        if began >= end or (ended is not None and (ended < start or ended <= start != one.start)):
            continue
        yield began, _BEGIN, one.severity
        if ended is not None and ended < end:
            yield ended, _END if ended > began else _END_AT_ONCE, one.severity
