"""The kind `metadata-records`: what a metadata log consists of, by record type and by segment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.files import cache_folder
from jobs.quorum.log.folder_snapshots import SegmentFile
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
    Table,
)

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

_NO_TYPE = "UNDECODABLE"
_TYPES = Table(
    "types",
    "Record types",
    (
        Column("type", "Record type", ColumnType.TEXT),
        Column("is_control", "Control record", ColumnType.BOOLEAN, "Written by the Raft layer."),
        Column("records", "Records", ColumnType.INTEGER),
        Column("value_bytes", "Bytes", ColumnType.INTEGER, "Of their values, not compressed."),
        Column("share", "Share of records", ColumnType.RATIO),
    ),
)
_SEGMENTS = Table(
    "segments",
    "Segments",
    (
        Column("base_offset", "First offset", ColumnType.OFFSET, "By the name of the file."),
        Column("records", "Records", ColumnType.INTEGER),
        Column("file_bytes", "Bytes", ColumnType.INTEGER, "Of the file."),
        Column("first_ms", "First record", ColumnType.MOMENT),
        Column("last_ms", "Last record", ColumnType.MOMENT),
        Column("damaged_places", "Damaged places", ColumnType.INTEGER),
    ),
)


def _run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    from jobs.quorum.log.folder import read_folder

    folder = read_folder(Path(arguments["log"]))
    files = [(str(one.path), one.base_offset) for one in folder.segments]
    task.report("Reading the segments", done=0, total=len(files), unit="segments")
    told = task.spark.sparkContext.parallelize(files, max(len(files), 1)).map(_count).collect()
    counts: dict[tuple[bool, int], tuple[int, int]] = {}
    for key, records, size in (one for segment in told for one in segment["types"]):
        before = counts.get(key, (0, 0))
        counts[key] = (before[0] + records, before[1] + size)
    total = sum(records for records, _ in counts.values())
    rows = [
        {
            "type": _name(key),
            "is_control": key[0],
            "records": records,
            "value_bytes": size,
            "share": records / total,
        }
        for key, (records, size) in sorted(counts.items(), key=lambda one: (-one[1][0], one[0]))
    ]
    types = [("type", pa.string()), ("is_control", pa.bool_()), ("records", pa.int64())]
    types += [("value_bytes", pa.int64()), ("share", pa.float64())]
    task.write(_TYPES.name, pa.Table.from_pylist(rows, pa.schema(types)))
    integers = pa.schema([(column.name, pa.int64()) for column in _SEGMENTS.columns])
    task.write(_SEGMENTS.name, pa.Table.from_pylist(told, integers))
    facts = {"records": total, "segments": len(told), "snapshots": len(folder.snapshots)}
    noted = (f"Damaged where it comes from: {one.sentence}." for one in folder.noted)
    return Answer(facts, (*_notes(folder.segments, told), *noted))


def _count(file: tuple[str, int]) -> dict[str, Any]:
    """Count one segment on a worker."""
    # Where compiled code is kept must be said before it is made.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    import numpy as np

    from jobs.quorum.log.possible_times import clamp_times
    from jobs.quorum.replay.folder import file_columns
    from jobs.wire.metadata import table as t

    path, base_offset = Path(file[0]), file[1]
    records = damaged = 0
    times: list[int] = []
    counts: dict[tuple[bool, int], list[int]] = {}
    for columns in file_columns(path, base_offset):
        damaged += sum(not one.is_tail for one in columns.damage)
        if not len(columns):
            continue
        records += len(columns)
        clamp_times(columns.timestamp_ms, 0)
        times += [int(columns.timestamp_ms.min()), int(columns.timestamp_ms.max())]
        sizes = np.maximum(columns.tables.records[t.VALUE_BYTES], 0)
        keys, places = np.unique(2 * columns.type + columns.is_control, return_inverse=True)
        rows = zip(
            keys.tolist(),
            np.bincount(places).tolist(),
            np.bincount(places, sizes).tolist(),
            strict=True,
        )
        for key, count, size in rows:
            found = counts.setdefault((bool(key % 2), key // 2), [0, 0])
            found[0] += count
            found[1] += int(size)
    return {
        "base_offset": base_offset,
        "records": records,
        "file_bytes": path.stat().st_size,
        "first_ms": min(times, default=None),
        "last_ms": max(times, default=None),
        "damaged_places": damaged,
        "types": [(key, *found) for key, found in counts.items()],
    }


def _name(key: tuple[bool, int]) -> str:
    from jobs.wire.metadata.schema import CONTROL_SCHEMA_BY_NUMBER, SCHEMA_BY_API_KEY

    is_control, number = key
    if number < 0:
        return _NO_TYPE
    schema = (CONTROL_SCHEMA_BY_NUMBER if is_control else SCHEMA_BY_API_KEY).get(number)
    # The markers of transactions have no schema.
    return schema.type if schema else f"{'control' if is_control else 'record'} type {number}"


def _notes(segments: tuple[SegmentFile, ...], told: list[dict[str, Any]]) -> list[str]:
    notes = []
    if segments and segments[0].base_offset > 0:
        first = segments[0].base_offset
        notes.append(f"The log begins at offset {first}: earlier records are in a snapshot only.")
    damaged = sum(one["damaged_places"] for one in told)
    if damaged:
        notes.append(f"{damaged} places cannot be read: `crosslog dump-log` names them.")
    return notes


ANALYSIS = Analysis(
    kind="metadata-records",
    title="Record types of a metadata log",
    definition="Every record of every segment is counted by its type; snapshots are not.",
    arguments=(
        Argument(
            "log",
            ArgumentType.LOG,
            "Metadata log",
            "A __cluster_metadata-0 folder, or one of the follower.",
            is_required=True,
        ),
    ),
    tables=(_TYPES, _SEGMENTS),
    run=_run,
)
