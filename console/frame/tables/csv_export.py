"""A table as CSV: exactly the filtered rows, safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.http import StreamingHttpResponse

from jobs.csv_text import csv_lines

if TYPE_CHECKING:
    from console.frame.tables.page import TablePage

CHUNK = 2000


def csv_response(page: TablePage, filename: str | None = None) -> StreamingHttpResponse:
    """Stream all filtered rows of a table, in its order, with its visible columns."""
    response = StreamingHttpResponse(csv_lines(_rows(page)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename or page.name}.csv"'
    return response


def _rows(page: TablePage) -> Iterator[list[Any]]:
    columns = page.asked.columns
    yield [column.label for column in columns]
    for row in page.filtered.iterator(chunk_size=CHUNK):
        yield [column.csv_value(row) for column in columns]
