"""The forms of a signed report for people; the same document gives the same bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobs.replication.failover.reports.report import bounds_of, check_lines, facts_of, title_of
from jobs.replication.failover.reports.signing import digest_of
from jobs.reports.document import Block, Column, Document, Section, Table, Text, Verdict
from jobs.reports.periods import Period
from jobs.reports.rendering import html, pdf
from jobs.reports.values import ValueType
from jobs.severity import Severity


def html_of(signed: Mapping[str, Any]) -> str:
    """Return the page, with all partitions."""
    return html.html_of(document_of(signed), is_whole=True)


def pdf_of(signed: Mapping[str, Any]) -> bytes:
    """Return the print, with all partitions."""
    return pdf.pdf_of(document_of(signed), is_whole=True)


# Reports keep the words of the release that signed them.
_LEVELS = {
    "ok": Severity.HEALTHY,
    "passed": Severity.HEALTHY,
    "applied": Severity.HEALTHY,
    "undone": Severity.HEALTHY,
    "rehearsed": Severity.HEALTHY,
    "succeeded": Severity.HEALTHY,
    "warn": Severity.WARNING,
    "warning": Severity.WARNING,
    "refused": Severity.WARNING,
    "block": Severity.CRITICAL,
    "failed": Severity.CRITICAL,
    "crashed": Severity.CRITICAL,
}
_FACTS = (Column("fact", "Fact"), Column("value", "Value"))
_CHECKS = (
    Column("state", "State"),
    Column("about", "About"),
    Column("what", "Check"),
    Column("evidence", "Evidence"),
    Column("next", "To do"),
)
_NO_COMMIT = "no commit"
_PARTITIONS = (
    Column("partition", "Partition"),
    Column("before", "Before", ValueType.OFFSET, absent=_NO_COMMIT),
    Column("wanted", "Wanted", ValueType.OFFSET, absent=_NO_COMMIT),
    Column("after", "After", ValueType.OFFSET, absent=_NO_COMMIT),
    Column("proof", "Proof"),
    Column("problem", "Problem", absent=""),
)


def document_of(signed: Mapping[str, Any]) -> Document:
    """Return the document of a signed report."""
    report = signed["report"]
    start, end = (datetime.fromisoformat(report[name]) for name in ("started_at", "finished_at"))
    return Document(
        kind="failover",
        title=title_of(report),
        period=Period(start, end),
        sections=(
            _section("run", "Run", _run(report)),
            _section("checks", "Pre-checks", [_checks(report)]),
            _section("groups", "Groups", _groups(report)),
            _section("signature", "Signature", _seal(digest_of(report), signed["signature"])),
        ),
        made_at=report["finished_at"],
        made_for=report["asked_by"],
        subjects=(report["plan"]["flow"],),
        crosslog=report["crosslog"],
        verdicts=(Verdict(_level(report["state"]), report["state"], report["problem"]),),
    )


def _section(name: str, title: str, blocks: list[Block]) -> Section:
    return Section(name, title, None, None, tuple(blocks), is_of_period=False)


def _run(report: Mapping[str, Any]) -> list[Block]:
    table = Table("run", "", _FACTS, tuple(facts_of(report)))
    if report["kind"] == "rehearsal":
        return [Text("Dry run: all checks were done, no offset was set."), table]
    return [table]


def _checks(report: Mapping[str, Any]) -> Table:
    rows = tuple(
        (check["state"], about, check["what"], check["evidence"], check["next"])
        for about, check in check_lines(report)
    )
    return Table("checks", "", _CHECKS, rows)


def _groups(report: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for number, group in enumerate(report["groups"], 1):
        outcome, planned = group["outcome"], group["plan"] or {"items": []}
        items = {(one["to_topic"], one["partition"]): one for one in planned["items"]}
        rows = tuple(
            _partition(row, items.get((row["topic"], row["partition"]))) for row in outcome["items"]
        )
        title = f"Group {outcome['group']}"
        blocks.append(
            Verdict(_level(outcome["state"]), outcome["state"], f"{title}: {outcome['message']}")
        )
        if rows:
            blocks.append(Table(f"group-{number}", title, _PARTITIONS, rows))
    return blocks or [Text("None.")]


def _partition(row: Mapping[str, Any], planned: Mapping[str, Any] | None) -> tuple[Any, ...]:
    proof = ""
    if planned is not None:
        told = f"{planned['topic']} committed {planned['committed']}: {bounds_of(planned)}"
        proof = f"{told}; {planned['reason']}" if planned["reason"] else told
    offsets = (row["before"], row["wanted"], row["after"])
    return (f"{row['topic']}-{row['partition']}", *offsets, proof, row["error"] or None)


def _seal(digest: str, signature: Mapping[str, Any]) -> list[Block]:
    rows = (
        ("SHA-256 of the JSON", digest),
        ("Algorithm", str(signature["algorithm"])),
        ("Key", str(signature["key_id"])),
        ("Signature", str(signature["value"])),
    )
    return [
        Text("The JSON form of this report is what is signed; this is a rendering of it."),
        Table("signature", "", _FACTS, rows),
        Text("Verify with: crosslog verify-report report.json --key key.pem"),
    ]


def _level(state: str) -> Severity:
    return _LEVELS.get(state, Severity.UNKNOWN)
