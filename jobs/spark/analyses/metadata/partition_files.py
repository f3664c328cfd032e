"""The files of `partition_changes`, each read by a task of its own.

Each file holds whole partitions, and its rows are in the order of offsets: what concerns one partition at a
time needs no exchange of rows between tasks.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

if TYPE_CHECKING:
    from jobs.spark.analyses.metadata.log_history import LogHistory
    from jobs.spark.analyses.metadata.window import Sql
    from jobs.spark.analyses.task import AnalysisTask

Batches = Iterator[pa.RecordBatch]
_AT_ONCE = 1 << 16
_CODED = ["topic_id", "topic", "cause"]
_NAMED = """
SELECT topic_id, COALESCE(MAX(topic), topic_id) AS topic, monotonically_increasing_id() AS number
FROM named GROUP BY topic_id
"""
_TOPICS = pa.schema([("topic_id", pa.string()), ("topic", pa.string())])


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
        task.report("Following the partitions")
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
