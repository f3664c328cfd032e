"""`dead-letters`: records that services could not process, by step and exception."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.quorum.history.change_json import iso
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
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask

_MOST_BUCKETS, _MOST_LINES, _MOST_PROBLEMS = 400, 9, 10
_WIDTHS_MS = (60_000, 3_600_000, 86_400_000)
_COUNTS = ("records", "letters")
EXTRACTOR = Argument(
    "extractor",
    ArgumentType.EXTRACTOR,
    "Extractor",
    "Where error and original place are: spring-dlt, streams-dlq, connect-dlq, or a stored one.",
    is_required=True,
)


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the dead letter topics once."""
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.tracing.replaying import groups

    reading = Reading(
        connections_of(task, "cluster"), read_committed=arguments["isolation"] == "read_committed"
    )
    options = {**task.resources["extractor"], **{n: arguments[n] for n in ("ids", "messages")}}
    question = {"kind": ANALYSIS.kind, **arguments, **task.resources["extractor"]}
    works = works_of(task, arguments)
    reduced = list(reduce_records(task, question, reading, works, groups.reduce_letters, options))

    def merged(name: str, merge: Any) -> list[dict[str, Any]]:
        found = [one.tables[name] for one in reduced if name in one.tables]
        return list(merge(pa.concat_tables(found)).to_pylist()) if found else []

    told = told_of(reduced)
    found = {
        "groups": merged("groups", groups.merged_groups),
        "letters": merged("letters", groups.newest),
        "over_time": _over_time(merged("minutes", groups.merged_minutes)),
    }
    for name, rows in found.items():
        task.write(name, arrow_table(ANALYSIS.table(name), rows))
    times = [row[name] for row in found["groups"] for name in ("first_ms", "last_ms") if row[name]]
    facts = {
        "records": told["records"],
        "letters": told["letters"],
        "groups": len(found["groups"]),
        "first": iso(min(times, default=None)),
        "last": iso(max(times, default=None)),
    }
    return Answer(facts, (*notes_of(reduced), *notes_of_letters(told)))


def works_of(task: AnalysisTask, arguments: Mapping[str, Any]) -> Any:
    """Return the plan of `reduce_records` for the topics and range that arguments name."""

    def plan() -> list[Work]:
        from jobs.cluster.client import ClusterClient
        from jobs.spark.analyses.records import ranges
        from jobs.spark.analyses.records.running import connections_of

        connection = connections_of(task, "cluster")["cluster"]
        with ClusterClient(connection, timeout_s=30) as client:
            topics = ranges.topics_named(client, arguments["topics"])
            spans = ranges.spans_of(client, topics, arguments)
        return ranges.pieces(ranges.newest(spans, arguments["most_records"]))

    return plan


def told_of(reduced: Sequence[Reduced]) -> Counter[str]:
    """Return what tasks counted."""
    told = Counter[str]()
    for one in reduced:
        for row in one.tables["told"].to_pylist():
            told[row["name"]] += row["count"]
    return told


def notes_of_letters(told: Mapping[str, int]) -> Iterator[str]:
    """Yield sentences about records that are no dead letters, and about values that cannot be read."""
    others = told["records"] - told["letters"]
    if others:
        yield (
            f"{others:,} records are no dead letters by this extractor: they have neither an error nor an "
            "original topic."
        )
    problems = sorted((name for name in told if name not in _COUNTS), key=lambda n: -told[n])
    yield from (f"{told[name]:,} records: {name}" for name in problems[:_MOST_PROBLEMS])


def _over_time(minutes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return buckets of the smallest width that makes few of them; rare errors are one line."""
    from jobs.spark.analyses.tracing.replaying.groups import MINUTE_MS, REST

    known = [row for row in minutes if row["minute"] is not None]
    if not known:
        return []
    times = [row["minute"] * MINUTE_MS for row in known]
    fitting = (one for one in _WIDTHS_MS if (max(times) - min(times)) / one <= _MOST_BUCKETS)
    width = next(fitting, _WIDTHS_MS[-1])
    by_error, found = Counter[str](), Counter[tuple[int, str]]()
    for row in known:
        by_error[row["error"] or ""] += row["letters"]
    lines = {name for name, _ in by_error.most_common(_MOST_LINES)}
    for at, row in zip(times, known, strict=True):
        error = row["error"] or ""
        found[at // width * width, error if error in lines else REST] += row["letters"]
    return [
        {"bucket_ms": at, "error": error, "letters": count}
        for (at, error), count in sorted(found.items())
    ]


_INTEGER, _TEXT, _OFFSET = ColumnType.INTEGER, ColumnType.TEXT, ColumnType.OFFSET
_CHOICE, _MOMENT = ArgumentType.CHOICE, ColumnType.MOMENT
PLACE = (
    Column("topic", "Topic", _TEXT),
    Column("partition", "Partition", _INTEGER),
    Column("offset", "Offset", _OFFSET),
)
_STEP, _ERROR = Column("step", "Step", _TEXT), Column("error", "Error", _TEXT, "Exception class.")
_LETTERS = Column("letters", "Dead letters", _INTEGER)
_REPLAYS = "By the header crosslog-replay-count, or the extractor; empty: it cannot be read."
ANALYSIS = Analysis(
    kind="dead-letters",
    title="Dead letters",
    question="Which records could services not process, at which step, and why?",
    arguments=(
        *(CLUSTER, EXTRACTOR, TOPICS, *RANGE),
        Argument(
            "ids",
            _CHOICE,
            "IDs",
            "Or their digests.",
            default="digests",
            choices=("digests", "shown"),
            admin_choices=("shown",),
        ),
        Argument(
            "messages",
            _CHOICE,
            "Error messages",
            "They may have content of records.",
            default="hidden",
            choices=("hidden", "shown"),
            admin_choices=("shown",),
        ),
    ),
    tables=(
        Table(
            "groups",
            "Dead letters by step and error",
            (
                *(_STEP, _ERROR, _LETTERS),
                Column("first_ms", "First", _MOMENT),
                Column("last_ms", "Last", _MOMENT),
                *(Column(one.name, f"Newest: {one.title.lower()}", one.type) for one in PLACE),
                Column("attempts", "Attempts, max", _INTEGER),
                Column("replays", "Replays, max", _INTEGER),
            ),
        ),
        Table(
            "letters",
            "Newest dead letters",
            (
                *(*PLACE, Column("at_ms", "Time", _MOMENT), _STEP, _ERROR),
                Column("id", "ID", _TEXT),
                Column("original_topic", "Original topic", _TEXT),
                Column("original_partition", "Original partition", _INTEGER),
                Column("original_offset", "Original offset", _OFFSET),
                Column("attempts", "Attempts", _INTEGER),
                Column("replays", "Replays", _INTEGER, _REPLAYS),
                Column("message", "Message", _TEXT),
            ),
        ),
        Table(
            "over_time",
            "Dead letters over time",
            (Column("bucket_ms", "Time", _MOMENT), _ERROR, _LETTERS),
        ),
    ),
    run=run,
    charts=(
        Chart(ChartType.LINES, "over_time", "Dead letters", "bucket_ms", "letters", "error"),
        Chart(ChartType.BARS, "groups", "Dead letters by error", "error", "letters"),
    ),
    definition="A record with an error or an original topic is a dead letter. Times are those of the dead "
    "letters. The newest 1,000 are listed; all are counted, also those that were replayed since.",
    checked=check_range,
)
