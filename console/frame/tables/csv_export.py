"""A table as CSV: exactly the filtered rows, safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.http import StreamingHttpResponse

from console.frame.tables.columns import Column
from jobs.csv_text import csv_lines

if TYPE_CHECKING:
    from console.frame.tables.page import TablePage

CHUNK = 2000


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
