"""The tables of a document as CSV files in a zip, and all its figures as one more."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from jobs.csv_text import csv_lines
from jobs.reports.document import Document, Figures, Table
from jobs.reports.values import UNITS, ValueType
from jobs.visible import visible_line

FIGURES = "figures.csv"
_FIGURE_HEADS = ("Section", "Figure", "Value", "Before", "Unit", "Definition")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Characters of the names of section and table in that of a file.
_LONGEST_NAME = 120
# The first year that a zip can hold.
_FIRST_YEAR = 1980


def zip_of(document: Document) -> bytes:
    """Return a zip with one CSV file per table, in the order of their names, and `figures.csv`."""
    files: dict[str, str] = {}
    for part, one in _tables(document):
        name = _name(part.name, one)
        # Names that differ only in what a file's name cannot have: both tables are there.
        files[f"{len(files)}-{name}" if name in files else name] = _table(one)
    files[FIGURES] = _text(_FIGURE_HEADS, _figures(document))
    made_at = datetime.fromisoformat(document.made_at).astimezone(UTC)
    stamp = made_at.timetuple()[:6]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, max(stamp, (_FIRST_YEAR, 1, 1, 0, 0, 0)))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, files[name])
    return target.getvalue()


def _tables(document: Document) -> Iterator[tuple[Any, Table]]:
    for part in document.sections:
        for one in part.blocks:
            if isinstance(one, Table):
                yield part, one


def _name(section: str, table: Table) -> str:
    named = (_UNSAFE.sub("-", one)[:_LONGEST_NAME] for one in (section, table.name))
    return f"{'-'.join(named)}.csv"


def _table(table: Table) -> str:
    heads = [_with_unit(column.title, column.type) for column in table.columns]
    return _text(heads, table.rows)


def _figures(document: Document) -> Iterator[tuple[Any, ...]]:
    for part in document.sections:
        for block in part.blocks:
            for one in block.figures if isinstance(block, Figures) else ():
                unit = UNITS.get(one.type, "")
                yield part.title, one.label, one.value, one.before, unit, one.definition


def _with_unit(title: str, type_: ValueType) -> str:
    return f"{title} ({UNITS[type_]})" if type_ in UNITS else title


def _text(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    return "".join(csv_lines(map(_cell, row) for row in (heads, *rows)))


def _cell(value: Any) -> Any:
    return visible_line(value) if isinstance(value, str) else value
