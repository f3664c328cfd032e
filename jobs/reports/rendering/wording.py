"""What HTML, PDF and mails say alike: facts, covered periods, gaps, notes on tables."""

from __future__ import annotations

from string import punctuation
from typing import Any
from urllib.parse import quote

from jobs import numbers
from jobs.reports.document import Column, Document, Gap, Section, Table
from jobs.reports.values import ValueType, stamp, text_of
from jobs.visible import visible, visible_line

# What stays as it is in an address; all else is percent-encoded.
_OF_LINKS = punctuation
# Typst needs about 16 kB for each cell of a print; CSV and JSON have all rows of the document.
MOST_CELLS = 4000
_ROWS = (1000, 500, 200, 100, 50, 20, 10)


def rows_printed(document: Document) -> int:
    """Return how many rows of each table are printed, so that all tables have at most `MOST_CELLS`."""
    tables = document.tables()

    def cells(rows: int) -> int:
        return sum(min(rows, len(one.rows)) * len(one.columns) for one in tables)

    return next((rows for rows in _ROWS if cells(rows) <= MOST_CELLS), _ROWS[-1])


def value_of(value: Any, type_: ValueType, absent: str = numbers.DASH) -> str:
    """Return a value for people; one that is not of its type as it is."""
    try:
        return visible_line(absent if value is None else text_of(value, type_))
    except (ArithmeticError, TypeError, ValueError):
        return visible_line(str(value))


def cell_of(value: Any, column: Column) -> str:
    """Return a value of a table for people."""
    return value_of(value, column.type, column.absent)


def paragraphs_of(text: str) -> list[str]:
    """Return a text as paragraphs, one per line."""
    return [line for line in visible(text).replace("\t", " ").split("\n") if line.strip()]


def facts_of(document: Document) -> list[tuple[str, str]]:
    """Return what a report is about: subjects, periods, when and for whom it was made."""
    before = document.before.label if document.before else ""
    facts = (
        ("Subjects", ", ".join(document.subjects)),
        ("Period", document.period.label),
        ("Period before", before),
        ("Created", value_of(document.made_at, ValueType.MOMENT)),
        ("Created for", document.made_for),
        ("Created by", f"crosslog {document.crosslog}".strip()),
    )
    return [(name, visible_line(text)) for name, text in facts if text]


def covered_of(section: Section, document: Document) -> str:
    """Return the sentence on what a section's data covers; empty when it is not about a period."""
    if not section.is_of_period:
        return ""
    if section.start is None or section.end is None:
        return "No data for this period."
    if (section.start, section.end) == (stamp(document.period.start), stamp(document.period.end)):
        return "Data covers the whole period."
    return f"Data from {_moment(section.start)} to {_moment(section.end)}."


def gap_of(gap: Gap) -> str:
    """Return a gap as a sentence: from when to when, and why."""
    if gap.start is None and gap.end is None:
        span = "Whole period"
    elif gap.start is None:
        span = f"Until {_moment(gap.end)}"
    elif gap.end is None:
        span = f"From {_moment(gap.start)}"
    else:
        span = f"{_moment(gap.start)} to {_moment(gap.end)}"
    return visible_line(f"{span}: {gap.why}")


def rows_note_of(table: Table, shown: int) -> str:
    """Return how many of its rows a table shows; empty when it shows all."""
    held = len(table.rows)
    total = max(table.total or 0, held)
    if shown >= total:
        return ""
    note = f"First {shown:,} of {total:,} rows"
    if shown == held:
        return f"{note}."
    return f"{note}, all in the CSV." if held == total else f"{note}, {held:,} in the CSV."


def definitions_of(table: Table) -> list[tuple[str, str]]:
    """Return the definitions of a table's columns."""
    return [
        (visible_line(column.title), visible_line(column.definition))
        for column in table.columns
        if column.definition
    ]


def url_of(document: Document, href: str) -> str:
    """Return the address of a page of the console; empty without a base URL."""
    if not document.base_url or not href.startswith("/"):
        return ""
    return quote(f"{document.base_url.rstrip('/')}{href}", safe=_OF_LINKS, errors="replace")


def _moment(text: str | None) -> str:
    return text_of(text, ValueType.MOMENT)
