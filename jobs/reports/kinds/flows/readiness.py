"""What is recorded of the readiness of flows and groups, and rules over its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.reports.document import Series
from jobs.reports.kinds.flows.sampling import Interval, without
from jobs.reports.kinds.kind import WORST_FIRST
from jobs.reports.periods import Period
from jobs.reports.values import stamp
from jobs.severity import Severity

# More parts of a lane than these cannot be seen: it is drawn by steps, each the worst of its time.
MOST_PARTS = 200
_PARTS_PER_ONE = 10**6
_NOTHING, _LEAST = timedelta(0), timedelta.resolution


@dataclass(frozen=True, slots=True)
class State:
    """A readiness in the words of the console; `counts`: whether it is ready or not (else not covered)."""

    word: str
    level: Severity
    is_ready: bool
    counts: bool = True

    @property
    def place(self) -> int:
        """The place in the order, worst first."""
        return WORST_FIRST.index(self.level) if self.counts else len(WORST_FIRST)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time during which the readiness stayed the same."""

    interval: Interval
    state: State


@dataclass(frozen=True, slots=True)
class Worst:
    """The highest value of the samples and the begin of its step; None: not known."""

    value: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a failover would lose (`rpo`) and reread: of the last sample of the period and at worst.

    `reread` is the upper bound, None where nothing bounds it. `age_ms` is that of the oldest checkpoint that
    its group has left behind. `at` is the begin of the last sample's step.
    """

    at: datetime | None = None
    rpo_records: int | None = None
    rpo_ms: int | None = None
    reread: int | None = None
    age_ms: int | None = None
    worst_rpo_records: Worst = Worst()
    worst_rpo_ms: Worst = Worst()
    worst_reread: Worst = Worst()
    worst_age_ms: Worst = Worst()


@dataclass(frozen=True, slots=True)
class Reason:
    """A blocking condition of a failover: from `start` to `end`, None where it is open."""

    start: datetime
    end: datetime | None
    sentence: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers for a flow (`group` empty) or a group.

    `changes` are the moments at which the readiness became another one, oldest first, the one that held
    when the period began included. `holds` is the reason of the answer that holds when the report is made.
    """

    flow: str
    group: str
    href: str
    changes: Sequence[tuple[datetime, State]] = ()
    exposure: Exposure = field(default_factory=Exposure)
    holds: Reason | None = None


def stretches(answers: Answers, period: Period, gaps: Sequence[Interval]) -> list[Stretch]:
    """Return the readiness over a period, without gaps; before the first change there was no answer."""
    found = []
    moments = [at for at, _ in answers.changes]
    for (at, state), until in zip(answers.changes, [*moments[1:], period.end], strict=False):
        begin, end = max(at, period.start), min(until, period.end)
        if begin < end:
            found += [Stretch(one, state) for one in without(Interval(begin, end), gaps)]
    return found


def share_ready(found: Sequence[Stretch]) -> float | None:
    """Return the share of the time ready, never rounded up; None when no time counts."""
    counted = [one for one in found if one.state.counts]
    total = sum((one.interval.span for one in counted), _NOTHING)
    good = sum((one.interval.span for one in counted if one.state.is_ready), _NOTHING)
    return good * _PARTS_PER_ONE // total / _PARTS_PER_ONE if total else None


def longest_not_ready(found: Sequence[Stretch]) -> Interval | None:
    """Return the longest time in a row that was not ready, the first of equal ones; None: there is none."""
    rows: list[Interval] = []
    for one in found:
        if one.state.is_ready or not one.state.counts:
            continue
        if rows and rows[-1].end == one.interval.start:
            rows[-1] = Interval(rows[-1].start, one.interval.end)
        else:
            rows.append(one.interval)
    return max(rows, key=lambda row: row.span, default=None)


def state_at_end(found: Sequence[Stretch], period: Period) -> State | None:
    """Return the readiness when the period ended; None when there was no answer then."""
    return found[-1].state if found and found[-1].interval.end == period.end else None


def lane(label: str, found: Sequence[Stretch], period: Period) -> Series:
    """Return the readiness as a lane of a chart."""
    parts = _merged(found) if len(found) <= MOST_PARTS else _by_steps(found, period)
    return Series(
        label,
        tuple(stamp(one.interval.start) or "" for one in parts),
        tuple(one.state.word for one in parts),
        tuple(stamp(one.interval.end) or "" for one in parts),
        tuple(one.state.level for one in parts),
    )


def _merged(found: Sequence[Stretch]) -> list[Stretch]:
    rows: list[Stretch] = []
    for one in found:
        if rows and rows[-1].interval.end == one.interval.start and rows[-1].state == one.state:
            rows[-1] = Stretch(Interval(rows[-1].interval.start, one.interval.end), one.state)
        else:
            rows.append(one)
    return rows


def _by_steps(found: Sequence[Stretch], period: Period) -> list[Stretch]:
    step = period.span / MOST_PARTS
    worst: dict[int, State] = {}
    for one in found:
        first = (one.interval.start - period.start) // step
        last = (one.interval.end - period.start - _LEAST) // step
        for number in range(first, last + 1):
            held = worst.get(number)
            if held is None or one.state.place < held.place:
                worst[number] = one.state
    return _merged(
        [
            Stretch(Interval(period.start + n * step, period.start + (n + 1) * step), worst[n])
            for n in sorted(worst)
        ]
    )
