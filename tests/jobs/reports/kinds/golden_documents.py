"""Documents that are compared byte by byte; a new one is written with GOLDEN=write."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jobs.objectives.objective import Window
from jobs.reports.document import Document
from jobs.reports.kinds.flows.copy_audits import CopyAudit, CopyAudits
from jobs.reports.kinds.kind import KINDS, Content
from jobs.reports.kinds.objectives import ObjectiveResult
from jobs.reports.periods import Period
from jobs.reports.rendering.formats import json_of
from jobs.severity import Severity

FOLDER = Path(__file__).parent
# Clocks go forward in this week: it has an hour less.
WEEK = Period(
    datetime(2026, 3, 22, 23, tzinfo=UTC),
    datetime(2026, 3, 29, 22, tzinfo=UTC),
    "Europe/Berlin",
    "last-week",
)
# A week without any change of clocks.
START, END = datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
NOVEMBER = Period(START, END, "UTC", "last-week")
# Right to left, a formula, a tag, and as long as a topic's name may be.
ODD = "=1+1\u202e<b>" + "o" * 241


def objectives_of(subject: str, period: Period) -> tuple[ObjectiveResult, ...]:
    """One that was missed, and one of a topic with a strange name that was set after the period."""
    span_s = int(period.span.total_seconds())
    missed = Window(span_s, span_s - 7200 - 900, 900)
    return (
        ObjectiveResult(subject, "RPO of 1 m", 0.999, missed, "/objectives/1/"),
        ObjectiveResult(subject, f"Availability of {ODD}", 0.999, Window(span_s), "/objectives/2/"),
    )


def audits_of(flow: str) -> CopyAudits:
    """One that differs, one of a part of the topics, and a flow that was never audited."""
    differs = CopyAudit(
        flow,
        "Differs",
        Severity.CRITICAL,
        "/runs/1/",
        END - timedelta(days=1),
        "L2",
        86_400_000,
        40,
        40,
        5000,
        {"missing": 4},
        "4 missing in 5 000 compared records of 40 of 40 topics (level L2).",
        ("orders-0: 4 missing at source offset 100",),
    )
    part = replace(differs, flow=ODD, word="Equal in part", level=Severity.UNKNOWN, counts={})
    never = CopyAudit("never", "Not audited", Severity.UNKNOWN, "")
    return CopyAudits((never, differs, replace(part, topics=12, found=(), sentence="")), END)


def document_of(
    kind: str, content: Content, before: Period | None = None, period: Period = WEEK
) -> Document:
    return Document(
        kind,
        KINDS[kind].title,
        period,
        content.sections,
        made_at="2026-11-23T07:00:00.000Z",
        made_for="ann",
        before=before,
        verdicts=content.verdicts,
    )


def check_golden(
    kind: str, content: Content, before: Period | None, period: Period = WEEK
) -> dict[str, Any]:
    """Compare the JSON of a whole document with what is kept, and return it as it is read again."""
    document = document_of(kind, content, before, period)
    path, told = FOLDER / f"{kind}.golden.json", json_of(document) + b"\n"
    if os.environ.get("GOLDEN") == "write":
        path.write_bytes(told)
    assert told == path.read_bytes(), f"{path} differs: look at it, then GOLDEN=write"
    read = document.to_mapping()
    assert Document.from_mapping(read) == document
    return read
