"""`backtest`: what checkpoints and certificates said in the last days, beside the records themselves."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import ClusterFault
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Chart,
    ChartType,
    Column,
    ColumnType,
    Table,
)

if TYPE_CHECKING:
    from jobs.spark.analyses.offsets.backtesting.partition import Told, Work
    from jobs.spark.analyses.task import AnalysisTask

DAY_MS = 86_400_000
MOST_RECORDS = 1_000_000
_FLOWS = ("flow", "beside")


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Judge the partitions of both flows, two at once, and count."""
    from jobs.spark.analyses.metadata.window import Sql
    from jobs.spark.analyses.offsets.backtesting import judged_rows
    from jobs.spark.analyses.offsets.backtesting.works import works_of

    now_ms = time.time_ns() // 1_000_000
    since_ms = now_ms - arguments["days"] * DAY_MS
    notes: list[str] = []
    works: list[tuple[Work, list[str]]] = []
    for argument in _FLOWS:
        if arguments[argument]:
            works += works_of(task, arguments, argument, since_ms, notes)
    task.histories.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="backtest-", dir=task.histories) as folder:
        with judged_rows.JudgedRows(Path(folder)) as rows:
            told = _judged(task, works, rows)
        notes += _notes_of(told, arguments["most_records"])
        sql = Sql(task, ANALYSIS, {})
        for name, path in rows.paths.items():
            task.spark.read.parquet(str(path)).createOrReplaceTempView(name)
        try:
            for name in ("summary", "days", "misses", "unknown"):
                sql.write(name, getattr(judged_rows, name.upper()))
            totals = sql.row(judged_rows.TOTALS)
        finally:
            for name in rows.paths:
                task.spark.catalog.dropTempView(name)
    return Answer(_facts(totals, arguments["days"], told), (*notes, *sql.notes))


def _judged(task: AnalysisTask, works: list[tuple[Work, list[str]]], rows: Any) -> list[Told]:
    """Return what the tasks told, without their rows, which are written; raises `ClusterFault`."""
    from jobs.spark.analyses.offsets.backtesting.partition import Told, backtest_partition

    task.report("Comparing the records of both sides", done=0, total=len(works), unit="partitions")
    found: list[Told] = []
    if not works:
        return found
    given = task.spark.sparkContext.parallelize([work for work, _ in works], len(works))
    # A job for each partition, and the next one begins meanwhile.
    answers = given.map(backtest_partition).toLocalIterator(prefetchPartitions=True)
    for (work, groups), told in zip(works, answers, strict=True):
        if told.fault is not None:
            _raise(told.fault)
        rows.take(work, told, groups)
        found.append(
            Told(
                records=told.records,
                are_cut=told.are_cut,
                untimed_syncs=told.untimed_syncs,
                seconds=told.seconds,
            )
        )
        task.report(
            f"Compared {work.where} of {work.flow.name}",
            done=len(found),
            total=len(works),
            unit="partitions",
        )
    return found


def _raise(fault: tuple[str, str, str, str]) -> None:
    code, message, cluster, hint = fault
    raised = ClusterFault(message, cluster=cluster, hint=hint)
    raised.code = code
    raise raised


def _notes_of(told: list[Told], most: int) -> Iterator[str]:
    cut = sum(one.are_cut for one in told)
    if cut:
        yield (
            f"{cut:,} partitions have more than {most:,} offsets on a side: the newest were read. "
            "Older records count as unknown."
        )
    untimed = sum(one.untimed_syncs for one in told)
    if untimed:
        yield (
            f"{untimed:,} archived offset syncs have no time: certificates use them from the beginning."
        )


def _facts(totals: Mapping[str, Any], days: int, told: list[Told]) -> dict[str, Any]:
    misses = totals["checkpoint_misses"] + totals["certificate_misses"]
    questions, checkable = totals["questions"], totals["checkable"]
    return {
        "verdict": verdict(misses, questions, checkable, days),
        "misses": misses,
        "checkpoint_misses": totals["checkpoint_misses"],
        "certificate_misses": totals["certificate_misses"],
        "questions": questions,
        "checkpoints": totals["checkpoints"],
        "checkable_checkpoints": totals["checkable_checkpoints"],
        "checkable_share": checkable / questions if questions else None,
        "exact_share": totals["exact"],
        "true_place_share": totals["rereads_nothing"],
        "partitions": len(told),
        "records_of_sources": sum(one.records[0] for one in told),
        "records_of_targets": sum(one.records[1] for one in told),
    }


def verdict(misses: int, questions: int, checkable: int, days: int) -> str:
    """Return what an operator may take from the counts, in a sentence."""
    if not questions:
        return f"There are no checkpoints and no offset syncs of the last {days} days."
    if misses:
        return (
            f"{misses:,} of {checkable:,} checked answers would have skipped records: do not fail over by "
            "them before you know why (table of misses)."
        )
    if not checkable:
        return f"No verdict: none of {questions:,} answers can be checked (table of reasons)."
    return (
        f"No answer would have skipped a record: {checkable:,} of {questions:,} could be checked against "
        "the records of both sides."
    )


def _spread(name: str, what: str, definition: str) -> tuple[Column, ...]:
    return (
        Column(f"{name}_p50", f"{what}, median", ColumnType.INTEGER, definition),
        Column(f"{name}_p95", f"{what}, 95 %", ColumnType.INTEGER, "95 of 100 are at most this."),
        Column(f"{name}_max", f"{what}, most", ColumnType.INTEGER),
    )


