"""Warm-up of an engine, so that analyses do not wait for classes and modules."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.files import cache_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_GROUP = "warm-up"
_ROWS = 8
# What questions are made of: a window, a join, groups, an order.
_QUERY = """
    WITH steps AS (
        SELECT a, b, c, lag(a) OVER (PARTITION BY b ORDER BY a) AS before FROM crosslog_warm_up
    )
    SELECT one.b, count(*) AS many, sum(one.a - one.before) AS summed, max(one.c) AS last
    FROM steps AS one JOIN steps AS other ON one.a = other.b
    WHERE one.a BETWEEN 0 AND 1000 GROUP BY one.b ORDER BY many DESC, one.b
"""


def begin(spark: SparkSession, folder: Path) -> threading.Thread:
    """Warm up in a thread, and return it; of questions that come meanwhile none waits for it."""
    from pyspark import InheritableThread

    def warm_up() -> None:
        began = time.monotonic()
        context = spark.sparkContext
        context.setJobGroup(_GROUP, _GROUP)
        context.setLocalProperty("spark.scheduler.pool", _GROUP)
        try:
            tasks = context.defaultParallelism
            context.parallelize(range(tasks), tasks).mapPartitions(load_modules).collect()
            first_query(spark.newSession(), folder)
        except Exception:  # the first analysis reports what is wrong
            logger.exception("the engine could not warm up")
        logger.info("the engine is warm seconds=%.1f", time.monotonic() - began)

    thread = InheritableThread(target=warm_up, name=_GROUP, daemon=True)
    thread.start()
    return thread


def cancel(spark: SparkSession) -> None:
    """End what Spark does for the warm-up now; more may begin, so the caller repeats it."""
    spark.sparkContext.cancelJobGroup(_GROUP)


def first_query(spark: SparkSession, folder: Path) -> None:
    """Ask something of a small Parquet file, which is put into the folder."""
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

    numbers = list(range(_ROWS))
    table = pa.table({"a": numbers, "b": [one % 3 for one in numbers], "c": ["c"] * _ROWS})
    pq.write_table(table, folder / "warm-up.parquet")
    spark.read.parquet(str(folder / "warm-up.parquet")).createOrReplaceTempView("crosslog_warm_up")
    spark.sql(_QUERY).toArrow()


def load_modules(_rows: Iterable[int]) -> Iterator[int]:
    """Load on a worker what tasks need: compiled loops, Arrow."""
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    from jobs.quorum.replay import arrow, replay
    from jobs.wire.metadata.columns import compiled_loops

    compiled_loops()
    yield len((arrow.__name__, replay.__name__))
