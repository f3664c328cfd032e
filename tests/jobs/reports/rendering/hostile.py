"""Every kind of report with one text in every place where a stranger's text can be."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.reports.document import (
    Chart,
    ChartType,
    Document,
    Figures,
    Section,
    Series,
    Table,
    Text,
    Verdict,
)
from jobs.reports.kinds.kind import KINDS
from jobs.reports.values import ValueType
from tests.jobs.reports.rendering.sample import document

_GOLDEN = Path(__file__).parent.parent / "kinds"
SAMPLE = "all blocks"
ALL_KINDS = (SAMPLE, *KINDS)


def report_of(kind: str) -> Document:
    """Return a report of a kind with the values of its golden file, or the sample with every block."""
    if kind == SAMPLE:
        return document()
    told = json.loads((_GOLDEN / f"{kind}.golden.json").read_text(encoding="utf-8"))
    return replace(Document.from_mapping(told), base_url="https://crosslog.example")


def with_text(report: Document, text: str) -> Document:
    """Return a report that has this text for each name, word, sentence and link."""
    return replace(
        report,
        title=text,
        made_for=text,
        crosslog=text,
        subjects=(text, text),
        verdicts=tuple(_block(one, text) for one in report.verdicts),
        sections=tuple(_section(one, text) for one in report.sections),
    )


def _section(section: Section, text: str) -> Section:
    gaps = tuple(replace(one, why=text) for one in section.gaps)
    blocks = tuple(_block(one, text) for one in section.blocks)
    return replace(section, name=text, title=text, gaps=gaps, blocks=blocks)


def _block(block: Any, text: str) -> Any:
    link = f"/{text}"
    match block:
        case Text():
            return Text(text)
        case Verdict():
            return replace(block, word=text, sentence=text, href=link)
        case Figures():
            told = {"label": text, "definition": text, "href": link}
            rows = (
                replace(one, **told, value=text, before=text)
                if one.type is ValueType.TEXT
                else replace(one, **told)
                for one in block.figures
            )
            return replace(block, figures=tuple(rows))
        case Table():
            return _table(block, text)
        case Chart():
            series = tuple(_series(one, block.type, text) for one in block.series)
            return replace(block, name=text, title=text, alt=text, series=series)


def _table(table: Table, text: str) -> Table:
    columns = tuple(replace(one, title=text, definition=text, absent=text) for one in table.columns)
    rows = tuple(
        tuple(
            text if one.type is ValueType.TEXT else value
            for one, value in zip(columns, row, strict=True)
        )
        for row in table.rows
    )
    hrefs = tuple(f"/{text}" for _ in rows)
    return replace(
        table, name=text, title=text, columns=columns, rows=rows, hrefs=hrefs, empty=text
    )


def _series(series: Series, type_: ChartType, text: str) -> Series:
    if type_ is ChartType.BARS:
        return replace(series, label=text, x=tuple(f"{text}{at}" for at in range(len(series.x))))
    values = series.values if type_ is ChartType.LINES else (text,) * len(series.values)
    return replace(series, label=text, values=values)
