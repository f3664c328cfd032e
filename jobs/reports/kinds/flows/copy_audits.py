"""The section of copy audits: whether target records equal source records, as of the end of the period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jobs.reports.document import Block, Gap, Section, Verdict
from jobs.reports.kinds.columns import Column, Layout
from jobs.reports.kinds.kind import worst_first
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, stamp
from jobs.severity import Severity

MOST_VERDICTS, MOST_ROWS = 10, 2000


@dataclass(frozen=True, slots=True)
class CopyAudit:
    """The audit of a flow that counts; `at` None: it was not audited, and counts are not known.

    `counts` are the records that differ, without zeros; `found` are the first of them with their offsets.
    """

    flow: str
    word: str
    level: Severity
    href: str
    at: datetime | None = None
    proof: str = ""
    age_ms: int | None = None
    topics: int | None = None
    topics_of_flow: int | None = None
    compared: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    sentence: str = ""
    found: Sequence[str] = ()

    @property
    def differs(self) -> bool:
        return self.level is Severity.CRITICAL


@dataclass(frozen=True, slots=True)
class CopyAudits:
    """The audits of the flows of a report; `kept_from` is since when runs of audits are kept."""

    audits: tuple[CopyAudit, ...] = ()
    kept_from: datetime | None = None


def _count(name: str) -> Column:
    def of(one: CopyAudit) -> int | None:
        return None if one.at is None else one.counts.get(name, 0)

    return Column(name, name.capitalize(), ValueType.COUNT, of=of)


_LAYOUT = Layout(
    "copy-audits",
    "Copy audits",
    (
        Column("flow", "Flow"),
        Column("verdict", "Verdict", of="word"),
        Column(
            "proof",
            "Level",
            ValueType.TEXT,
            "L0: batch headers, L1: checksums of ranges, L2: records without content, L3: content.",
        ),
        Column("at", "Audited", ValueType.MOMENT),
        Column("age_ms", "Age at the end", ValueType.DURATION_MS),
        Column("topics", "Topics audited", ValueType.COUNT),
        Column("topics_of_flow", "Topics of the flow", ValueType.COUNT),
        Column("compared", "Records compared", ValueType.COUNT),
        *map(_count, ("missing", "extra", "reordered", "altered", "duplicated")),
    ),
    most=MOST_ROWS,
)


def audit_section(told: CopyAudits, period: Period) -> Section:
    """Return the audits, the worst first, those that differ with their first differences."""
    rows = sorted(told.audits, key=lambda one: one.flow)
    verdicts = worst_first(
        Verdict(one.level, one.word, _sentence(one), one.href) for one in rows if one.differs
    )
    by_level = sorted(rows, key=lambda one: -one.level.rank)
    blocks: tuple[Block, ...] = (*verdicts[:MOST_VERDICTS], _LAYOUT.fill(by_level))
    kept = told.kept_from
    is_gone = kept is not None and kept > period.end
    gaps = (Gap(None, stamp(kept), "Audits that ended before are not kept."),) if is_gone else ()
    return Section("copy-audits", "Copy audits", None, None, blocks, gaps, is_of_period=False)


def differing(told: CopyAudits) -> list[str]:
    """Return the flows whose copies differ, by name."""
    return sorted(one.flow for one in told.audits if one.differs)


def _sentence(one: CopyAudit) -> str:
    first = f" First: {'; '.join(one.found)}." if one.found else ""
    return f"{one.flow}: {one.sentence}{first}"
