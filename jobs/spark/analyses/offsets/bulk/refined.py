"""All answers of a question refined, by as many tasks as Spark has cores."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import Unreachable
from jobs.spark.analyses.analysis import Answer
from jobs.spark.analyses.offsets.bulk.asked import Asked, share
from jobs.spark.analyses.offsets.bulk.refining import REFINED, RefinePart
from jobs.spark.analyses.task import AnalysisTask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN = ("fault", "is_away")


def refine_all(task: AnalysisTask, asked: Asked, most_records: int) -> Answer:
    """Return the answer of the kind `refine`, its tables written.

    Raises `ClusterFault` when no record at all could be compared because a cluster did not answer.
    """
    scratch = task.run_dir / "refine"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        # All are numbered until they are sorted.
        numbered = replace(asked, asking=replace(asked.asking, has_lines=True))
        tally = numbered.answer(task, scratch / "answers")
        vague = tally.counts["answered"] - tally.counts["exact"]
        if vague:
            _check_clusters(asked)
        task.report(f"Compares the records around {vague:,} offsets")
        _sort(task.spark, scratch)
        found = _refine(task.spark, RefinePart(asked.asking, most_records), scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    notes = _notes(found)
    if not asked.asking.has_lines:
        found = found.set_column(0, "line", pa.nulls(len(found), pa.int64()))
    task.write("refined", found.drop_columns(list(_OWN)))
    facts = asked.facts(tally)
    exact = pc.sum(found["exact"]).as_py() or 0
    facts |= {
        "exact_before": facts["exact"],
        "exact_before_share": facts["exact_share"],
        "exact": exact,
        "exact_share": share(exact, facts["answered"]),
    }
    return Answer(facts, (*asked.notes_of(tally), *notes))


def _check_clusters(asked: Asked) -> None:
    """Raise `ClusterFault` where one of both does not answer: no task has to wait for it."""
    flow = asked.asking.flow
    assert flow is not None  # noqa: S101  the kind requires it
    for side in (flow.source, flow.target):
        with ClusterClient(side) as client:
            describe_cluster(client)


def _sort(spark: SparkSession, scratch: Path) -> None:
    """Put the answers about each partition into one file, by offset."""
    answers = spark.read.parquet(str(scratch / "answers"))
    by_partition = answers.repartition(spark.sparkContext.defaultParallelism, "topic", "partition")
    ordered = by_partition.sortWithinPartitions("topic", "partition", "offset")
    ordered.write.parquet(str(scratch / "sorted"))


def _refine(spark: SparkSession, work: RefinePart, scratch: Path) -> pa.Table:
    files = sorted((scratch / "sorted").glob("*.parquet"))
    told = spark.sparkContext.parallelize(files, max(len(files), 1)).map(work).collect()
    tables = [pq.read_table(path) for path in told] or [REFINED.empty_table()]
    return pa.concat_tables(tables).sort_by("line")


def _notes(found: pa.Table) -> Sequence[str]:
    """Return what clusters did not tell; raises `ClusterFault` when that is all there was to refine."""
    failed = found.filter(pc.is_valid(found["fault"]))
    if not len(failed):
        return ()
    if pc.all(failed["is_away"]).as_py() and not pc.any(pc.is_valid(found["compared"])).as_py():
        cluster, reason = failed["fault"][0].as_py(), failed["reason"][0].as_py()
        raise Unreachable(reason.removeprefix(f"{cluster}: "), cluster=cluster)
    return (
        f"{len(failed):,} offsets could not be refined: their reasons say what a cluster answered.",
    )
