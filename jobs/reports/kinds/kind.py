"""What a kind of report says of itself. What it is built from, the console reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from jobs.numbers import format_count
from jobs.reports.document import Section, Table, Verdict
from jobs.reports.kinds.columns import Column, Layout
from jobs.reports.values import ValueType
from jobs.severity import Severity


class SubjectNoun(StrEnum):
    """What a report is about; NONE: about crosslog itself."""

    FLOW = "flow"
    CLUSTER = "cluster"
    NONE = ""


@dataclass(frozen=True, slots=True)
class ReportKind:
    """A kind: `summary` says what its reader learns. `for_admins`: only with the role admin everywhere."""

    kind: str
    title: str
    summary: str
    subject: SubjectNoun
    for_admins: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """What a kind tells: `verdicts` stand at the top of the report, worst first."""

    sections: tuple[Section, ...]
    verdicts: tuple[Verdict, ...] = ()


KINDS: Mapping[str, ReportKind] = {
    one.kind: one
    for one in (
        ReportKind(
            "disaster-recovery",
            "Disaster recovery readiness",
            "Failover readiness of consumer groups, RPO, reprocessed records, dry runs, open risks.",
            SubjectNoun.FLOW,
        ),
        ReportKind(
            "replication",
            "Replication",
            "Lag, volume, restarts, crashes and pauses of flows, their topics, drift of settings.",
            SubjectNoun.FLOW,
        ),
        ReportKind(
            "availability",
            "Availability",
            "Time leaderless and under min ISR, ISR churn, unclean elections, impact of one more loss.",
            SubjectNoun.CLUSTER,
        ),
        ReportKind(
            "quorum",
            "Quorum and metadata",
            "Voter sets, elections, fenced brokers, config changes and feature levels.",
            SubjectNoun.CLUSTER,
        ),
        ReportKind(
            "audit-trail",
            "Audit log",
            "Actions in crosslog by user and by subject.",
            SubjectNoun.NONE,
            for_admins=True,
        ),
    )
}


# What is unknown may be bad: reports show it before what is good.
WORST_FIRST = (
    Severity.CRITICAL, Severity.WARNING, Severity.UNKNOWN, Severity.INFO, Severity.HEALTHY,
)  # fmt: skip


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 partition`, `2,000 partitions`."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def worst_first(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return verdicts by severity; those of one severity in their order."""
    return tuple(sorted(verdicts, key=lambda one: WORST_FIRST.index(one.level)))


def failed_analysis(error: str, href: str) -> Verdict:
    """Return what is said where an analysis of an archived metadata log has no answer."""
    text = (
        f"The analysis of the archived metadata log failed: {error} These figures are from the database "
        "of crosslog, as far as it reaches."
    )
    return Verdict(Severity.WARNING, "Incomplete", text, href)


@dataclass(frozen=True, slots=True)
class OpenStep:
    """A step of a runbook for partitions that are in trouble when the report is made.

    `runbook` is its title; `commands` are lines of a shell in their order. `href` is the page to copy them.
    """

    runbook: str
    number: int
    sentence: str
    commands: tuple[str, ...]
    href: str


def runbook_table(name: str, steps: Iterable[OpenStep]) -> Table:
    """Return the steps of runbooks: a row for each command, and one for a step without."""
    rows = [(one, command) for one in steps for command in one.commands or (None,)]
    layout = Layout(
        name,
        "Runbooks of partitions in trouble now",
        (
            Column("runbook", "Runbook", of=lambda one: one[0].runbook),
            Column("step", "Step", ValueType.COUNT, of=lambda one: one[0].number),
            Column("sentence", "What to do", of=lambda one: one[0].sentence),
            Column("command", "Command", of=lambda one: one[1]),
        ),
        lambda one: one[0].href,
    )
    return layout.fill(rows)
