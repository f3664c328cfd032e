"""All answers of a question refined, by as many tasks as Spark has cores."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, NotAuthorized, UnknownTopicOrPartition, Unreachable
from jobs.replication.translation.record_comparison import (
    fingerprints_of,
    refine,
    spans_of,
)
from jobs.replication.translation.sync_history import Certificate
from jobs.spark.analyses.analysis import Answer
from jobs.spark.analyses.offsets.bulk.answering import Asking
from jobs.spark.analyses.offsets.bulk.asked import Asked, share
from jobs.spark.analyses.offsets.bulk.shared_reading import SharedReading
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


# Answers that are not exact, refined by the records of both sides: done in Spark tasks, by partition.

REFINED = pa.schema(
    [
        ("line", pa.int64()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
        ("lo", pa.int64()),
        ("hi", pa.int64()),
        ("exact", pa.bool_()),
        ("lo_before", pa.int64()),
        ("hi_before", pa.int64()),
        ("exact_before", pa.bool_()),
        ("compared", pa.int64()),
        ("to_topic", pa.string()),
        ("reason", pa.string()),
        # Of the cluster that did not give its records; `is_away`: it may give them later.
        ("fault", pa.string()),
        ("is_away", pa.bool_()),
    ]
)
# A cluster that failed so often in a row, or cannot be reached, is not asked again by this task.
MOST_FAULTS = 2
ROWS_AT_ONCE = 50_000


class Refined(NamedTuple):
    """What the records say of one question."""

    lo: int
    hi: int | None
    compared: int | None
    reason: str
    fault: str | None = None
    is_away: bool = False


@dataclass(frozen=True)
class RefinePart:
    """What a Spark task does with answers (see `answering`) that are sorted by partition and offset."""

    asking: Asking
    most_records: int

    def __call__(self, answers: Path) -> Path:
        """Refine the answers of a file, with one client for each side; returns the file of the refined."""
        flow = self.asking.flow
        assert flow is not None  # noqa: S101  the kind requires it
        refined = answers.with_suffix(".refined")
        with (
            ClusterClient(flow.source) as source,
            ClusterClient(flow.target) as target,
            pq.ParquetFile(answers) as file,
            pq.ParquetWriter(refined, REFINED) as writer,
        ):
            desk = _Desk(self.asking, self.most_records, source, target)
            for batch in file.iter_batches(ROWS_AT_ONCE):
                writer.write_batch(desk.refined(batch))
        return refined


@dataclass(slots=True)
class _Desk:
    """Both clusters, and what is known of their not answering."""

    asking: Asking
    most_records: int
    source: ClusterClient
    target: ClusterClient
    faults: int = 0
    gone: dict[TopicPartition, ClusterFault] = field(default_factory=dict)
    away: ClusterFault | None = None

    def refined(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.to_pylist()
        for row in rows:
            row |= {"lo_before": row["lo"], "hi_before": row["hi"], "exact_before": row["exact"]}
            row |= {"compared": None, "fault": None, "is_away": False}
        vague = [row for row in rows if row["lo"] is not None and not row["exact"]]
        self._look_for_topics(vague)
        for _, together in groupby(vague, lambda row: (row["topic"], row["partition"])):
            self._partition(list(together))
        return pa.RecordBatch.from_pylist(rows, REFINED)

    def _look_for_topics(self, rows: list[dict[str, Any]]) -> None:
        """Note topics that are gone: who reads such a one only waits."""
        for client, name in ((self.source, "topic"), (self.target, "to_topic")):
            topics = sorted({row[name] for row in rows})
            try:
                described = describe_topics(client, topics) if topics else []
            except ClusterFault as away:
                self.away = away
                return
            alias = client.connection.alias
            for topic in (one.name for one in described if is_missing(one)):
                fault = UnknownTopicOrPartition(f"There is no topic {topic}.", cluster=alias)
                self.gone |= {
                    TopicPartition(row["topic"], row["partition"]): fault
                    for row in rows
                    if row[name] == topic
                }

    def _partition(self, rows: list[dict[str, Any]]) -> None:
        """Refine the answers of one partition, as far as they lie in one batch."""
        where = TopicPartition(rows[0]["topic"], rows[0]["partition"])
        remote = TopicPartition(rows[0]["to_topic"], where.partition)
        asked = [(row, self._certificate(where, row)) for row in rows]
        spans = [s for row, found in asked if (s := spans_of(found, row["offset"])) is not None]
        most = self.most_records
        source, target = (
            SharedReading(fingerprints_of(client, place, most), wanted, most)
            for client, place, wanted in (
                (self.source, where, [one for one, _ in spans]),
                (self.target, remote, [one for _, one in spans]),
            )
        )
        for row, found in asked:
            told = self._one(where, row["offset"], found, source, target)
            row |= {**told._asdict(), "exact": told.lo == told.hi}

    def _certificate(self, where: TopicPartition, row: dict[str, Any]) -> Certificate:
        found = self.asking.translator.translate(where, row["offset"])
        return found or Certificate(row["lo"], row["hi"], row["reason"])

    def _one(
        self,
        where: TopicPartition,
        offset: int,
        found: Certificate,
        source: SharedReading,
        target: SharedReading,
    ) -> Refined:
        known = self.away or self.gone.get(where)
        if spans_of(found, offset) is None:
            return Refined(found.lo, found.hi, None, found.reason)
        if known is not None:
            return self._failed(found, known)
        try:
            refined = refine(found, offset, source, target, self.most_records)
        except ClusterFault as fault:
            self._note(where, fault)
            return self._failed(found, fault)
        self.faults = 0
        return Refined(refined.lo, refined.hi, target.records, refined.reason)

    def _note(self, where: TopicPartition, fault: ClusterFault) -> None:
        if isinstance(fault, NotAuthorized | UnknownTopicOrPartition):
            self.gone[where] = fault
        self.faults = self.faults + 1 if fault.retriable else 0
        if self.faults == MOST_FAULTS or isinstance(fault, Unreachable):
            self.away = fault

    @staticmethod
    def _failed(found: Certificate, fault: ClusterFault) -> Refined:
        return Refined(found.lo, found.hi, None, str(fault), fault.cluster, fault.retriable)
