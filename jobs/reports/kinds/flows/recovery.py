"""What the disaster recovery report is built from, judged flow by flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.reports.kinds.flows.copy_audits import CopyAudits
from jobs.reports.kinds.flows.readiness import (
    Answers,
    Exposure,
    Reason,
    State,
    Stretch,
    longest_not_ready,
    share_ready,
    state_at_end,
    stretches,
)
from jobs.reports.kinds.flows.sampling import Interval
from jobs.reports.kinds.kind import WORST_FIRST
from jobs.reports.kinds.objectives import ObjectiveResult
from jobs.reports.periods import Period
from jobs.reports.values import within
from jobs.severity import Severity

MOST_ROWS = 2000
NOT_RECORDED = "Not recorded."
READY = "Share of the time with the answer Ready; times without an answer or a sample do not count."
AT_RISK = "Records of the source that the target does not have."
AT_RISK_MS = (
    "Timestamp of the newest source record minus timestamp of the newest replicated record."
)
REREAD = "Records read again at most when groups resume at their own offset on the target or the checkpoint."
CAUSE = (
    "The reason of the answer where it still holds; reasons of earlier answers are not recorded, so the "
    "finding is named that was open then."
)


@dataclass(frozen=True, slots=True)
class Exercise:
    """A dry run, failover or roll back of a plan; `bad` of `groups` groups were not done."""

    at: datetime
    ended_at: datetime | None
    flow: str
    plan: str
    kind: str
    direction: str
    result: str
    person: str
    groups: int
    bad: int
    error: str
    href: str


@dataclass(frozen=True, slots=True)
class Risk:
    """A blocking condition of a failover at the end of the period, open since `since`."""

    flow: str
    level: Severity
    word: str
    subject: str
    sentence: str
    todo: str
    since: datetime
    href: str


@dataclass(frozen=True, slots=True)
class ApplicationAnswer:
    """Whether a Kafka Streams application could resume on the target with its state, as of the report."""

    flow: str
    application_id: str
    word: str
    level: Severity
    why: str
    todo: str
    href: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """When checkpoints and offset syncs of a flow were last written and read, as of the report."""

    newest_checkpoint_at: datetime | None = None
    checkpoints_read_at: datetime | None = None
    syncs_read_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FlowRecovery:
    """A flow: its answers, those for its groups, and `reasons`: findings that were open in the period.

    `since` is when the flow was created, `gaps` are the parts of the period without samples, sorted.
    """

    answers: Answers
    since: datetime
    groups: tuple[Answers, ...] = ()
    gaps: tuple[Interval, ...] = ()
    reasons: tuple[Reason, ...] = ()
    fresh: Freshness = field(default_factory=Freshness)


@dataclass(frozen=True, slots=True)
class DisasterRecoveryRecorded:
    """What was recorded of a period; `findings_from` is since when ended findings are still kept."""

    period: Period
    findings_from: datetime | None = None
    flows: tuple[FlowRecovery, ...] = ()
    exercises: tuple[Exercise, ...] = ()
    risks: tuple[Risk, ...] = ()
    objectives: tuple[ObjectiveResult, ...] = ()
    audits: CopyAudits = field(default_factory=CopyAudits)
    applications: tuple[ApplicationAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A flow or a group over a period; `share` None: there was no answer. `href` is `page` at the period."""

    flow: str
    group: str
    page: str
    href: str
    stretches: Sequence[Stretch]
    share: float | None
    longest: Interval | None
    cause: str
    at_end: State | None
    why_at_end: str
    exposure: Exposure
    groups: tuple[Judged, ...] = ()

    @property
    def name(self) -> str:
        """The group, or else the flow."""
        return self.group or self.flow

    @property
    def is_always_ready(self) -> bool:
        """Whether the answer was Ready whenever there was one."""
        return self.share == 1

    def order(self) -> tuple[Any, ...]:
        """Return the key that sorts the worst first."""
        place = self.at_end.place if self.at_end else WORST_FIRST.index(Severity.WARNING)
        share = 2.0 if self.share is None else self.share
        return (place, share, self.flow, self.group)


def judge(recorded: DisasterRecoveryRecorded) -> list[Judged]:
    """Return the flows of a period, the worst first, each with its groups."""
    found = [
        _judged(
            one.answers,
            recorded.period,
            one,
            tuple(_judged(group, recorded.period, one) for group in one.groups),
        )
        for one in recorded.flows
    ]
    return sorted(found, key=Judged.order)


def cause_of(longest: Interval | None, holds: Reason | None, reasons: Sequence[Reason]) -> str:
    """Return why it was not ready for the longest time, as far as that is recorded; empty when it was."""
    if longest is None:
        return ""
    if holds is not None and longest.start <= holds.start < longest.end:
        return holds.sentence
    open_then = [
        one
        for one in reasons
        if one.start < longest.end and (one.end is None or one.end > longest.start)
    ]
    if not open_then:
        return NOT_RECORDED
    worst = min(open_then, key=lambda one: (-one.rank, one.start, one.sentence))
    rest = len(open_then) - 1
    more = f" ({rest} more findings)" if rest else ""
    return f"Not recorded. Open then: {worst.sentence}{more}"


def _judged(
    answers: Answers, period: Period, flow: FlowRecovery, groups: tuple[Judged, ...] = ()
) -> Judged:
    found = stretches(answers, period, flow.gaps)
    longest, at_end = longest_not_ready(found), state_at_end(found, period)
    holds = answers.holds if answers.holds and answers.holds.start < period.end else None
    is_bad = at_end is not None and not at_end.is_ready
    return Judged(
        flow=answers.flow,
        group=answers.group,
        page=answers.href,
        href=within(answers.href, period.start, period.end),
        stretches=found,
        share=share_ready(found),
        longest=longest,
        cause=cause_of(longest, holds, flow.reasons),
        at_end=at_end,
        why_at_end=(holds.sentence if holds else NOT_RECORDED) if is_bad else "",
        exposure=answers.exposure,
        groups=groups,
    )
