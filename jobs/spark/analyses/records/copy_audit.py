"""`copy-audit`: whether the copy of a topic has the records of its source, by the records alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
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
from jobs.spark.analyses.records.auditing.kinds import COUNTS
from jobs.spark.analyses.records.ranges import MOST_RECORDS

if TYPE_CHECKING:
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask

_PAIR = ("source", "target", "source_topic", "target_topic")
LEVELS = ("L0", "L1", "L2", "L3")


def check(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidFields unless a flow is named, or a topic of each of two clusters."""
    if arguments["flow"]:
        for name in _PAIR:
            if arguments[name]:
                raise InvalidFields({name: "Leave this empty: the flow defines it."})
        return
    if not any(arguments[name] for name in _PAIR):
        raise InvalidFields({"flow": "A flow is required, or two clusters with a topic of each."})
    missing = {name: "It is required without a flow." for name in _PAIR if not arguments[name]}
    if missing:
        raise InvalidFields(missing)
    if arguments["topics"]:
        raise InvalidFields({"topics": "Only with a flow."})


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Compare the partitions, keep what is proven, and count."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.auditing import pairs, rows
    from jobs.spark.analyses.records.auditing.comparing import compare
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import notes_of, reduce_records

    level = arguments["level"]
    subject = pairs.subject_of(task, arguments)
    reading = Reading(
        {"source": subject.source, "target": subject.target},
        hash_keys=True,
        hash_records=True,
        only_headers=level == "L0",
        uncommitted=frozenset() if subject.is_source_committed else frozenset({"source"}),
    )
    totals = rows.Totals(level, subject.may_replay)
    done: list[Reduced] = []
    for reduced in reduce_records(
        task,
        {"kind": "copy-audit", **arguments},
        reading,
        lambda: pairs.plan_works(task, subject, arguments),
        compare,
        {"level": level},
    ):
        answer = rows.answer_of(reduced, level, may_replay=subject.may_replay)
        totals.add(answer, reduced.work)
        done.append(reduced._replace(tables={}))
        if answer.proof is not None:
            extra = reduced.work.extra
            proofs = subject.proofs(task, extra["topic"], extra["remote"])
            proofs.put(extra["partition"], answer.proof)
            proofs.save()
    facts = totals.facts()
    for table, found in zip(ANALYSIS.tables, (totals.rows, totals.findings), strict=True):
        task.write(table.name, arrow_table(table, found))
    notes = [*totals.notes(), *pairs.notes_about([one.work for one in done]), *notes_of(done)]
    if not subject.is_source_committed:
        notes.append(
            "Aborted records of the source are compared, too: the flow copies with read_uncommitted, or its "
            "isolation level is not known."
        )
    return Answer(facts, tuple(notes))


_WHERE = (
    Column("topic", "Topic", ColumnType.TEXT, "Its name on the source."),
    Column("partition", "Partition", ColumnType.INTEGER),
)


def _offset(name: str, title: str) -> Column:
    definition = "Exclusive." if name.endswith("_to") else ""
    return Column(name, title, ColumnType.OFFSET, definition)


ANALYSIS = Analysis(
    kind="copy-audit",
    title="Copy audit",
    arguments=(
        Argument(
            "flow",
            ArgumentType.FLOW,
            "Flow",
            "crosslog's, or one that MirrorMaker 2 copies.",
            has_archive=False,
        ),
        Argument("source", ArgumentType.CLUSTER, "Source cluster", "Without a flow."),
        Argument("source_topic", ArgumentType.TEXT, "Source topic", "Without a flow."),
        Argument("target", ArgumentType.CLUSTER, "Target cluster", "Without a flow."),
        Argument("target_topic", ArgumentType.TEXT, "Target topic", "Without a flow."),
        Argument(
            "topics",
            ArgumentType.TEXT,
            "Topics",
            "Source topics of the flow: names or patterns with *, separated by commas. Default: all.",
        ),
        Argument(
            "level",
            ArgumentType.CHOICE,
            "Level",
            "L0 batch headers, L1 digests per hour, L2 each record by a 64-bit hash, L3 each record by "
            "SHA-256.",
            default="L2",
            choices=LEVELS,
        ),
        Argument(
            "again",
            ArgumentType.CHOICE,
            "Read proven records again",
            "no: the audit begins where the last one of the level ended.",
            default="no",
            choices=("no", "yes"),
        ),
        replace(
            MOST_RECORDS,
            help="Offsets read of all partitions of both sides together: the newest of each, of partitions "
            "that were audited before the oldest.",
        ),
    ),
    tables=(
        Table(
            "partitions",
            "Partitions",
            (
                *_WHERE,
                Column("verdict", "Verdict", ColumnType.CODE),
                Column("reason", "Reason", ColumnType.TEXT),
                Column("level", "Level", ColumnType.TEXT),
                _offset("source_from", "Source from"),
                _offset("source_to", "Source to"),
                _offset("target_from", "Target from"),
                _offset("target_to", "Target to"),
                Column("compared", "Compared", ColumnType.INTEGER, "Pairs of records."),
                *(
                    Column(kind.code, title, ColumnType.INTEGER, definition)
                    for kind, title, definition in COUNTS
                ),
            ),
        ),
        Table(
            "findings",
            "Differences",
            (
                *_WHERE,
                Column("what", "Difference", ColumnType.CODE),
                _offset("source_offset", "Source offset"),
                _offset("source_to", "Source to"),
                _offset("target_offset", "Target offset"),
                _offset("target_to", "Target to"),
                Column("records", "Records", ColumnType.INTEGER, "Rows: 1,000 of a partition."),
                Column("detail", "Detail", ColumnType.TEXT),
            ),
        ),
    ),
    run=run,
    charts=(
        Chart(
            ChartType.BARS,
            "findings",
            "Records that differ by topic",
            "topic",
            "records",
            blank="No differences.",
        ),
    ),
    checked=check,
    definition="Only records are compared: no offset syncs, no checkpoints. L0 proves that whole batches "
    "were passed unchanged; it cannot judge batches that were packed again. L1 proves that each complete "
    "hour has the same records by number and two sums of digests, not their order. L2 proves the same "
    "records in the same order by a 64-bit hash of key, value, headers and time. L3 proves it by "
    "SHA-256. The time is left out where the target's broker sets it. Missing: on the source only, "
    "before a copied record, unless the target's log deleted as many at its start. Extra: "
    "on the target only. Duplicated: copied more than once. Altered: other content with the same key or time "
    "between the same neighbours. Source records after the last copied one are not judged. On compacted "
    "topics, a record on one side only counts as compacted where a later record has its key.",
)
