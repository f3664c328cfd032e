"""The section of objectives in reports: what was achieved in the period, and what it took of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.numbers import format_span_s
from jobs.objectives.objective import Window
from jobs.reports.document import Block, Section, Verdict
from jobs.reports.kinds.columns import Column, Layout
from jobs.reports.kinds.kind import worst_first
from jobs.reports.values import ValueType, text_of
from jobs.severity import Severity

MOST_VERDICTS = 10
# Shorter times without a measurement are in the table only, not in sentences.
_GAP_S = 600
# Shares are quotients: one that equals the target may be a float just below it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ObjectiveResult:
    """An objective of a flow or cluster; `target` is a share below 1, `window` the whole period."""

    subject: str
    name: str
    target: float
    window: Window
    href: str = ""

    @property
    def budget_ms(self) -> int:
        return round((1 - self.target) * self.window.window_s * 1000)

    @property
    def spent_ms(self) -> int | None:
        """Bad time; None: nothing was measured."""
        return round(self.window.bad_s * 1000) if self.window.known_s else None

    @property
    def verdict(self) -> tuple[Severity, str]:
        """How it came out: missed when more than the budget of the whole period is spent.

        Not known when it was measured in less than half of the period, or missed in what was measured of it.
        """
        achieved, spent = self.window.achieved, self.spent_ms
        if achieved is None or spent is None:
            return Severity.UNKNOWN, "Not measured"
        if spent > self.budget_ms:
            return Severity.CRITICAL, "Missed"
        is_half = self.window.known_s < self.window.window_s / 2
        if is_half or achieved < self.target - _ROUNDING:
            return Severity.UNKNOWN, "Partly measured"
        return Severity.HEALTHY, "Met"

    @property
    def sentence(self) -> str:
        what = f"{self.subject}, {self.name}: "
        if self.window.achieved is None:
            return f"{what}not measured in this period."
        achieved, target = (
            text_of(one, ValueType.AVAILABILITY) for one in (self.window.achieved, self.target)
        )
        spent, budget = format_span_s(self.window.bad_s), format_span_s(self.budget_ms / 1000)
        text = f"{what}{achieved} of the measured time, target {target}. "
        text += f"{spent} of the error budget of {budget} spent."
        missing = self.window.not_measured_s
        return f"{text} {format_span_s(missing)} not measured." if missing > _GAP_S else text


_TYPE = ValueType
_COLUMNS = (
    Column("objective", "Objective", of="name"),
    Column("target", "Target", _TYPE.AVAILABILITY),
    Column("achieved", "Achieved", _TYPE.AVAILABILITY, "Of the measured time.", "window.achieved"),
    Column("budget", "Error budget", _TYPE.DURATION_MS, "Of the whole period.", "budget_ms"),
    Column("spent", "Spent", _TYPE.DURATION_MS, "Time in which it was not met.", "spent_ms"),
    Column(
        "not_measured",
        "Not measured",
        _TYPE.DURATION_MS,
        "Neither good nor bad.",
        lambda one: round(one.window.not_measured_s * 1000),
    ),
    Column("verdict", "Verdict", of=lambda one: one.verdict[1]),
)


def objectives_sections(results: Sequence[ObjectiveResult], noun: str) -> tuple[Section, ...]:
    """Return the section, none without an objective; `noun` is what they are of: flow or cluster."""
    if not results:
        return ()
    rows = sorted(results, key=lambda one: (one.subject, one.name))
    verdicts = worst_first(Verdict(*one.verdict, one.sentence, one.href) for one in rows)
    subject = Column("subject", noun.capitalize())
    layout = Layout("objectives", "Objectives", (subject, *_COLUMNS))
    blocks: tuple[Block, ...] = (*verdicts[:MOST_VERDICTS], layout.fill(rows))
    # What was measured differs from one to the next: each row says it.
    return (Section("objectives", "Objectives", None, None, blocks, is_of_period=False),)
