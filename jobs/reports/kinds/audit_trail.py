"""The audit log report: the entries of a period, as sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from jobs.reports.document import (
    Block,
    Figure,
    Figures,
    Gap,
    Section,
    Table,
    Verdict,
)
from jobs.reports.kinds.columns import Column, Layout, before_column
from jobs.reports.kinds.kind import Content, counted
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, stamp
from jobs.severity import Severity

NO_NAME = "(not signed in, or crosslog)"
_TYPE = ValueType


@dataclass(frozen=True, slots=True)
class AuditCounts:
    """How the attempts of a person, or on a subject, ended."""

    name: str
    done: int = 0
    refused: int = 0
    failed: int = 0
    href: str = ""

    @property
    def total(self) -> int:
        return self.done + self.refused + self.failed


@dataclass(frozen=True, slots=True)
class AuditEntryRecorded:
    """One attempt; `outcome` is done, refused or failed."""

    at: datetime
    person: str
    token: str
    action: str
    subject: str
    outcome: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class AuditTrailRecorded:
    """Entries of a period; `start` None: the audit log begins later.

    `entries` are the newest of those that `totals` counts, `subjects` those with most attempts of
    `subject_count`.
    """

    period: Period
    start: datetime | None = None
    totals: AuditCounts = AuditCounts("")
    people: tuple[AuditCounts, ...] = ()
    subjects: tuple[AuditCounts, ...] = ()
    subject_count: int = 0
    sign_ins: AuditCounts = AuditCounts("sign-in")
    entries: tuple[AuditEntryRecorded, ...] = ()
    href: str = ""


def build(recorded: AuditTrailRecorded, before: AuditTrailRecorded | None) -> Content:
    """Return what the report tells of a period, with the period before beside it when it is given."""
    period = recorded.period
    gaps: tuple[Gap, ...] = ()
    if recorded.start is None or recorded.start > period.start:
        over = recorded.start or period.end
        gaps = (Gap(stamp(period.start), stamp(over), "The audit log begins later."),)
    start = stamp(max(recorded.start, period.start)) if recorded.start else None
    end = stamp(period.end) if recorded.start else None

    def section(name: str, title: str, *blocks: Block) -> Section:
        return Section(name, title, start, end, blocks, gaps)

    has_before = before is not None
    sections = (
        section("audit", "Audit log", Figures(_figures(recorded, before), has_before)),
        section(
            "people",
            "By user",
            _counts("people", "Attempts by user", "User", recorded.people, before),
        ),
        section(
            "subjects",
            "By subject",
            _counts(
                "subjects",
                "Attempts by subject",
                "Subject",
                recorded.subjects,
                before,
                recorded.subject_count,
            ),
        ),
        section("entries", "Entries", _ENTRIES.fill(recorded.entries, recorded.totals.total)),
    )
    return Content(sections, (_verdict(recorded),))


def _verdict(recorded: AuditTrailRecorded) -> Verdict:
    totals, href = recorded.totals, recorded.href
    if recorded.start is None:
        return Verdict(
            Severity.UNKNOWN, "Unknown", "The audit log has no entries of this period.", href
        )
    told = ", ".join(f"{getattr(totals, one)} {one}" for one in ("done", "refused", "failed"))
    text = f"{counted(totals.total, 'attempt')}: {told}."
    if recorded.sign_ins.failed:
        text += f" {counted(recorded.sign_ins.failed, 'sign-in')} failed."
    if totals.refused or totals.failed:
        return Verdict(Severity.WARNING, "Refused or failed attempts", text, href)
    return Verdict(Severity.HEALTHY, "No refused or failed attempt", text, href)


def _figures(recorded: AuditTrailRecorded, before: AuditTrailRecorded | None) -> tuple[Figure, ...]:
    now, then = _numbers(recorded), _numbers(before) if before else {}
    return tuple(
        Figure(label, now.get(name), _TYPE.COUNT, definition, recorded.href, then.get(name))
        for name, (label, definition) in _FIGURES.items()
    )


_FIGURES: Mapping[str, tuple[str, str]] = {
    "total": ("Attempts", "Entries of the audit log: actions and attempts of users and tokens."),
    "done": ("Done", "Attempts that succeeded."),
    "refused": ("Refused", "Attempts that permissions, a rule or read-only mode refused."),
    "failed": (
        "Failed",
        "Attempts that were permitted and failed, failed sign-ins included.",
    ),
    "people": ("Users", "Users with an entry."),
    "sign_ins": ("Sign-ins", "Successful sign-ins with a password or OpenID Connect."),
    "sign_in_failures": (
        "Failed sign-ins",
        "Sign-ins with a wrong user name, password or identity.",
    ),
}


def _numbers(recorded: AuditTrailRecorded) -> dict[str, int]:
    if recorded.start is None:
        return {}
    return {
        "total": recorded.totals.total,
        "done": recorded.totals.done,
        "refused": recorded.totals.refused,
        "failed": recorded.totals.failed,
        "people": sum(one.name != NO_NAME for one in recorded.people),
        "sign_ins": recorded.sign_ins.done,
        "sign_in_failures": recorded.sign_ins.refused + recorded.sign_ins.failed,
    }


def _counts(
    name: str,
    title: str,
    noun: str,
    counts: tuple[AuditCounts, ...],
    before: AuditTrailRecorded | None,
    total: int = 0,
) -> Table:
    earlier = {one.name: one.total for one in getattr(before, name)} if before else {}
    # What is not among the subjects that are given is not known.
    is_whole = before and before.start and before.subject_count <= len(before.subjects)
    columns = (
        Column("name", noun),
        Column("done", "Done", _TYPE.COUNT),
        Column("refused", "Refused", _TYPE.COUNT),
        Column("failed", "Failed", _TYPE.COUNT),
        Column("total", "Attempts", _TYPE.COUNT),
        before_column(
            "Attempts, before",
            _TYPE.COUNT,
            lambda one: earlier.get(one.name, 0 if is_whole else None),
        ),
    )
    rows = sorted(counts, key=lambda one: (-one.total, one.name))
    has_before = before is not None
    return Layout(f"audit-{name}", title, columns).fill(rows, total, has_before=has_before)


_ENTRIES = Layout(
    "audit-entries",
    "Entries",
    (
        Column("at", "Time", _TYPE.MOMENT),
        Column("person", "User", of=lambda one: one.person or None),
        Column("token", "Token", of=lambda one: one.token or None),
        Column("action", "Action"),
        Column("subject", "Subject"),
        Column("outcome", "Outcome"),
    ),
    empty="No entry in this period.",
)
