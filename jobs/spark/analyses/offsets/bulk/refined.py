"""All answers of a question refined, by as many tasks as Spark has cores."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.cluster.errors import Unreachable
from jobs.spark.analyses.analysis import Answer
from jobs.spark.analyses.offsets.bulk.asked import Asked, share
from jobs.spark.analyses.offsets.bulk.refining import REFINED, RefinePart
from jobs.spark.analyses.task import AnalysisTask

_TYPES = {pa.int64(): "bigint", pa.string(): "string", pa.bool_(): "boolean"}
_SCHEMA = ", ".join(f"`{one.name}` {_TYPES[one.type]}" for one in REFINED)
_OWN = ("fault", "is_away")


def refine_all(task: AnalysisTask, asked: Asked, most_records: int) -> Answer:
    """Return the answer of the kind `refine`, its tables written.

    Raises `ClusterFault` when no record at all could be compared because a cluster did not answer.
    """
    scratch = task.run_dir / "translated"
    try:
        # All are numbered until they are sorted.
        numbered = replace(asked, asking=replace(asked.asking, has_lines=True))
        tally = numbered.answer(task, scratch)
        task.report(
            f"Compares records of {tally.counts['answered'] - tally.counts['exact']:,} offsets"
        )
        work = RefinePart(asked.asking, most_records)
        tasks = task.spark.sparkContext.defaultParallelism
        found = (
            task.spark.read.parquet(str(scratch))
            .repartition(tasks, "topic", "partition")
            .sortWithinPartitions("topic", "partition", "offset")
            .mapInArrow(work, _SCHEMA)
            .toArrow()
            .sort_by("line")
        )
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
        "exact_share_before": facts["exact_share"],
        "exact": exact,
        "exact_share": share(exact, facts["answered"]),
    }
    return Answer(facts, (*asked.notes, *notes))


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
