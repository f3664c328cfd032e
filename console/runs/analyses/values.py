"""Values of an answer as people read them, by the type of their column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.frame.pages.states import spoken
from jobs import numbers
from jobs.spark.analyses.analysis import Column, ColumnType

# None: a number that names something, without separators.
NUMERIC = frozenset(
    {
        ColumnType.INTEGER,
        ColumnType.OFFSET,
        ColumnType.DURATION_MS,
        ColumnType.RATIO,
        ColumnType.NUMBER,
        ColumnType.BYTES,
        None,
    }
)
# Codes whose words alone are not clear.
_CODES = {"nothing": "No change", "silence": "No records"}
# Types of columns that the name of a fact does not tell.
_JSON_OF = {ColumnType.CODE: str, ColumnType.BYTES: int}
LONGEST_LINE = 60
# From here on a fraction tells nothing more.
_WHOLE = 100
_TEXTS: Mapping[ColumnType | None, Callable[[Any], str]] = {
    ColumnType.CODE: lambda value: _CODES.get(value) or spoken(value).replace("Isr", "ISR"),
    ColumnType.INTEGER: numbers.format_count,
    ColumnType.OFFSET: numbers.format_count,
    ColumnType.DURATION_MS: numbers.format_span_ms,
    ColumnType.RATIO: numbers.format_percent,
    ColumnType.NUMBER: lambda value: f"{value:.3g}" if abs(value) < _WHOLE else f"{value:,.0f}",
    ColumnType.BYTES: numbers.format_bytes,
    ColumnType.BOOLEAN: lambda value: "Yes" if value else "No",
    ColumnType.LIST: lambda value: ", ".join(map(str, value)) or "none",
}
_LABELS = {"entries_most": "Entries at most"}
_NAMING = ("_id", "epoch", "partition")
_SHARES = ("share", "ratio", "availability")
# Columns of words of a closed vocabulary, and words that are shown as others.
_WORDS = frozenset({"cause", "what", "resource_type", "violations"})
_SHOWN = {"nothing": "No change", "silence": "No controller"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A value: `at` is a moment in the zone of the reader, `state` a pill; else `text` is shown.

    `href`: the address of what it names.
    """

    text: str
    at: datetime | None = None
    is_numeric: bool = False
    state: str = ""
    href: str = ""

    @property
    def is_long(self) -> bool:
        """Whether it is broken into lines: a key may be longer than any screen."""
        return len(self.text) > LONGEST_LINE


def type_of(column: Column) -> ColumnType | None:
    """Return how values of a column are written; None: a number that names something."""
    is_name = column.name.endswith(_NAMING)
    return None if is_name and column.type is ColumnType.INTEGER else column.type


def cell_of(value: Any, type_: ColumnType | None) -> Cell:
    """Return a JSON value of a table as a cell; what is absent is a dash."""
    if value is None:
        return Cell(numbers.DASH, is_numeric=type_ in NUMERIC)
    if type_ is ColumnType.MOMENT:
        return Cell(str(value), at=read_moment(value))
    return Cell(text_of(value, type_), is_numeric=type_ in NUMERIC)


def text_of(value: Any, type_: ColumnType | None) -> str:
    """Return a JSON value of a table as plain text."""
    if value is None:
        return numbers.DASH
    return _TEXTS.get(type_, str)(value)


def body_of(columns: tuple[Column, ...], rows: list[dict[str, Any]]) -> list[list[Cell]]:
    """Return rows as cells; words of a vocabulary as people write them."""
    return [
        [
            _verdict(one.name, row[one.name])
            or cell_of(_shown(one.name, row[one.name]), type_of(one))
            for one in columns
        ]
        for row in rows
    ]


def _verdict(name: str, value: Any) -> Cell | None:
    """Return a verdict of one word as a state; None for any other value."""
    is_word = name == "verdict" and isinstance(value, str) and value.isidentifier()
    return Cell(spoken(value), state=value) if is_word else None


def _shown(name: str, value: Any) -> Any:
    if name in _WORDS and isinstance(value, list):
        return [spoken(one) for one in value]
    return _SHOWN.get(value, spoken(value)) if name in _WORDS and isinstance(value, str) else value


def facts_of(facts: Mapping[str, Any], columns: Iterable[Column] = ()) -> list[tuple[str, Cell]]:
    """Return facts with their labels; what a value is, its name and its JSON type tell.

    A fact with the name of one of `columns` has its title; its words and its sizes are written as there.
    """
    by_name = {one.name: one for one in columns}
    told = []
    for name, value in facts.items():
        column = by_name.get(name)
        label = column.title if column else _LABELS.get(name) or spoken(name.removesuffix("_ms"))
        is_as_there = column is not None and type(value) is _JSON_OF.get(column.type)
        shown = cell_of(value, column.type) if column and is_as_there else _fact(name, value)
        told.append((label, _verdict(name, value) or shown))
    return told


def read_moment(value: Any) -> datetime | None:
    """Return the moment that a text in ISO 8601 with its zone means; None for any other value."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo else None


def _fact(name: str, value: Any) -> Cell:
    moment = read_moment(value)
    if moment is not None:
        return Cell(str(value), at=moment)
    if isinstance(value, bool):
        return cell_of(value, ColumnType.BOOLEAN)
    if isinstance(value, list):
        return cell_of(value, ColumnType.LIST)
    if isinstance(value, int | float):
        return cell_of(value, _number_type(name, value))
    return Cell(numbers.DASH if value is None else str(value))


def _number_type(name: str, value: float) -> ColumnType | None:
    if name.endswith("_ms"):
        return ColumnType.DURATION_MS
    if name.endswith(_SHARES):
        return ColumnType.RATIO
    if name.endswith("_bytes"):
        return ColumnType.BYTES
    if isinstance(value, float):
        return ColumnType.NUMBER
    return None if name.endswith(_NAMING) else ColumnType.INTEGER
