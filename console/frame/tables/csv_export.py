"""A table as CSV: exactly the filtered rows, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TYPE_CHECKING

from django.http import StreamingHttpResponse

from jobs.csv_text import neutral

if TYPE_CHECKING:
    from console.frame.tables.page import TablePage

CHUNK = 2000


class Echo:
    """A file that gives back what is written, so that rows can be streamed."""

    def write(self, text: str) -> str:
        return text


def csv_response(page: TablePage, filename: str | None = None) -> StreamingHttpResponse:
    """Stream all filtered rows of a table, in its order, with its visible columns."""
    response = StreamingHttpResponse(_lines(page), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename or page.name}.csv"'
    return response


def _lines(page: TablePage) -> Iterator[str]:
    writer = csv.writer(Echo())
    columns = page.asked.columns
    yield writer.writerow([neutral(column.label) for column in columns])
    for row in page.filtered.iterator(chunk_size=CHUNK):
        yield writer.writerow([neutral(column.csv_value(row)) for column in columns])