_REREAD = "Records of the target that a group would have reprocessed from there."
_FLOW = (
    Column("flow", "Flow", ColumnType.TEXT),
    Column("copied_by", "Copied by", ColumnType.TEXT),
)
_TOPIC = Column("topic", "Topic", ColumnType.TEXT, "Its name on the source.")
_MEASURES = (
    Column("questions", "Answers", ColumnType.INTEGER, "Checkpoints written, and records sampled."),
    Column(
        "checkable",
        "Checkable",
        ColumnType.INTEGER,
        "Answers that the records of both sides confirm or refute.",
    ),
    Column(
        "checkpoint_misses",
        "Misses of checkpoints",
        ColumnType.INTEGER,
        "Checkpoints after a record that the group had not read: the group would skip it.",
    ),
    Column(
        "certificate_misses",
        "Misses of certificates",
        ColumnType.INTEGER,
        "Certificates whose lower bound skips a record, or whose upper bound is before it (not checked for "
        "compacted topics: the first copy may be deleted).",
    ),
    Column(
        "mm2_misses",
        "Misses of MirrorMaker 2's rule",
        ColumnType.INTEGER,
        "Answers of MirrorMaker 2's own rule for the same offset syncs, checked in the same way.",
    ),
    Column(
        "exact",
        "Exact",
        ColumnType.RATIO,
        "Share of the certificates with one possible answer, by the offset syncs of that time.",
    ),
    Column(
        "rereads_nothing",
        "At the exact offset",
        ColumnType.RATIO,
        "Share of the checked certificates whose lower bound is the exact offset: nothing is reprocessed.",
    ),
    *_spread("width", "Width", "Target offsets between the bounds of a certificate."),
    *_spread("checkpoint_reread", "Reprocessed by checkpoint", _REREAD),
    *_spread(
        "certificate_reread", "Reprocessed by certificate", f"{_REREAD} There: its lower bound."
    ),
    *_spread("mm2_reread", "Reprocessed by MirrorMaker 2's rule", _REREAD),
)
ANALYSIS = Analysis(
    kind="backtest",
    title="Translation backtest",
    arguments=(
        Argument("flow", ArgumentType.FLOW, "Flow", is_required=True),
        Argument(
            "beside",
            ArgumentType.FLOW,
            "Compare with",
            "Another flow, for example MirrorMaker 2's.",
        ),
        Argument(
            "days", ArgumentType.INTEGER, "Days", "The last ones.", default=7, least=1, most=90
        ),
        Argument(
            "group", ArgumentType.TEXT, "Consumer group", "Default: all that have checkpoints."
        ),
        Argument(
            "most_records",
            ArgumentType.INTEGER,
            "Records",
            "Offsets of a partition that are read on each side: the newest.",
            default=MOST_RECORDS,
            least=1000,
            most=100_000_000,
        ),
    ),
    tables=(
        Table("summary", "Flows side by side", (*_FLOW, *_MEASURES)),
        Table(
            "misses",
            "Answers that skip records",
            (
                *_FLOW,
                _TOPIC,
                Column("partition", "Partition", ColumnType.INTEGER),
                Column(
                    "who",
                    "Answer of",
                    ColumnType.TEXT,
                    "At most 1,000 of each and partition are listed, all are counted. Misses of "
                    "MirrorMaker 2's rule are listed, too, and counted separately.",
                ),
                Column("group", "Group", ColumnType.TEXT, "Empty: a sampled record."),
                Column("at_ms", "Time", ColumnType.MOMENT),
                Column(
                    "upstream", "Source offset", ColumnType.OFFSET, "All earlier records were read."
                ),
                Column("answer", "Answer", ColumnType.OFFSET, "On the target."),
                Column(
                    "place",
                    "Exact offset",
                    ColumnType.OFFSET,
                    "The last target offset that skips nothing; empty where only the miss is certain.",
                ),
                Column("skipped", "First skipped, on the source", ColumnType.OFFSET),
                Column(
                    "skipped_copy", "First skipped, on the target", ColumnType.OFFSET, "Its copy."
                ),
            ),
        ),
        Table(
            "days",
            "By topic and day",
            (
                *_FLOW,
                _TOPIC,
                Column(
                    "asked",
                    "Answers for",
                    ColumnType.CODE,
                    "Checkpoint: written for a group. Sample: a record, translated after the next sync.",
                ),
                Column(
                    "day_ms", "Day", ColumnType.MOMENT, "UTC; empty where the time was not stored."
                ),
                *_MEASURES,
            ),
        ),
        Table(
            "unknown",
            "Answers that cannot be checked",
            (
                *_FLOW,
                _TOPIC,
                Column("reason", "Reason", ColumnType.TEXT),
                Column("questions", "Answers", ColumnType.INTEGER),
            ),
        ),
    ),
    run=run,
    charts=(
        Chart(
            ChartType.BARS,
            "summary",
            "Records reprocessed after a failover by checkpoint (95 %)",
            "flow",
            "checkpoint_reread_p95",
        ),
        Chart(ChartType.BARS, "summary", "Width of certificates (95 %)", "flow", "width_p95"),
        Chart(
            ChartType.HEAT_MAP,
            "days",
            "Checkable answers by day",
            "day_ms",
            "checkable",
            "topic",
        ),
    ),
    definition="The exact offset of a source offset is the target offset of the last copy of the first "
    "record from there on. It is found by comparing key, value, headers and time of the records of both "
    "sides, in their order. Where equal records, compaction, retention or other writers allow several "
    "answers, an answer counts as unknown, never as right. A miss is an answer after an unread record. "
    "Certificates are those that crosslog would have given with the offset syncs of that time.",
)
