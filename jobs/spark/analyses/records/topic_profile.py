"""`topic-profile`: rate and shape of the records of topics by time, and when they changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

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
from jobs.spark.analyses.records.ranges import CLUSTER, RANGE, TOPICS, check_range

if TYPE_CHECKING:
    from jobs.spark.analyses.records.profile.merging import TopicProfile
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask

_WIDTHS_MS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_MOST_ROWS = 100_000
_MOST_NOTES = 20


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Count the records by topic and bucket, then look for changes and for what was near them."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.profile.around import around
    from jobs.spark.analyses.records.profile.merging import changes_of, profiles_of
    from jobs.spark.analyses.records.profile.planning import counted
    from jobs.spark.analyses.records.running import notes_of

    width_ms = _WIDTHS_MS[arguments["bucket"]]
    done: list[Reduced] = []
    rows, totals, changes = (list[dict[str, Any]]() for _ in range(3))
    notes: list[str] = []
    reduced = counted(task, ANALYSIS.kind, arguments, width_ms)
    for profile in profiles_of(reduced, width_ms, arguments["from"], arguments["to"]):
        rows += islice(profile.rows(), _MOST_ROWS + 1 - len(rows))
        totals.append(profile.total())
        changes += changes_of(profile)
        notes += _notes_of(profile)
        done += profile.done
    if len(rows) > _MOST_ROWS:
        notes.append(f"Topics by time: cut to the first {_MOST_ROWS:,} rows.")
    more_notes = len(notes) - _MOST_NOTES
    if more_notes > 0:
        notes[_MOST_NOTES:] = [f"And {more_notes:,} more notes of topics."]
    changes.sort(key=lambda one: -one["step"])
    near, more = around(task, changes, width_ms, arguments["log"])
    answers = (totals, changes, near, rows[:_MOST_ROWS])
    for table, values in zip(ANALYSIS.tables, answers, strict=True):
        task.write(table.name, arrow_table(table, values))
    facts = {
        "topics": len(totals),
        "records": sum(one["records"] for one in totals),
        "bytes": sum(one["bytes"] for one in totals),
        "changes": len(changes),
        "largest_change": _sentence(changes[0]) if changes else None,
    }
    return Answer(facts, (*notes_of(done), *notes, *more))


def _notes_of(profile: TopicProfile) -> Iterator[str]:
    held, emptied, overflow = profile.held, profile.emptied, profile.overflow
    found = {
        "It is compacted: the rates of older times and changes are unknown.": profile.is_compacted,
        "Its cleanup policy cannot be read: if it compacts, old rates are low.": not profile.policy,
        f"An open transaction holds back the end of {held:,} partitions: the rest was not read.": held,
        f"{emptied:,} partitions have lost all their records: the buckets do not show these.": emptied,
        f"{overflow:,} records lie in too many buckets and count as those without a time, and no bucket is "
        "complete: a larger bucket or a shorter range is needed.": overflow,
    }
    return (f"{profile.topic}: {text}" for text, is_true in found.items() if is_true)


def _sentence(one: Mapping[str, Any]) -> str:
    return f"{one['topic']}: {one['series'].replace('_', ' ')} {one['before']:,.4g} → {one['after']:,.4g}"


def _spread(name: str, what: str, definition: str, type_: ColumnType) -> tuple[Column, ...]:
    return (
        Column(f"{name}_p50", f"{what}, median", type_, definition),
        *(Column(f"{name}_p{n}", f"{what}, {n} %", type_, "Within 1 %.") for n in (95, 99)),
        Column(f"{name}_max", f"{what}, max", type_),
    )


_INTEGER, _BYTES, _NUMBER = ColumnType.INTEGER, ColumnType.BYTES, ColumnType.NUMBER
_TOPIC = Column("topic", "Topic", ColumnType.TEXT)
_EXPANDED = "Expanded bytes by bytes in the log."
_ORDER = "Older than one before them in the partition (among each 4,000,000 offsets)."
_MEASURES = (
    Column("records", "Records", _INTEGER),
    Column("bytes", "Bytes", _BYTES, "In the log: an even share of the batch."),
    Column("records_per_s", "Records/s", _NUMBER, "Of the time that was read; empty below 1 s."),
    Column("bytes_per_s", "Bytes/s", _NUMBER),
    *_spread("record_bytes", "Record size", "Of key, value and headers.", _BYTES),
    Column("largest_partition", "Largest record: partition", _INTEGER),
    Column("largest_offset", "Largest record: offset", ColumnType.OFFSET),
    *_spread("batch_records", "Records per batch", "By the first record.", _INTEGER),
    *_spread("batch_bytes", "Batch size", "As it is in the log.", _BYTES),
    Column("compression_ratio", "Compression ratio", _NUMBER, _EXPANDED),
    Column("null_keys", "Null keys", _INTEGER),
    Column("null_key_share", "Null keys, share", ColumnType.RATIO),
    Column("tombstones", "Tombstones", _INTEGER, "Records with a null value."),
    Column("with_headers", "With headers", _INTEGER),
    Column("distinct_keys", "Distinct keys", _INTEGER, "HyperLogLog, standard error up to 2 %."),
    Column("out_of_order", "Out of order", _INTEGER, _ORDER),
    Column("future", "Future timestamps", _INTEGER, "Later than the run."),
    Column("log_append", "Log append time", _INTEGER, "Brokers gave the time, not producers."),
    Column("large", "Claim check", _INTEGER, "Records of more than 1 MiB."),
    Column("large_share", "Claim check, share of bytes", ColumnType.RATIO),
)
_BUCKETS = Column("complete_buckets", "Complete buckets", _INTEGER)
_COMPLETE = "All records were read. Only such buckets show changes."
_CHANGES = (
    _TOPIC,
    Column("series", "Series", ColumnType.CODE),
    Column("at_ms", "Bucket", ColumnType.MOMENT, "The first one of the new level."),
    Column("before", "Before", _NUMBER, "Median of the level."),
    Column("after", "After", _NUMBER, "Median of the level."),
    Column("factor", "Factor", _NUMBER, "Empty: it was 0 before."),
)
_AROUND = (
    Column("change_ms", "Bucket of the change", ColumnType.MOMENT),
    Column("change", "Change", ColumnType.TEXT),
    Column("at_ms", "Time", ColumnType.MOMENT),
    Column("distance_s", "Seconds after", _INTEGER, "Below 0: before it."),
    Column("kind", "Kind", ColumnType.CODE),
    Column("text", "Event", ColumnType.TEXT),
)
_BUCKET = (
    Column("bucket_ms", "Bucket", ColumnType.MOMENT, "Empty: without a time."),
    Column("complete", "Complete", ColumnType.BOOLEAN, _COMPLETE),
)
_WIDTH = Argument(
    "bucket", ArgumentType.CHOICE, "Bucket", "Of record time, UTC.", default="hour",
    choices=tuple(_WIDTHS_MS)
)  # fmt: skip
_LOG_HELP = "Of the cluster: what it says of the minutes around changes."
ANALYSIS = Analysis(
    kind="topic-profile",
    title="Topic profile",
    arguments=(
        *(CLUSTER, TOPICS, _WIDTH, *RANGE),
        Argument("log", ArgumentType.LOG, "Metadata log", _LOG_HELP),
    ),
    tables=(
        Table("totals", "Topics", (_TOPIC, _BUCKETS, *_MEASURES)),
        Table("changes", "Changes", _CHANGES),
        Table("around", "Events around changes", _AROUND),
        Table("buckets", "Topics by time", (_TOPIC, *_BUCKET, *_MEASURES)),
    ),
    run=run,
    charts=(
        Chart(ChartType.LINES, "buckets", "Records/s", "bucket_ms", "records_per_s", "topic"),
        Chart(ChartType.LINES, "buckets", "Bytes/s", "bucket_ms", "bytes_per_s", "topic"),
        Chart(ChartType.HEAT_MAP, "buckets", "Records by time", "bucket_ms", "records", "topic"),
        Chart(ChartType.BARS, "totals", "Bytes by topic", "topic", "bytes"),
    ),
    definition="A change is a lasting step of a level: at least 3 complete buckets on both sides, at least "
    "nine in all, a factor of at least 1.25, and more than the noise of the series explains. It is found by "
    "PELT with a BIC-like penalty. The step lies in the bucket that is named or in the one before. Events "
    "are those from 10 minutes before these buckets to 2 minutes after them, the nearest 50 of each change; "
    "an event near a change need not be its cause.",
    checked=check_range,
    wants_events=True,
)
