"""`outbox`: how long events take from their database commit to a topic, and whether all of them are there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
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
from jobs.spark.analyses.records.ranges import CLUSTER, MOST_RECORDS, RANGE, TOPICS, check_range

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask
    from jobs.spark.analyses.tracing.outbox_judging import Judging

_WIDTHS_MS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
# Of both, the driver keeps something in memory.
_MOST_EVENTS, _MOST_MARKS = 5_000_000, 1_000_000
_MARKS_PRESET = "debezium-transaction"


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the transaction topic and the outbox topics once, then the ids of what is listed."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.tracing.outbox_events import read_events
    from jobs.spark.analyses.tracing.outbox_judging import judged
    from jobs.spark.analyses.tracing.texts import add_texts
    from jobs.tracing.extractors.extractor import Extractor, preset_extractor

    given = task.resources["extractor"]
    extractor = Extractor.from_mapping(given["extractor"])
    options = {**given, "transactions": preset_extractor(_MARKS_PRESET).to_mapping()}
    connections = connections_of(task, "cluster")
    reading = Reading(connections, arguments["isolation"] == "read_committed")
    question = {"kind": ANALYSIS.kind, "extractor": given["extractor"], **arguments}
    works = _plan(connections["cluster"], arguments)
    done = list(reduce_records(task, question, reading, works.copy, read_events, options))
    judging = judged(done, extractor, _WIDTHS_MS[arguments["bucket"]])
    done = [one._replace(tables={"problems": one.tables["problems"]}) for one in done]
    shown = {"shown": arguments["ids"] == "shown"}
    for title, role, name in _TEXTS:
        wanted = {**options, **shown, "role": role, "extractor": options[name]}
        add_texts(task, question, reading, done, judging.rows.get(title, []), wanted)
    for table in ANALYSIS.tables:
        task.write(table.name, arrow_table(table, judging.rows.get(table.name, [])))
    up_to = [row["complete_up_to_ms"] for row in judging.rows["topics"]]
    facts = {
        "topics": len(up_to),
        **{name: judging.facts[name] for name in _FACTS},
        **{
            name: judging.facts[name] if arguments["transactions"] else None
            for name in _TRANSACTION_FACTS
        },
        "complete_up_to": None if None in up_to else iso(min(up_to)),
        "complete_from": iso(judging.all.start_ms),
    }
    return Answer(facts, (*notes_of(done), *_notes(judging, done, facts)))


def _plan(connection: Connection, arguments: Mapping[str, Any]) -> list[Work]:
    """Return the works of the transaction topic first: its ends are older than those of the events."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import topics_named
    from jobs.spark.analyses.tracing.planning import whole_works

    with ClusterClient(connection, timeout_s=30) as client:
        topics = topics_named(client, arguments["topics"])
        found: list[Work] = []
        if arguments["transactions"]:
            marks = topics_named(client, arguments["transactions"], "transactions")
            if len(marks) > 1:
                raise InvalidFields({"transactions": "Enter the name of one topic."})
            topics = [one for one in topics if one.name != marks[0].name]
            most = min(_MOST_MARKS, arguments["most_records"])
            by_time = {"from_offset": None, "to_offset": None, "most_records": most}
            known = {"is_marks": True, "at_ms": time.time_ns() // 1_000_000}
            found += whole_works(client, marks, {**arguments, **by_time}, known)
        if not topics:
            raise InvalidFields({"topics": "A topic beside the transaction topic is required."})
        known = {"is_marks": False, "at_ms": time.time_ns() // 1_000_000}
        return found + whole_works(client, topics, arguments, known)


def _notes(judging: Judging, done: Sequence[Reduced], facts: Mapping[str, Any]) -> Iterator[str]:
    from jobs.spark.analyses.tracing.outbox_judging import MOST_BUCKETS, MOST_LISTED

    problems: Counter[str] = Counter()
    for one in done:
        table = one.tables["problems"].to_pydict()
        problems.update(dict(zip(table["problem"], table["records"], strict=True)))
    for text, count in problems.most_common(10):
        yield f"{count:,} records: {text}"
    unknown = [row for row in judging.rows["topics"] if row["reason"]]
    for row in unknown[:10]:
        yield f"{row['topic']}: complete up to an unknown time. {_WHY[row['reason']]}"
    is_produced = any(row["clock"] not in {"append_time", "none"} for row in judging.rows["topics"])
    listed = max(len(rows) for name, rows in judging.rows.items() if name in _LISTED)
    said = {
        "Some records have the time of their producer: their delays end there, and a time that was copied "
        "from the commit time is counted as not measured.": is_produced,
        f"Some logs were not read, or have no records, from before {facts['complete_from']}: what is missing "
        "from before this time is unknown.": facts["complete_from"],
        f"{facts['negative']:,} events are older than their commit: clocks differ.": facts[
            "negative"
        ],
        f"At most {MOST_LISTED:,} rows of duplicates, gaps and transactions are listed.": listed
        >= MOST_LISTED,
        f"Delays by time: cut to {MOST_BUCKETS:,} rows.": len(judging.rows["delays"])
        >= MOST_BUCKETS,
    }
    yield from (text for text, is_true in said.items() if is_true)


# Table, column (and role), and the name of the extractor.
_TEXTS = (
    ("duplicates", "id", "extractor"),
    ("transactions", "transaction", "transactions"),
)
_LISTED = {"duplicates", "gaps", "transactions"}
_WHY = {
    "idle": "It has no event in the range.",
    "no_commit_time": "The commit times are unknown.",
    "in_flight": "When its events were sent is unknown, or less than two minutes ago.",
    "no_evidence": "It has neither sequences nor transactions that would show a missing event.",
}
_FACTS = ("events", "duplicates", "gaps", "missing", "unknown_gaps", "negative")
_TRANSACTION_FACTS = (
    "transactions",
    "incomplete_transactions",
    "open_transactions",
    "unknown_transactions",
)
_TEXT, _CODE, _COUNT = ColumnType.TEXT, ColumnType.CODE, ColumnType.INTEGER
_OFFSET, _TIME, _SPAN = ColumnType.OFFSET, ColumnType.MOMENT, ColumnType.DURATION_MS
_TOPIC = Column("topic", "Topic", _TEXT)
_REASON = Column("reason", "Reason", _CODE, "Why it is unknown.")
_PLACE = (_TOPIC, Column("partition", "Partition", _COUNT), Column("offset", "Offset", _OFFSET))
_AT = (*_PLACE, Column("at_ms", "Time", _TIME))


def _later(prefix: str, title: str) -> tuple[Column, ...]:
    return tuple(replace(one, name=prefix + one.name, title=f"{one.title} {title}") for one in _AT)


_DELAYS = tuple(
    Column(f"{name}_ms", title, _SPAN, "From commit to record time.")
    for name, title in (("p50", "Median"), ("p95", "95 %"), ("p99", "99 %"), ("max", "Max"))
)
_SETTLED = "All events with this commit time or an older one are there."
_MEASURED = "Events with a delay that is known and not negative."
IDS = Argument(
    "ids", ArgumentType.CHOICE, "IDs", "Digests, or as text.",
    default="digests", choices=("digests", "shown"), admin_choices=("shown",),
)  # fmt: skip
ANALYSIS = Analysis(
    kind="outbox",
    title="Outbox",
    question="How long do events take from commit to topic, and are all of them there, once?",
    arguments=(
        CLUSTER,
        TOPICS,
        Argument(
            "extractor", ArgumentType.EXTRACTOR, "Extractor", "Where ID and commit time are.",
            default="debezium-outbox",
        ),
        Argument(
            "transactions", ArgumentType.TEXT, "Transaction topic", "Of Debezium: BEGIN and END."
        ),
        Argument(
            "bucket", ArgumentType.CHOICE, "Bucket", "Of record time, UTC.", default="hour",
            choices=tuple(_WIDTHS_MS),
        ),
        IDS,
        *RANGE[:-1],
        replace(MOST_RECORDS, default=_MOST_EVENTS, most=_MOST_EVENTS),
    ),
    tables=(
        Table(
            "topics",
            "Topics",
            (
                _TOPIC,
                Column("events", "Events", _COUNT),
                Column("without_id", "Without ID", _COUNT),
                Column("clock", "Record time", _CODE, "Of the broker, or of the producer."),
                Column("measured", "Measured", _COUNT, _MEASURED),
                Column("unmeasured", "Not measured", _COUNT, "A time is unknown, or was copied."),
                Column("negative", "Negative delays", _COUNT, "Clocks differ."),
                *_DELAYS,
                Column("duplicates", "Duplicates", _COUNT, "Further events with the same ID."),
                Column("missing", "Missing", _COUNT, "Numbers of gaps in sequences."),
                Column("newest_ms", "Newest commit", _TIME),
                Column("complete_up_to_ms", "Complete up to", _TIME, _SETTLED),
                _REASON,
            ),
        ),
        Table(
            "delays",
            "Delays by time",
            (_TOPIC, Column("bucket_ms", "Bucket", _TIME), Column("events", "Measured", _COUNT), *_DELAYS),
        ),
        Table(
            "duplicates",
            "Duplicates",
            (
                Column("id", "ID", _TEXT, "Empty: it could not be read again."),
                Column("records", "Records", _COUNT),
                *_AT,
                *_later("again_", "of the second"),
            ),
        ),
        Table(
            "gaps",
            "Gaps in sequences",
            (
                Column("state", "State", _CODE),
                _REASON,
                Column("first", "First missing", _COUNT),
                Column("last", "Last missing", _COUNT),
                Column("missing", "Missing", _COUNT),
                *_AT,
                *_later("after_", "after the gap"),
            ),
        ),
        Table(
            "transactions",
            "Transactions that are not whole",
            (
                Column("transaction", "Transaction", _TEXT),
                Column("state", "State", _CODE),
                _REASON,
                Column("collection", "Collection", _TEXT),
                Column("expected", "Expected", _COUNT),
                Column("seen", "Seen", _COUNT, "Different events."),
                Column("missing", "Missing", _COUNT),
                Column("since_ms", "Since", _TIME, "Record time of END, of an open one of BEGIN."),
                Column("age_ms", "Age", _SPAN, "When reading began."),
                *_PLACE,
            ),
        ),
    ),
    run=run,
    charts=(
        Chart(ChartType.LINES, "delays", "Delay, 99 %", "bucket_ms", "p99_ms", "topic"),
        Chart(ChartType.LINES, "delays", "Delay, median", "bucket_ms", "p50_ms", "topic"),
    ),
    definition="Events with equal IDs are duplicates. Sequences count by one in their scope, by default the "
    "topic. A number, or an event of a transaction, is missing only if its record would be among those read: "
    "after the beginning of all logs, two minutes (the delivery timeout of producers) before their ends. "
    "All else is unknown: before_range, in_flight, after_range, not_read (no topic of the collection "
    "was read), compacted, unread. The transaction topic's ends are taken first.",
    checked=check_range,
)  # fmt: skip
