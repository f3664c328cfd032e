"""Columns of reports that know how their values are read, and tables built from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from jobs.reports import document
from jobs.reports.document import Table
from jobs.reports.values import ValueType, stamp


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `of` reads its value from what a row is about, or names its attribute.

    Empty: the attribute has the name of the column.
    `is_before` is a column of the period before, which is left out when the report has none.
    """

    name: str
    title: str
    type: ValueType = ValueType.TEXT
    definition: str = ""
    of: str | Callable[[Any], Any] = ""
    is_before: bool = False

    def values(self, found: Iterable[Any]) -> list[Any]:
        """Return the value of each row."""
        read = self.of if callable(self.of) else attrgetter(self.of or self.name)
        values = map(read, found)
        return [stamp(one) for one in values] if self.type is ValueType.MOMENT else list(values)


def before_column(
    title: str, type_: ValueType, of: Callable[[Any], Any], definition: str = ""
) -> Column:
    """Return the column of the period before."""
    return Column("before", title, type_, definition, of, is_before=True)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a table looks like: its columns, the page of each row (None: rows have none), and how many it has.

    `most`: only the first of more rows are shown. `empty` is said when there is none.
    """

    name: str
    title: str
    columns: Sequence[Column]
    href: Callable[[Any], str] | None = attrgetter("href")
    most: int | None = None
    empty: str = "None."

    def fill(self, found: Sequence[Any], total: int = 0, *, has_before: bool = False) -> Table:
        """Return the table with a row for each of `found`; `total`: of so many that there are."""
        shown = found[: self.most]
        wanted = [one for one in self.columns if has_before or not one.is_before]
        total = max(total, len(found))
        return Table(
            self.name,
            self.title,
            tuple(document.Column(one.name, one.title, one.type, one.definition) for one in wanted),
            tuple(zip(*(one.values(shown) for one in wanted), strict=True)),
            tuple(map(self.href, shown)) if self.href else (),
            total if total > len(shown) else None,
            self.empty,
        )
