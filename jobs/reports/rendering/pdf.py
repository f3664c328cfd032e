"""A document as PDF/UA-1, set by Typst. Texts go in as data: nothing in a name is markup.

The font comes with matplotlib, none of the system is used.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jobs.logs import own_fault
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
from jobs.reports.rendering.printable import (
    FAMILY,
    LONGEST_HEAD,
    LONGEST_TEXT,
    LONGEST_TITLE,
    PLAIN_TEMPLATE,
    cut,
    font_folder,
    lines_of,
    printable,
    rows_as_lines,
)
from jobs.reports.rendering.table_widths import broken, widths_of
from jobs.reports.values import NUMERIC, ValueType

if TYPE_CHECKING:
    import typst

logger = logging.getLogger(__name__)

TEMPLATE = "report.typ"
_PAPERS = {Paper.A4: "a4", Paper.LETTER: "us-letter"}
_MARGIN = 18 * 72 / 25.4
# Width and height in points.
_SIZES = {Paper.A4: (595.28, 841.89), Paper.LETTER: (612.0, 792.0)}
# Characters of a line of prose, of a label and of a value.
_LINE, _LABEL, _VALUE = 60, 36, 14
_INTRODUCTIONS = frozenset({"section", "text", "verdict", "chart"})
# About the lines of an item without its rows, and those that need no page of their own.
_LINES = {"section": 4, "chart": 16, "lines": 60}
_FEW_LINES = 24
# Programs that show prints, and Typst (8,000), take no longer addresses.
_LONGEST_LINK = 2000
_CUT = "Long texts are cut in this print: …(+N) means N characters. The other formats have them."


def pdf_of(
    document: Document,
    paper: Paper = Paper.A4,
    *,
    is_whole: bool = False,
    is_plain: bool = False,
    template: str = TEMPLATE,
) -> bytes:
    """Return the print; of long tables the first rows. `is_whole`: all rows, those of many as lines.

    One that fails is made once more in its plainest form, which says why; `is_plain`: at once.
    """
    why = "it ended the program that made it"
    if not is_plain:
        try:
            sources = sources_of(document, paper, is_whole=is_whole, template=template)
            return compiled(sources, document)
        except Exception:
            # Whatever the texts of a report do to it: there is a print.
            logger.exception("print failed, its plainest form is made kind=%s", document.kind)
            why = own_fault("laying it out")
    most_rows = None if is_whole else wording.rows_printed(document)
    told = {**_head(document, paper), "lines": lines_of(document, why, most_rows)}
    return compiled(_sources(PLAIN_TEMPLATE, told), document)


def sources_of(
    document: Document,
    paper: Paper = Paper.A4,
    *,
    is_whole: bool = False,
    template: str = TEMPLATE,
) -> dict[str, bytes]:
    """Return what Typst compiles: the template, the data and the charts."""
    charts = {}
    if document.charts():
        from jobs.reports.rendering.charts import svg_of

        for at, chart in enumerate(document.charts()):
            charts[_chart_file(at)] = svg_of(chart, document.period)
    most_rows = None if is_whole else wording.rows_printed(document)
    told = {**_head(document, paper), **_Data(document, paper, most_rows).told()}
    return {**_sources(template, told), **charts}


def _sources(template: str, told: dict[str, Any]) -> dict[str, bytes]:
    return {
        "main.typ": (files(__package__) / template).read_bytes(),
        "data.json": json.dumps(told, ensure_ascii=False).encode(),
    }


def _head(document: Document, paper: Paper) -> dict[str, Any]:
    at = datetime.fromisoformat(document.made_at).astimezone(UTC)
    parts = ("year", "month", "day", "hour", "minute", "second")
    return {
        "name": cut(printable(document.title), LONGEST_TITLE).strip() or document.kind,
        "paper": _PAPERS[paper],
        "font": FAMILY,
        "date": {name: getattr(at, name) for name in parts},
    }


def compiled(sources: Any, document: Document) -> bytes:
    """Return what Typst makes of sources, whose type its own types do not name; raises `TypstError`."""
    import typst

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


@cache
def _fonts() -> typst.Fonts:
    import typst

    return typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=[str(font_folder())]
    )


def _chart_file(at: int) -> str:
    return f"chart-{at}.svg"


def _runs(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what follows each other on pages of one direction, so that no page is nearly empty.

    Headings, sentences and charts are on the page of the table that they introduce; a few lines between two
    tables on their side are on theirs.
    """
    sides = [bool(one.get("flipped", False)) for one in items]
    for at in reversed(range(len(items) - 1)):
        sides[at] |= sides[at + 1] and items[at]["kind"] in _INTRODUCTIONS
    runs: list[dict[str, Any]] = []
    for flipped, group in groupby(zip(sides, items, strict=True), key=itemgetter(0)):
        run = [item for _, item in group]
        between = runs[1:] and not runs[-1]["flipped"] and flipped
        if between and sum(map(_lines_of, runs[-1]["items"])) <= _FEW_LINES:
            runs[-2]["items"] += [*runs.pop()["items"], *run]
        else:
            runs.append({"flipped": flipped, "items": run})
    return runs


def _lines_of(item: dict[str, Any]) -> int:
    """Return about how many lines an item takes."""
    return _LINES.get(item["kind"], 2) + 2 * len(item.get("rows", ()))


