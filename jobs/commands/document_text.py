"""The result document of an analysis as text: facts, notes, and aligned tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobs.spark.analyses.analysis import ColumnType

_ABSENT = "-"
_NUMBERS = frozenset(
    {ColumnType.INTEGER, ColumnType.OFFSET, ColumnType.DURATION_MS, ColumnType.RATIO}
)
_TEXTS: Mapping[ColumnType, Callable[[Any], str]] = {
    ColumnType.INTEGER: "{:,}".format,
    ColumnType.DURATION_MS: "{:,} ms".format,
    ColumnType.RATIO: "{:.1%}".format,
    ColumnType.BOOLEAN: lambda value: "yes" if value else "no",
    ColumnType.LIST: lambda value: f"[{','.join(map(str, value))}]",
}


def lines_of(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines for a person; of long tables, the rows that the document has."""
    yield document["question"]
    yield from (f"{name.replace('_', ' ')}: {_value(it)}" for name, it in document["facts"].items())
    yield from (f"Note: {note}" for note in document["notes"])
    for table in document["tables"]:
        yield ""
        yield f"{table['title']} ({table['rows']:,})"
        yield from _rows(table)
    yield ""
    yield f"Answered in {document['seconds']} s."


def text_of(value: Any, type_: ColumnType) -> str:
    """Return a value of a table as a person reads it; what is absent is a dash."""
    return _ABSENT if value is None else _TEXTS.get(type_, str)(value)


def _rows(table: Mapping[str, Any]) -> Iterator[str]:
    columns = [(one["name"], one["title"], ColumnType(one["type"])) for one in table["columns"]]
    texts = [[text_of(row[name], type_) for name, _, type_ in columns] for row in table["preview"]]
    cells = [[title for _, title, _ in columns], *texts]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        places = zip(row, widths, columns, strict=True)
        aligned = [
            text.rjust(width) if column[2] in _NUMBERS else text.ljust(width)
            for text, width, column in places
        ]
        yield f"  {'  '.join(aligned)}".rstrip()
    more = table["rows"] - len(table["preview"])
    if more > 0:
        yield f"  and {more:,} more: --output FOLDER keeps all of them."


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return text_of(value, ColumnType.BOOLEAN)
    return f"{value:,}" if isinstance(value, int) else str(value)
