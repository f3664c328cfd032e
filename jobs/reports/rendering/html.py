"""A document as one page of HTML: style and charts inside, no script, nothing from elsewhere.

Simple enough for mail programs: tables, classes, no variables; dark by `prefers-color-scheme`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from html import escape

from jobs.reports.document import Block, Chart, Document, Figures, Section, Table, Text, Verdict
from jobs.reports.rendering import wording
from jobs.reports.values import NUMERIC, ValueType
from jobs.visible import visible_line

STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;max-width:64rem;padding:24px 16px;background:#fff;color:#1c1f22;
font:14px/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1{font-size:22px;line-height:1.25;margin:0 0 16px}h2{font-size:17px;margin:32px 0 6px}
h3{font-size:14px;margin:20px 0 6px}p{margin:6px 0}ul{margin:4px 0;padding-left:20px}
a{color:#0b57a8}small,.sub{color:#5a6067;font-size:12px}
table{border-collapse:collapse;margin:8px 0}.wide{width:100%}
.scroll{overflow-x:auto;overflow-wrap:normal}
th,td{padding:5px 10px 5px 0;border-bottom:1px solid #d9d9d4;text-align:left;vertical-align:top}
td{min-width:3rem;max-width:26rem;overflow-wrap:anywhere}
td:first-child{min-width:8rem}
thead th{color:#5a6067;font-weight:600;font-size:12px;vertical-align:bottom}
.facts th{color:#5a6067;font-weight:400;white-space:nowrap}
.facts th,.facts td{border:0;padding:1px 14px 1px 0}
.n{text-align:right;white-space:nowrap}th.n{white-space:normal}
.verdict{margin:8px 0;padding:4px 0 4px 10px;border-left:4px solid #50565c}
.verdict b{margin-right:8px}
.healthy b{color:#14693d}.info b{color:#4456b0}.warning b{color:#7d5300}.critical b{color:#a81d2e}
.healthy{border-color:#14693d}.info{border-color:#4456b0}.warning{border-color:#b97a0c}.critical{border-color:#a81d2e}
img{display:block;width:100%;min-width:480px;max-width:672px;height:auto}
@media (prefers-color-scheme:dark){body{background:#101214;color:#e8eaec}a{color:#62a8f5}
small,.sub,thead th,.facts th{color:#a9b1b9}th,td{border-color:#30363c}
.healthy b{color:#4cc38a}.info b{color:#9dadf7}.warning b{color:#e8b64c}.critical b{color:#ff8a94}
.healthy{border-color:#4cc38a}.info{border-color:#9dadf7}.warning{border-color:#e8b64c}.critical{border-color:#ff8a94}}
@media print{body{max-width:none;padding:0}}
"""
# How the picture of a chart is addressed.
_Source = Callable[[Chart], str]


