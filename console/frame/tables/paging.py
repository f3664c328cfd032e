"""Pages of rows that no database holds: cut, counted and linked like the tables of the frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.http import QueryDict

from jobs.numbers import format_count

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
