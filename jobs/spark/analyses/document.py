"""The result document of an analysis, the same for page, route and shell; and its tables, from Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.spark.analyses.analysis import Analysis, Answer, Column, ColumnType, Table

# So many rows of each table stand in the document itself.
PREVIEW_ROWS = 50
# Other columns are int64.
_ARROW = {
    ColumnType.TEXT: pa.string(),
    ColumnType.CODE: pa.string(),
    ColumnType.RATIO: pa.float64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.LIST: pa.list_(pa.string()),
}


def document_of(
    analysis: Analysis, arguments: Mapping[str, Any], answer: Answer, folder: Path, seconds: float
) -> dict[str, Any]:
    """Return the document: JSON values; a moment is ISO 8601 (UTC), what is absent is null."""
    return {
        "kind": analysis.kind,
        "question": analysis.question,
        "definition": analysis.definition,
        "arguments": {
            one.name: _json(arguments.get(one.name), ColumnType.MOMENT)
            if one.type == "moment"
            else arguments.get(one.name)
            for one in analysis.arguments
        },
        "facts": dict(answer.facts),
        "notes": list(answer.notes),
        "seconds": round(seconds, 2),
        "tables": [_told(table, folder) for table in analysis.tables],
    }


def arrow_table(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows with the types of a table's columns; what a row does not have is null."""
    schema = [(one.name, _ARROW.get(one.type, pa.int64())) for one in table.columns]
    return pa.Table.from_pylist(list(rows), pa.schema(schema))


def count_rows(folder: Path, name: str) -> int:
    """Return how many rows a table has; 0 for one that was not written."""
    parts = sorted((folder / name).glob("*.parquet"))
    return sum(int(pq.read_metadata(path).num_rows) for path in parts)


def read_rows(
    table: Table, folder: Path, *, offset: int = 0, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield rows of a written table in its order, as JSON values by column; 10,000 at a time in memory."""
    skip, left = offset, limit
    for batch in _batches(table, folder):
        if left is not None and left <= 0:
            return
        part = batch.slice(min(skip, len(batch)), left)
        skip = max(0, skip - len(batch))
        left = None if left is None else left - len(part)
        yield from _rows(table.columns, part)


def _batches(table: Table, folder: Path) -> Iterator[pa.RecordBatch]:
    names = [column.name for column in table.columns]
    for path in sorted((folder / table.name).glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(10_000, columns=names)


def _told(table: Table, folder: Path) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "rows": count_rows(folder, table.name),
        "columns": [
            {
                "name": one.name,
                "title": one.title,
                "type": one.type.value,
                "definition": one.definition,
            }
            for one in table.columns
        ],
        "preview": list(read_rows(table, folder, limit=PREVIEW_ROWS)),
    }


def _rows(columns: tuple[Column, ...], batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in batch.to_pylist():
        yield {one.name: _json(row[one.name], one.type) for one in columns}


def _json(value: Any, type_: ColumnType) -> Any:
    if value is None or type_ is not ColumnType.MOMENT:
        return value
    moment = datetime.fromtimestamp(value / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
