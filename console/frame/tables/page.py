"""One page of a table as its template and its export need it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.http import QueryDict

from console.frame.tables.columns import Cell, Choice, Column
from jobs.numbers import format_count

if TYPE_CHECKING:
    from console.frame.tables.table import Table, TableQuery


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a column as the template needs it."""

    column: Column
    aria_sort: str
    link: str


@dataclass(frozen=True, kw_only=True)
class TablePage:
    """One page of a table, ready for `components/_table.html` and for the export."""

    asked: TableQuery
    path: str
    rows: list[Any]
    filtered: QuerySet[Any]
    total: int
    count: int
    number: int
    pages: int

    @property
    def table(self) -> Table:
        return self.asked.table

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def query_text(self) -> str:
        return self.asked.text

    @property
    def is_filtered(self) -> bool:
        return self.asked.is_filtered

    @property
    def columns(self) -> list[Header]:
        """Return the visible columns with their sort links."""
        return [self._header(column) for column in self.asked.columns]

    @property
    def body(self) -> list[tuple[Any, list[Cell]]]:
        """Return each row with its cells."""
        return [(row, [column.cell(row) for column in self.asked.columns]) for row in self.rows]

    @property
    def all_columns(self) -> list[tuple[Column, bool]]:
        """Return every column and whether it is shown, for the column chooser."""
        shown = {column.key for column in self.asked.columns}
        return [(column, column.key in shown) for column in self.table.columns]

    @property
    def choices(self) -> list[dict[str, Any]]:
        """Return the menus of the filters that have fixed answers."""
        chosen = self.asked.filters
        return [
            {"param": self.asked.param(name), "choice": choice, "value": chosen.get(name, "")}
            for name, choice in self.table.filters.items()
            if isinstance(choice, Choice)
        ]

    @property
    def kept_parameters(self) -> list[tuple[str, str]]:
        """Return the other parameters of the URL, which must survive when the filter form is sent."""
        own = {self.asked.param(name) for name in ("q", "page", "cols", *self._menus())}
        items = ((name, value) for name, values in self.asked.query.lists() for value in values)
        return [(name, value) for name, value in items if name not in own]

    @property
    def search_param(self) -> str:
        return self.asked.param("q")

    @property
    def columns_param(self) -> str:
        return self.asked.param("cols")

    @property
    def has_search(self) -> bool:
        return bool(self.table.search)

    @property
    def summary(self) -> str:
        """Return how many rows there are: `1-50 of 120 (5,000 without filter)`."""
        first = (self.number - 1) * self.table.per_page + 1
        last = first + len(self.rows) - 1
        if not self.rows:
            span = "0"
        else:
            span = f"{format_count(first)}\N{EN DASH}{format_count(last)} of {format_count(self.count)}"
        return f"{span} ({format_count(self.total)} without filter)" if self.is_filtered else span

    @property
    def previous_link(self) -> str:
        return self.asked.url(self.path, page=self.number - 1) if self.number > 1 else ""

    @property
    def next_link(self) -> str:
        return self.asked.url(self.path, page=self.number + 1) if self.number < self.pages else ""

    @property
    def csv_link(self) -> str:
        """Return the address of the export: the same rows, without the cut into pages."""
        return self.asked.url(self.path, page=None, format="csv")

    @property
    def is_export(self) -> bool:
        """Whether the URL asks for this table's rows as CSV."""
        return self.asked.query.get(self.asked.param("format")) == "csv"

    @property
    def clear_link(self) -> str:
        changes: dict[str, str | int | None] = dict.fromkeys(["q", "page", *self.table.filters])
        return self.asked.url(self.path, **changes)

    def _menus(self) -> list[str]:
        return [name for name, choice in self.table.filters.items() if isinstance(choice, Choice)]

    def _header(self, column: Column) -> Header:
        if not column.order_by:
            return Header(column, "", "")
        is_sorted = column.key == self.asked.sort_key
        direction = "desc" if is_sorted and not self.asked.is_descending else "asc"
        aria_sort = (
            ("descending" if self.asked.is_descending else "ascending") if is_sorted else "none"
        )
        return Header(
            column, aria_sort, self.asked.url(self.path, sort=column.key, dir=direction, page=None)
        )


PER_PAGE = 50
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class RowPage:
    """One page of rows; `count` of all that fit."""

    rows: Sequence[Any]
    count: int
    number: int
    pages: int
    previous_link: str
    next_link: str
    per_page: int = PER_PAGE

    @property
    def summary(self) -> str:
        """How many there are: 51 to 100 of 120."""
        if not self.rows:
            return "0"
        first = (self.number - 1) * self.per_page + 1
        last = first + len(self.rows) - 1
        return f"{format_count(first)}\N{EN DASH}{format_count(last)} of {format_count(self.count)}"


# From the number of the first row and how many are wanted to the rows.
Rows = Callable[[int, int], Iterable[Any]]


def cut(rows: Iterable[Any] | Rows, count: int, query: QueryDict, name: str) -> RowPage:
    """Return the page that an address asks for in the parameter `name`; nonsense is the first page."""
    pages = max(1, math.ceil(count / PER_PAGE))
    asked = query.get(name, "")
    number = int(asked) if asked.isdecimal() and len(asked) <= _DIGITS else 1
    number = min(max(1, number), pages)
    first = (number - 1) * PER_PAGE
    found = rows(first, PER_PAGE) if callable(rows) else islice(rows, first, first + PER_PAGE)
    shown = list(found)
    before = _link(query, name, number - 1) if number > 1 else ""
    after = _link(query, name, number + 1) if number < pages else ""
    return RowPage(shown, count, number, pages, before, after)


def _link(query: QueryDict, name: str, number: int) -> str:
    changed = query.copy()
    changed[name] = str(number)
    return f"?{changed.urlencode()}"
