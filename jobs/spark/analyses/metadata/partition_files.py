"""The files of `partition_changes`, each read by a task of its own: its topics, and what moved in its ISRs.

Each file holds whole partitions, and its rows are in the order of offsets: what concerns one partition at a
time needs no exchange of rows between tasks.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.wire.machine_code import compiled, inlined

if TYPE_CHECKING:
    from jobs.spark.analyses.metadata.log_history import LogHistory
    from jobs.spark.analyses.metadata.window import Sql
    from jobs.spark.analyses.task import AnalysisTask
    from jobs.wire.metadata.table import Int64s

Batches = Iterator[pa.RecordBatch]
_AT_ONCE = 1 << 16
_CODED = ["topic_id", "topic", "cause"]
# What a change of an ISR is grouped by, the first text that is there.
_TEXTS = {"topic": ("topic", "topic_id"), "cause": ("cause",)}
_LISTS = ("previous_isr", "isr", "replicas")
_HOUR_MS = 3_600_000
_NAMED = """
SELECT topic_id, COALESCE(MAX(topic), topic_id) AS topic, monotonically_increasing_id() AS number
FROM named GROUP BY topic_id
"""
_TOPICS = pa.schema([("topic_id", pa.string()), ("topic", pa.string())])
# What `churn` yields.
CHURN = pa.schema([
    ("hour_ms", pa.int64()), ("group", pa.string()), ("broker_id", pa.int32()),
    ("offset", pa.int64()), ("shrinks", pa.int64()), ("expands", pa.int64()),
])  # fmt: skip


@contextmanager
def view_of_files(
    task: AnalysisTask,
    history: LogHistory,
    name: str,
    work: Callable[[Batches], Batches],
    columns: list[str],
    schema: pa.Schema,
) -> Iterator[None]:
    """Make a view of what `work` yields for each file, for the queries inside of the block.

    `work` gets the rows with these columns, words as dictionaries; it goes to the workers with what it holds.
    Their files lie beside the tables of the log.
    """
    sources = sorted(map(str, (history.folder / "partition_changes").glob("*.parquet")))
    folder = history.folder.with_name(f"{history.folder.name}.{uuid4().hex}.partial")

    def write(number: int) -> None:
        target = folder / f"part-{number}.parquet"
        with (
            pq.ParquetFile(sources[number], read_dictionary=_CODED, pre_buffer=False) as file,
            pq.ParquetWriter(target, schema, compression="zstd") as writer,
        ):
            for batch in work(file.iter_batches(_AT_ONCE, columns=columns, use_threads=False)):
                writer.write_table(pa.table(batch.columns, schema))

    folder.mkdir()
    try:
        task.check_stop()
        context = task.spark.sparkContext
        context.parallelize(range(len(sources)), max(1, len(sources))).foreach(write)
        task.spark.read.parquet(str(folder)).createOrReplaceTempView(name)
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kept_topics(task: AnalysisTask, history: LogHistory, sql: Sql) -> Iterator[None]:
    """Keep the view `topics`: by `topic_id` the name (`topic`), and a `number` that is faster to sort."""
    with (
        view_of_files(task, history, "named", _topics, _TOPICS.names, _TOPICS),
        sql.kept("topics", _NAMED),
    ):
        yield


def _topics(batches: Batches) -> Batches:
    """Yield the topics that are met, some of them again."""
    for batch in batches:
        found = pa.Table.from_batches([batch]).group_by(_TOPICS.names, use_threads=False)
        yield from found.aggregate([]).cast(_TOPICS).to_batches()


def churn_columns(by: str) -> list[str]:
    """Return the columns that `churn` needs."""
    return ["offset", "timestamp_ms", "is_removed", *_LISTS, *_TEXTS.get(by, ())]


def churn(batches: Batches, by: str, since_ms: int, before_ms: int, eras: Int64s) -> Batches:
    """Yield how often brokers left and joined ISRs in a window, by hour and group, once for each batch.

    Columns: `hour_ms`, `group` (null by rack), `broker_id` and `offset` (null unless by rack: the last of the
    offsets `eras` that is not behind the change, -1: none), `shrinks`, `expands`.
    """
    for batch in batches:
        at_ms = batch["timestamp_ms"].fill_null(0).to_numpy()
        wanted = (at_ms >= since_ms) & (at_ms < before_ms) & _known(batch["timestamp_ms"])
        rows, brokers, is_shrink = _moves(batch, wanted)
        group = pa.nulls(len(rows), pa.string())
        who, offset = pa.nulls(len(rows), pa.int32()), pa.nulls(len(rows), pa.int64())
        if by == "rack":
            places = np.searchsorted(eras, batch["offset"].to_numpy()[rows], side="right")
            who, offset = pa.array(brokers, pa.int32()), pa.array(np.append(eras, -1)[places - 1])
        elif by == "broker":
            group = pa.array(brokers, pa.int32()).cast(pa.string())
        else:
            group = pc.coalesce(*(batch[one].take(rows).cast(pa.string()) for one in _TEXTS[by]))
        hour_ms = at_ms[rows] - at_ms[rows] % _HOUR_MS
        found = pa.table([hour_ms, group, who, offset, is_shrink, 1 - is_shrink], CHURN)
        by_group = found.group_by(CHURN.names[:4], use_threads=False)
        yield from by_group.aggregate([("shrinks", "sum"), ("expands", "sum")]).to_batches()


def _moves(batch: pa.RecordBatch, wanted: Any) -> tuple[Int64s, Int64s, Int64s]:
    """Return which brokers moved in the wanted rows: the row, the broker, and 1 where it left (else 0)."""
    wanted = (
        wanted & _known(batch["previous_isr"]) & ~batch["is_removed"].to_numpy(zero_copy_only=False)
    )
    lists = tuple(one for name in _LISTS for one in _list(batch[name]))
    found = np.empty((len(lists[1]) + len(lists[3]), 3), np.int64)
    count = _find_moves(np.flatnonzero(wanted), lists, found)
    return found[:count, 0], found[:count, 1], found[:count, 2]


def _known(column: pa.Array) -> Any:
    return column.is_valid().to_numpy(zero_copy_only=False)


def _list(column: pa.Array) -> tuple[Any, Any]:
    return column.offsets.to_numpy(), column.values.fill_null(-1).to_numpy()


@inlined
def _has(values: Any, begin: int, end: int, value: int) -> bool:
    for at in range(begin, end):  # noqa: SIM110  numba knows no `any`
        if values[at] == value:
            return True
    return False


@compiled
def _find_moves(rows: Any, lists: Any, found: Any) -> int:
    """Fill rows of `found`, a broker once for each change, and return how many."""
    before_ends, before, after_ends, after, replica_ends, replicas = lists
    count = 0
    for row in rows:
        old, old_end = before_ends[row], before_ends[row + 1]
        new, new_end = after_ends[row], after_ends[row + 1]
        replica, replica_end = replica_ends[row], replica_ends[row + 1]
        for at in range(old, old_end):
            one = before[at]
            left = not _has(after, new, new_end, one) and not _has(before, old, at, one)
            if left and _has(replicas, replica, replica_end, one):
                found[count, 0], found[count, 1], found[count, 2] = row, one, 1
                count += 1
        for at in range(new, new_end):
            one = after[at]
            if not _has(before, old, old_end, one) and not _has(after, new, at, one):
                found[count, 0], found[count, 1], found[count, 2] = row, one, 0
                count += 1
    return count
