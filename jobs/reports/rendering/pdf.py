"""A document as PDF/UA-1, set by Typst. Texts go in as data: nothing in a name is markup.

The font comes with matplotlib, none of the system is used.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.reports.document import (
    Block,
    Chart,
    Document,
    Figure,
    Figures,
    Section,
    Table,
    Text,
    Verdict,
)
from jobs.reports.rendering import wording
from jobs.reports.rendering.formats import Paper
from jobs.reports.rendering.table_widths import broken, widths_of
from jobs.reports.values import NUMERIC, ValueType
from jobs.visible import visible_line

if TYPE_CHECKING:
    import typst

TEMPLATE = "report.typ"
_PAPERS = {Paper.A4: "a4", Paper.LETTER: "us-letter"}
_MARGIN = 18 * 72 / 25.4
# Width and height in points.
_SIZES = {Paper.A4: (595.28, 841.89), Paper.LETTER: (612.0, 792.0)}
# Characters of a line of prose, of a label and of a value.
_LINE, _LABEL, _VALUE = 60, 36, 14


def pdf_of(document: Document, paper: Paper = Paper.A4, *, is_whole: bool = False) -> bytes:
    """Return the print; of long tables the first rows. `is_whole`: all rows, those of many as lines."""
    import typst

    # Its types do not name a dict of files.
    sources: Any = sources_of(document, paper, is_whole=is_whole)
    return bytes(
        typst.compile(
            sources,
            format="pdf",
            font_paths=_fonts(),
            ignore_system_fonts=True,
            pdf_standards=["ua-1"],
            timestamp=int(datetime.fromisoformat(document.made_at).timestamp()),
        )
    )


def sources_of(
    document: Document, paper: Paper = Paper.A4, *, is_whole: bool = False
) -> dict[str, bytes]:
    """Return what Typst compiles: the template, the data and the charts."""
    sources = {"main.typ": (files(__package__) / TEMPLATE).read_bytes()}
    if document.charts():
        from jobs.reports.rendering.charts import svg_of

        for at, chart in enumerate(document.charts()):
            sources[_chart_file(at)] = svg_of(chart, document.period)
    most_rows = None if is_whole else wording.rows_printed(document)
    data = _Data(document, paper, most_rows).told()
    sources["data.json"] = json.dumps(data, ensure_ascii=False).encode()
    return sources


@cache
def _fonts() -> typst.Fonts:
    import matplotlib as mpl
    import typst

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    return typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=[str(folder)]
    )


def _chart_file(at: int) -> str:
    return f"chart-{at}.svg"


class _Data:
    """What the template is given: texts that are ready, and widths."""

    def __init__(self, document: Document, paper: Paper, most_rows: int | None) -> None:
        self._document = document
        self._paper = paper
        self._most_rows = most_rows
        self._charts = 0
        self._cells = 0

    def told(self) -> dict[str, Any]:
        document = self._document
        at = datetime.fromisoformat(document.made_at).astimezone(UTC)
        title = _prose(document.title)
        facts = wording.facts_of(document)
        return {
            "name": visible_line(document.title),
            "title": title,
            "paper": _PAPERS[self._paper],
            "period": visible_line(document.period.label),
            "footer": _prose(self._footer()),
            "date": {
                name: getattr(at, name)
                for name in ("year", "month", "day", "hour", "minute", "second")
            },
            "facts": [(name, broken(text, _LINE)) for name, text in facts],
            "verdicts": [self._verdict(one) for one in document.verdicts],
            "sections": [self._section(one) for one in document.sections],
        }

    def _footer(self) -> str:
        document = self._document
        made_at = wording.value_of(document.made_at, ValueType.MOMENT)
        by_whom = f" for {document.made_for}" if document.made_for else ""
        return f"Created {made_at}{by_whom} by crosslog {document.crosslog}".rstrip()

    def _section(self, section: Section) -> dict[str, Any]:
        return {
            "title": _prose(section.title),
            "covered": wording.covered_of(section, self._document),
            "gaps": [broken(wording.gap_of(one), _LINE) for one in section.gaps],
            "blocks": [self._block(one) for one in section.blocks],
        }

    def _block(self, block: Block) -> dict[str, Any]:
        match block:
            case Text():
                paragraphs = [broken(one, _LINE) for one in wording.paragraphs_of(block.text)]
                return {"kind": "text", "paragraphs": paragraphs}
            case Verdict():
                return {"kind": "verdict", **self._verdict(block)}
            case Figures():
                rows = [self._figure(one) for one in block.figures]
                return {"kind": "figures", "has_before": block.has_before, "rows": rows}
            case Table():
                return self._table(block)
            case Chart():
                return {"kind": "chart", **self._chart(block)}

    def _verdict(self, verdict: Verdict) -> dict[str, Any]:
        return {
            "level": verdict.level.value,
            "word": _prose(verdict.word),
            "sentence": _prose(verdict.sentence),
            "url": wording.url_of(self._document, verdict.href),
        }

    def _figure(self, figure: Figure) -> dict[str, Any]:
        return {
            "label": broken(visible_line(figure.label), _LABEL),
            "value": broken(wording.value_of(figure.value, figure.type), _VALUE),
            "before": broken(wording.value_of(figure.before, figure.type), _VALUE),
            "definition": _prose(figure.definition),
            "url": wording.url_of(self._document, figure.href),
        }

    def _chart(self, chart: Chart) -> dict[str, Any]:
        at = self._charts
        self._charts += 1
        return {
            "title": _prose(chart.title),
            "file": _chart_file(at),
            "alt": visible_line(chart.alt or chart.title),
        }

    def _table(self, table: Table) -> dict[str, Any]:
        rows = [
            [wording.cell_of(*one) for one in zip(row, table.columns, strict=True)]
            for row in table.rows[: self._most_rows]
        ]
        self._cells += len(rows) * len(table.columns)
        if self._most_rows is None and self._cells > wording.MOST_CELLS:
            return self._row_lines(table, rows)
        heads = [visible_line(column.title) for column in table.columns]
        numeric = [column.type in NUMERIC for column in table.columns]
        across = [side - 2 * _MARGIN for side in _SIZES[self._paper]]
        widths = widths_of(heads, rows, numeric, across[0], across[1])
        rooms = [widths.room(at) for at in range(len(heads))]
        urls = [wording.url_of(self._document, one) for one in table.hrefs[: len(rows)]]
        return {
            "kind": "table",
            "title": _prose(table.title),
            "size": widths.size,
            "widths": widths.columns,
            "flipped": widths.is_flipped and bool(rows),
            "numeric": numeric,
            "heads": [broken(one, room) for one, room in zip(heads, rooms, strict=True)],
            "rows": [[broken(*one) for one in zip(row, rooms, strict=True)] for row in rows],
            "urls": urls if any(urls) else [],
            "empty": _prose(table.empty),
            "note": wording.rows_note_of(table, len(rows)),
            "definitions": [
                [name, broken(text, _LINE)] for name, text in wording.definitions_of(table)
            ],
        }

    def _row_lines(self, table: Table, rows: list[list[str]]) -> dict[str, Any]:
        """Return rows as lines: they need a sixth of what cells need."""
        heads = [visible_line(column.title) for column in table.columns[1:]]
        lines = [
            f"{row[0]}: {', '.join(f'{h} {c}' for h, c in zip(heads, row[1:], strict=True) if c)}"
            for row in rows
        ]
        shown = [broken(one, _LINE) for one in lines]
        return {"kind": "lines", "title": _prose(table.title), "lines": shown}


def _prose(text: str) -> str:
    return broken(visible_line(text), _LINE)
