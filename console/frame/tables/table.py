"""Tables: sorted, filtered and cut into pages by the database, with everything that matters in the URL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Q, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.db.models.expressions import OrderBy
from django.http import HttpRequest, QueryDict

from console.frame.pages.addresses import own_path
from console.frame.security.access import visible
from console.frame.tables.columns import ApplyFilter, Column
from console.frame.tables.csv_export import CsvExport, csv_response
from console.frame.tables.page import TablePage

PER_PAGE = 50
LONGEST_SEARCH = 200


@dataclass(frozen=True, slots=True)
class Table:
    """What a table can do, independent of a request.

    `filters` maps a query parameter to a function (queryset, value) -> queryset, or to a `Choice`.
    `default_sort` is a column key, with a leading minus for descending; `ties` are fields that sort equal
    rows, likewise, and end with a unique one. `name` is the table's id
    in the page and, unless it is "table", the prefix of its query parameters.
    """

    columns: Sequence[Column]
    search: Sequence[str] = ()
    filters: Mapping[str, ApplyFilter] = field(default_factory=dict)
    default_sort: str = ""
    per_page: int = PER_PAGE
    name: str = "table"
    ties: Sequence[str] = ("pk",)

    def read(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        filename: str = "",
        missing: Sequence[str] = (),
    ) -> TablePage:
        """Read the page that the URL asks for: two or three queries, whatever the number of rows.

        Only rows that the reader may see are counted, shown and exported. With a `filename`, an URL that
        asks for CSV ends the view here: `CsvExport` is raised, and its response is the answer.
        `missing` are sentences about what the rows cannot tell, for the export.
        """
        queryset = visible(request.user, queryset)
        asked = TableQuery(self, request.GET)
        filtered = asked.filtered(queryset)
        total = queryset.count()
        count = filtered.count() if asked.is_filtered else total
        pages = max(1, math.ceil(count / self.per_page))
        number = min(max(1, asked.page), pages)
        first = (number - 1) * self.per_page
        ordered = filtered.order_by(*asked.ordering(queryset))
        page = TablePage(
            asked=asked,
            path=own_path(request),
            rows=list(ordered[first : first + self.per_page]),
            filtered=ordered,
            total=total,
            count=count,
            number=number,
            pages=pages,
        )
        if filename and page.is_export:
            raise CsvExport(csv_response(page, filename, missing))
        return page


class TableQuery:
    """What the URL asks of a table; nonsense falls back to the table's defaults."""

    def __init__(self, table: Table, query: QueryDict) -> None:
        self.table = table
        self.query = query
        self.text = self._get("q").strip()[:LONGEST_SEARCH]
        self.filters = {name: self._get(name) for name in table.filters if self._get(name)}
        self.sort_key, self.is_descending = self._sort()
        page = self._get("page")
        self.page = int(page) if page.isdecimal() and len(page) < 10 else 1  # noqa: PLR2004 - no table has 10^9 pages
        chosen = set(query.getlist(self.param("cols")))
        self.columns = [
            c for c in table.columns if (c.key in chosen if chosen else not c.is_hidden)
        ]

    @property
    def is_filtered(self) -> bool:
        return bool(self.filters or (self.text and self.table.search))

    def param(self, name: str) -> str:
        """Return the query parameter's name, prefixed when the page has several tables."""
        return name if self.table.name == "table" else f"{self.table.name}.{name}"

    def filtered(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        for name, value in self.filters.items():
            queryset = self.table.filters[name](queryset, value)
        # Each word must be found in one of the columns, so that "orders east" narrows down.
        for word in self.text.split() if self.table.search else []:
            found = Q()
            for path in self.table.search:
                found |= Q(**{f"{path}__icontains": word})
            queryset = queryset.filter(found)
        return queryset

    def ordering(self, queryset: QuerySet[Any]) -> list[OrderBy]:
        """Return the order asked for; rows without a value come last, and ties stay in one order."""
        order_by = {c.key: c.order_by for c in self.table.columns}.get(self.sort_key)
        ties = [OrderBy(F(one.lstrip("-")), descending=one[0] == "-") for one in self.table.ties]
        if not order_by:
            return ties
        nulls_last = True if _may_be_null(queryset, order_by) else None
        return [
            OrderBy(F(order_by), descending=self.is_descending, nulls_last=nulls_last),
            *ties,
        ]

    def url(self, path: str, **changes: str | int | None) -> str:
        """Return this page's URL with some of the table's parameters changed; None takes one away."""
        query = self.query.copy()
        for name, value in changes.items():
            query.pop(self.param(name), None)
            if value is not None:
                query[self.param(name)] = str(value)
        text = query.urlencode()
        return f"{path}?{text}" if text else path

    def _get(self, name: str) -> str:
        return self.query.get(self.param(name), "")

    def _sort(self) -> tuple[str, bool]:
        sortable = {c.key for c in self.table.columns if c.order_by}
        asked = self._get("sort")
        if asked in sortable:
            return asked, self._get("dir") == "desc"
        default = self.table.default_sort
        return default.removeprefix("-"), default.startswith("-")


def _may_be_null(queryset: QuerySet[Any], path: str) -> bool:
    """Say whether a path can be NULL: sorting plain columns without a NULLS clause lets an index help."""
    model: Any = queryset.model
    try:
        for step in path.split(LOOKUP_SEP):
            model_field = model._meta.get_field(step)
            if getattr(model_field, "null", True):
                return True
            model = model_field.related_model
    except (FieldDoesNotExist, AttributeError):
        return True
    return False
