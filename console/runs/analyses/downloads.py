"""A table of an answer as a file: CSV that is safe in a spreadsheet, or its Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

from django.http import FileResponse, Http404, StreamingHttpResponse

from console.frame.errors import or_404
from console.runs.analyses.results import AnswerTable, tables_in
from console.runs.models import Run
from jobs.csv_text import csv_lines
from jobs.spark.analyses.analysis import Column, ColumnType

_UNITS = {ColumnType.DURATION_MS: " (ms)", ColumnType.BYTES: " (bytes)"}
# Generated clients know no media type of Parquet.
CSV, PARQUET = "text/csv; charset=utf-8", "application/octet-stream"


def find_table(run: Run, name: str) -> AnswerTable:
    """Return a table of an answer; raises Http404, and as `results.result_of`."""
    return or_404(tables_in(run).get(name), f"This answer has no table {name}.")


def csv_of(run: Run, name: str) -> StreamingHttpResponse:
    """Stream all rows as CSV; moments are ISO 8601 in UTC. Raises as `AnswerTable.stream`."""
    found = find_table(run, name)
    rows = found.stream()
    answer = StreamingHttpResponse(_lines(found.table.columns, rows), content_type=CSV)
    answer["Content-Disposition"] = f'attachment; filename="{_file_name(run, name)}.csv"'
    return answer


def parquet_of(run: Run, name: str) -> FileResponse:
    """Stream all rows as one Parquet file, moments in Unix ms; raises as `AnswerTable.stream`."""
    found = find_table(run, name)
    found.stream()
    name_of_file = f"{_file_name(run, name)}.parquet"
    file = whole_parquet(found.folder / name)
    return FileResponse(file, as_attachment=True, filename=name_of_file, content_type=PARQUET)


def whole_parquet(folder: Path) -> IO[bytes]:
    """Return a table as one open Parquet file; raises Http404 for one without files."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise Http404(f"The table {folder.name} has no file.")
    if len(files) == 1:
        return files[0].open("rb")
    # Several parts: one file of them all. Pages without this file need no Arrow.
    import pyarrow.dataset as ds  # type: ignore[import-untyped] # it has no types
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

    whole = tempfile.TemporaryFile()  # noqa: SIM115  the answer closes it
    parts = ds.dataset(files, format="parquet")
    with pq.ParquetWriter(whole, parts.schema, compression="zstd") as writer:
        for batch in parts.to_batches():
            writer.write_batch(batch)
    whole.seek(0)
    return whole


def _lines(columns: tuple[Column, ...], rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    cells = ([_value(row[column.name]) for column in columns] for row in rows)
    return csv_lines(chain([[_heading(column) for column in columns]], cells))


def _heading(column: Column) -> str:
    return f"{column.title}{_UNITS.get(column.type, '')}"


def _value(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _file_name(run: Run, table: str) -> str:
    return f"{run.kind}-{table}-{str(run.pk)[:8]}"
