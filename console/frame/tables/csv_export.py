"""A table as CSV: exactly the filtered rows, safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from console.frame.tables.columns import Column
from jobs.csv_text import csv_lines

if TYPE_CHECKING:
    from console.frame.tables.page import TablePage

CHUNK = 2000


class CsvExport(Exception):
    """The export that a URL asks for; it ends a view before the view reads what only its page shows."""

    def __init__(self, response: StreamingHttpResponse) -> None:
        super().__init__()
        self.response = response


class CsvExports:
    """Answer with the export that a view raised."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Return the export; other exceptions are not for here."""
        return exception.response if isinstance(exception, CsvExport) else None


def csv_response(
    page: TablePage, filename: str | None = None, missing: Sequence[str] = ()
) -> StreamingHttpResponse:
    """Stream all filtered rows of a table, in its order, with its visible columns.

    How many rows of a total have no number is in a column at the end, where no visible one tells it.
    `missing` are sentences about what the rows cannot tell: each is a row of its own at the end, in a last
    column `Missing` that is there only then.
    """
    lines = csv_lines(_rows(page, missing))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename or page.name}.csv"'
    return response


def _rows(page: TablePage, missing: Sequence[str]) -> Iterator[list[Any]]:
    columns = [*page.asked.columns, *_unknown(page.asked.columns)]
    last = [""] if missing else []
    more = ["Missing"] if missing else []
    yield [*(column.label for column in columns), *more]
    for row in page.filtered.iterator(chunk_size=CHUNK):
        yield [*(column.csv_value(row) for column in columns), *last]
    for sentence in missing:
        yield [*("" for _ in columns), sentence]


def _unknown(columns: Sequence[Column]) -> Iterator[Column]:
    shown = {column.key for column in columns}
    for column in columns:
        if column.unknown and column.unknown not in shown:
            shown.add(column.unknown)
            yield Column(column.unknown, f"{column.label}: without a number")