def style_hash() -> str:
    """Return the source expression by which a content security policy allows the page's style alone."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"


def content_policy() -> str:
    """Return the content security policy of the page: its own style and pictures, nothing else."""
    return f"default-src 'none'; style-src {style_hash()}; img-src data:; frame-ancestors 'none'"


def html_of(document: Document, *, is_whole: bool = False) -> str:
    """Return the page, its charts inside; of long tables the first rows, all when `is_whole`."""

    def inside(chart: Chart) -> str:
        from jobs.reports.rendering.charts import png_of

        png = base64.b64encode(png_of(chart, document.period)).decode()
        return f"data:image/png;base64,{png}"

    return page_of(document, inside, None if is_whole else wording.rows_printed(document))


def page_of(document: Document, source: _Source, most_rows: int | None) -> str:
    """Return the page with charts where `source` says."""
    return _Page(document, source, most_rows).html()


class _Page:
    def __init__(self, document: Document, source: _Source, most_rows: int | None) -> None:
        self._document = document
        self._source = source
        self._most_rows = most_rows

    def html(self) -> str:
        document = self._document
        title = _shown(document.title)
        facts = "".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
            for name, text in wording.facts_of(document)
        )
        return (
            '<!doctype html>\n<html lang="en" dir="ltr"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{title}</title><style>{STYLE}</style></head><body><main>\n<h1>{title}</h1>\n"
            f"{''.join(map(self._verdict, document.verdicts))}"
            f'<table class="facts"><tbody>{facts}</tbody></table>\n'
            f"{''.join(map(self._section, document.sections))}</main></body></html>\n"
        )

    def _section(self, section: Section) -> str:
        covered = wording.covered_of(section, self._document)
        told = f'<p class="sub">{escape(covered)}</p>\n' if covered else ""
        gaps = "".join(f"<li>{escape(wording.gap_of(one))}</li>" for one in section.gaps)
        if gaps:
            told += f'<p class="sub"><b>Missing data</b></p>\n<ul class="sub">{gaps}</ul>\n'
        blocks = "".join(map(self._block, section.blocks))
        return f"<h2>{_shown(section.title)}</h2>\n{told}{blocks}"

    def _block(self, block: Block) -> str:
        match block:
            case Text():
                return "".join(
                    f"<p>{escape(one)}</p>\n" for one in wording.paragraphs_of(block.text)
                )
            case Verdict():
                return self._verdict(block)
            case Figures():
                return self._figures(block)
            case Table():
                return self._table(block)
            case Chart():
                alt = _shown(block.alt or block.title)
                image = f'<img src="{self._source(block)}" alt="{alt}" width="672">'
                return f"{_titled(block.title)}<div class='scroll'>{image}</div>\n"

    def _verdict(self, one: Verdict) -> str:
        sentence = self._linked(one.href, _shown(one.sentence))
        word = _shown(one.word)
        return f'<p class="verdict {one.level.value}"><b>{word}</b> {sentence}</p>\n'

    def _figures(self, block: Figures) -> str:
        heads = [("Figure", False), ("Value", True)]
        heads += [("Period before", True)] if block.has_before else []
        rows = []
        for one in block.figures:
            name = self._linked(one.href, _shown(one.label))
            small = f"<br><small>{_shown(one.definition)}</small>" if one.definition else ""
            value = f"<b>{_value(one.value, one.type)}</b>"
            cells = f"<td>{name}{small}</td>{_cell(value, is_numeric=True)}"
            if block.has_before:
                cells += _cell(_value(one.before, one.type), is_numeric=True)
            rows.append(f"<tr>{cells}</tr>\n")
        return _table(heads, rows)

    def _table(self, table: Table) -> str:
        shown = table.rows[: self._most_rows]
        numeric = [column.type in NUMERIC for column in table.columns]
        rows = []
        for at, row in enumerate(shown):
            cells = [
                escape(wording.cell_of(value, column))
                for value, column in zip(row, table.columns, strict=True)
            ]
            cells[0] = self._linked(table.hrefs[at] if table.hrefs else "", cells[0])
            told = "".join(
                _cell(cell, is_numeric=is_one) for cell, is_one in zip(cells, numeric, strict=True)
            )
            rows.append(f"<tr>{told}</tr>\n")
        heads = [
            (visible_line(one.title), n) for one, n in zip(table.columns, numeric, strict=True)
        ]
        body = _table(heads, rows) if rows else f'<p class="sub">{_shown(table.empty)}</p>\n'
        note = wording.rows_note_of(table, len(shown))
        if note:
            body += f'<p class="sub">{escape(note)}</p>\n'
        for name, text in wording.definitions_of(table):
            body += f'<p class="sub">{escape(name)}: {escape(text)}</p>\n'
        return f"{_titled(table.title)}{body}"

    def _linked(self, href: str, text: str) -> str:
        url = wording.url_of(self._document, href)
        return f'<a href="{escape(url)}">{text}</a>' if url else text


def _table(heads: Iterable[tuple[str, bool]], rows: Iterable[str]) -> str:
    top = "".join(
        f'<th scope="col"{_NUMERIC if is_numeric else ""}>{escape(head)}</th>'
        for head, is_numeric in heads
    )
    return (
        f'<div class="scroll"><table class="wide"><thead><tr>{top}</tr></thead>'
        f"<tbody>\n{''.join(rows)}</tbody></table></div>\n"
    )


_NUMERIC = ' class="n" align="right"'


def _cell(text: str, *, is_numeric: bool) -> str:
    return f"<td{_NUMERIC if is_numeric else ''}>{text}</td>"


def _titled(title: str) -> str:
    return f"<h3>{_shown(title)}</h3>\n" if title else ""


def _shown(text: str) -> str:
    return escape(visible_line(text))


def _value(value: object, type_: ValueType) -> str:
    return escape(wording.value_of(value, type_))
