"""A table as CSV: exactly the filtered rows, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
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


def csv_response(
    page: TablePage, filename: str | None = None, missing: Sequence[str] = ()
) -> StreamingHttpResponse:
    """Stream all filtered rows of a table, in its order, with its visible columns.

    `missing` are sentences about what the rows cannot tell: each is a row of its own at the end, in a last
    column `Missing` that is there only then.
    """
    response = StreamingHttpResponse(_lines(page, missing), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename or page.name}.csv"'
    return response


def _lines(page: TablePage, missing: Sequence[str]) -> Iterator[str]:
    writer = csv.writer(Echo())
    columns = page.asked.columns
    last = [""] if missing else []
    more = ["Missing"] if missing else []
    yield writer.writerow([*(neutral(column.label) for column in columns), *more])
    for row in page.filtered.iterator(chunk_size=CHUNK):
        yield writer.writerow([*(neutral(column.csv_value(row)) for column in columns), *last])
    for sentence in missing:
        yield writer.writerow([*("" for _ in columns), neutral(sentence)])
