"""A document as the pages of the console show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.urls import reverse

from console.frame.security.access import can
from console.reports.models import ReportRun
from console.runs.analyses.values import Cell, read_moment
from jobs.numbers import format_bytes
from jobs.reports.document import Block, Chart, Document, Figures, Table, Text, Verdict
from jobs.reports.rendering.formats import Format
from jobs.reports.values import NUMERIC, ValueType, text_of

# The files have all rows.
MOST_ROWS = 50


def cell_of(value: Any, type_: ValueType) -> Cell:
    """Return a value as a cell: a moment is written in the reader's zone."""
    at = read_moment(value) if type_ is ValueType.MOMENT else None
    return Cell(text_of(value, type_), at, type_ in NUMERIC)


def tabs_of(person: Any, current: str) -> list[dict[str, Any]]:
    """Return the tabs of the lists; `current` is the name of a route."""
    tabs = [("Reports", "reports:list"), ("Report runs", "reports:runs")]
    if can(person, "administer"):
        tabs.append(("Delivery", "delivery:list"))
    return [
        {"label": label, "href": reverse(name), "is_current": name == current}
        for label, name in tabs
    ]


def sections_of(run: ReportRun, document: Document) -> list[dict[str, Any]]:
    """Return the sections of a document, their blocks as templates draw them."""
    charts = document.charts()
    return [
        {
            "name": section.name,
            "title": section.title,
            "start": read_moment(section.start),
            "end": read_moment(section.end),
            "gaps": [
                (read_moment(one.start), read_moment(one.end), one.why) for one in section.gaps
            ],
            "blocks": [_block(run, one, charts) for one in section.blocks],
        }
        for section in document.sections
    ]


def files_of(run: ReportRun) -> list[dict[str, str]]:
    """Return the files that can be downloaded."""
    return [
        {
            "label": one.value.upper(),
            "href": reverse("reports:file", args=[run.pk, one.value]),
            "size": format_bytes(run.files[one.value]["bytes"]),
        }
        for one in Format
        if one.value in run.files
    ]


def _block(run: ReportRun, block: Block, charts: list[Chart]) -> tuple[str, dict[str, Any]]:
    """Return which part of the page draws a block, and what it needs."""
    if isinstance(block, Chart):
        number = charts.index(block)
        src = reverse("reports:chart", args=[run.pk, number])
        return "chart", {"chart": block, "src": src, "id": f"chart-{number}"}
    kind, draw = _DRAWN[type(block)]
    return kind, draw(block)


def _figures(block: Figures) -> dict[str, Any]:
    rows = [
        {
            "figure": one,
            "cell": cell_of(one.value, one.type),
            "before": cell_of(one.before, one.type),
        }
        for one in block.figures
    ]
    return {"rows": rows, "has_before": block.has_before}


def _table(block: Table) -> dict[str, Any]:
    hrefs = block.hrefs or ("",) * len(block.rows)
    types = [one.type for one in block.columns]
    body = [
        (href, [cell_of(value, type_) for value, type_ in zip(row, types, strict=True)])
        for row, href in zip(block.rows[:MOST_ROWS], hrefs, strict=False)
    ]
    heads = [(one, one.type in NUMERIC) for one in block.columns]
    total = block.total if block.total is not None else len(block.rows)
    return {"table": block, "heads": heads, "body": body, "rows": len(body), "total": total}


def _text(block: Text) -> dict[str, Any]:
    return {"text": block.text}


def _verdict(block: Verdict) -> dict[str, Any]:
    return {"verdict": block}


_DRAWN: Mapping[type[Any], tuple[str, Callable[[Any], dict[str, Any]]]] = {
    Figures: ("figures", _figures),
    Table: ("table", _table),
    Text: ("text", _text),
    Verdict: ("verdict", _verdict),
}
