"""The columns and filters of a table: what a row shows, and how it can be narrowed down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import QuerySet

from jobs.numbers import format_count, format_least

ApplyFilter = Callable[[QuerySet[Any], str], QuerySet[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    `key` is an attribute path of the row ("topic.name"), also the column's name in the URL.
    `order_by` is an ORM path to sort by (None: not sortable). `definition` explains the number in a
    tooltip. `csv` is an attribute path or a function of the row for the export (None: like `key`).
    `template` draws the cell with `row`, `value` and `column`; `format` turns the value into text,
    for example `numbers.format_count`. `link` is an attribute path or a function that gives a URL.
    A number has thousands separators, unless it `is_id`, such as that of a broker.
    `is_hidden` columns appear when the reader chooses them. `unknown` is the attribute path of how many
    rows of a total have no number: with some, the text begins with "at least". Where the table is wider
    than its card, columns with a larger `fold` are folded first, then the last ones; the first one stays.
    """

    key: str
    label: str
    order_by: str | None = None
    numeric: bool = False
    definition: str = ""
    csv: str | Callable[[Any], Any] | None = None
    template: str | None = None
    format: Callable[[Any], str] | None = None
    link: str | Callable[[Any], str] | None = None
    is_hidden: bool = False
    is_id: bool = False
    unknown: str = ""
    fold: int = 0

    def value(self, row: Any) -> Any:
        """Return the raw value of the cell; None when anything on the path is absent."""
        return read_path(row, self.key)

    def csv_value(self, row: Any) -> Any:
        """Return what the export shows."""
        return self.value(row) if self.csv is None else _follow(self.csv, row)

    def cell(self, row: Any) -> Cell:
        value = self.value(row)
        text = self.format(value) if self.format else self._grouped(value)
        if self.unknown:
            text = format_least(value, read_path(row, self.unknown), self.format or str)
        return Cell(self, row, value, text, _follow(self.link, row) if self.link else "")

    def _grouped(self, value: Any) -> Any:
        is_count = self.numeric and isinstance(value, int) and not self.is_id
        return format_count(value) if is_count else value


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of one row."""

    column: Column
    row: Any
    value: Any
    text: Any
    link: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter with a fixed set of answers, shown as a menu: `options` are (value, label) pairs.

    `otherwise` names what is shown without an answer.
    """

    # Templates call what is callable, and would lose the label.
    do_not_call_in_templates: ClassVar[bool] = True

    label: str
    options: Sequence[tuple[str, str]]
    apply: ApplyFilter
    otherwise: str = "any"

    def __call__(self, queryset: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Apply a known value; an unknown one leaves the rows as they are."""
        known = {key for key, _ in self.options}
        return self.apply(queryset, value) if value in known else queryset


def equals(field: str) -> ApplyFilter:
    """Return a filter for the rows whose field has the value."""
    return lambda rows, value: rows.filter(**{field: value})


def read_path(row: Any, path: str) -> Any:
    """Follow an attribute path through objects and mappings; None when a step is absent."""
    for step in path.split("."):
        row = row.get(step) if isinstance(row, Mapping) else getattr(row, step, None)
        if callable(row):
            row = row()
    return row


def _follow(source: str | Callable[[Any], Any], row: Any) -> Any:
    return read_path(row, source) if isinstance(source, str) else source(row)