class _Data:
    """What the template is given: texts that are ready, and widths."""

    def __init__(self, document: Document, paper: Paper, most_rows: int | None) -> None:
        self._document = document
        self._paper = paper
        self._most_rows = most_rows
        self._charts = 0
        self._cells = 0
        self._is_cut = False

    def told(self) -> dict[str, Any]:
        document = self._document
        told = {
            "title": self._title(document.title, document.kind),
            "period": self._fit(document.period.label),
            "footer": self._prose(self._footer(), LONGEST_TITLE),
            "facts": [(name, self._prose(text)) for name, text in wording.facts_of(document)],
            "verdicts": [self._verdict(one) for one in document.verdicts],
            "sections": len(document.sections),
            "runs": _runs([item for one in document.sections for item in self._section(one)]),
        }
        return {**told, "notes": [_CUT] if self._is_cut else []}

    def _fit(self, text: str, most: int = LONGEST_TEXT) -> str:
        """Return a text as the print can have it; every text of the data goes through here."""
        whole = printable(text)
        shown = cut(whole, most)
        self._is_cut |= shown != whole
        return shown

    def _prose(self, text: str, most: int = LONGEST_TEXT) -> str:
        return broken(self._fit(text, most), _LINE)

    def _title(self, title: str, name: str) -> str:
        """Return a title or a heading, which a print must have: without one the name."""
        return self._prose(title if title.strip() else name or "Untitled", LONGEST_TITLE)

    def _url(self, href: str) -> str:
        """Return the address of a link; empty, so that it is text, where it is too long for one."""
        url = wording.url_of(self._document, href)
        return url if len(url) <= _LONGEST_LINK else ""

    def _footer(self) -> str:
        document = self._document
        made_at = wording.value_of(document.made_at, ValueType.MOMENT)
        by_whom = f" for {document.made_for}" if document.made_for else ""
        return f"Created {made_at}{by_whom} by crosslog {document.crosslog}".rstrip()

    def _section(self, section: Section) -> list[dict[str, Any]]:
        head = {
            "kind": "section",
            "title": self._title(section.title, section.name),
            "covered": self._prose(wording.covered_of(section, self._document)),
            "gaps": [self._prose(wording.gap_of(one)) for one in section.gaps],
        }
        blocks = [self._block(one) for one in section.blocks]
        # A heading is on the page of its first block.
        return [{**head, "flipped": bool(blocks) and blocks[0].get("flipped", False)}, *blocks]

    def _block(self, block: Block) -> dict[str, Any]:
        match block:
            case Text():
                paragraphs = [self._prose(one) for one in wording.paragraphs_of(block.text)]
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
            "word": self._prose(verdict.word, LONGEST_TITLE),
            "sentence": self._prose(verdict.sentence),
            "url": self._url(verdict.href),
        }

    def _figure(self, figure: Figure) -> dict[str, Any]:
        return {
            "label": broken(self._fit(figure.label), _LABEL),
            "value": broken(self._fit(wording.value_of(figure.value, figure.type)), _VALUE),
            "before": broken(self._fit(wording.value_of(figure.before, figure.type)), _VALUE),
            "definition": self._prose(figure.definition),
            "url": self._url(figure.href),
        }

    def _chart(self, chart: Chart) -> dict[str, Any]:
        at = self._charts
        self._charts += 1
        return {
            "title": self._prose(chart.title, LONGEST_TITLE),
            "file": _chart_file(at),
            "alt": self._fit(
                next(filter(str.strip, (chart.alt, chart.title, chart.name)), "Chart")
            ),
        }

    def _table(self, table: Table) -> dict[str, Any]:
        rows = [
            [self._fit(wording.cell_of(*one)) for one in zip(row, table.columns, strict=True)]
            for row in table.rows[: self._most_rows]
        ]
        self._cells += len(rows) * len(table.columns)
        if self._most_rows is None and self._cells > wording.MOST_CELLS:
            return self._row_lines(table, rows)
        heads = [self._fit(column.title, LONGEST_HEAD) for column in table.columns]
        numeric = [column.type in NUMERIC for column in table.columns]
        across = [side - 2 * _MARGIN for side in _SIZES[self._paper]]
        widths = widths_of(heads, rows, numeric, across[0], across[1])
        rooms = [widths.room(at) for at in range(len(heads))]
        urls = [self._url(one) for one in table.hrefs[: len(rows)]]
        return {
            "kind": "table",
            "title": self._prose(table.title, LONGEST_TITLE),
            "size": widths.size,
            "widths": widths.columns,
            "flipped": widths.is_flipped and bool(rows),
            "numeric": numeric,
            "heads": [broken(one, room) for one, room in zip(heads, rooms, strict=True)],
            "rows": [[broken(*one) for one in zip(row, rooms, strict=True)] for row in rows],
            "urls": urls if any(urls) else [],
            "empty": self._prose(table.empty),
            "note": wording.rows_note_of(table, len(rows)),
            "definitions": [
                [self._prose(one) for one in told] for told in wording.definitions_of(table)
            ],
        }

    def _row_lines(self, table: Table, rows: list[list[str]]) -> dict[str, Any]:
        """Return rows as lines: they need a sixth of what cells need."""
        lines = rows_as_lines([one.title for one in table.columns], rows)
        shown = [broken(printable(one), _LINE) for one in lines]
        return {
            "kind": "lines",
            "title": self._prose(table.title, LONGEST_TITLE),
            "lines": shown,
        }
