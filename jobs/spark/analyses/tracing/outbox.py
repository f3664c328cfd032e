"""`outbox`: how long events take from their database commit to a topic, and whether all of them are there."""

from __future__ import annotations

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
    Table,
)
from jobs.spark.analyses.analysis import ColumnType as Type
from jobs.spark.analyses.records.ranges import CLUSTER, MOST_RECORDS, RANGE, TOPICS, check_range

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask
    from jobs.spark.analyses.tracing.outboxes.judging import Judging

# Of both, the driver keeps something in memory.
_MOST_EVENTS, _MOST_MARKS = 5_000_000, 1_000_000
_MARKS_PRESET = "debezium-transaction"


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the transaction topic and the outbox topics once, then the ids of what is listed."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.tracing.outboxes.events import read_events
    from jobs.spark.analyses.tracing.outboxes.judging import judged
    from jobs.spark.analyses.tracing.planning import EVENT_OFFSETS
    from jobs.spark.analyses.tracing.texts import add_texts
    from jobs.tracing.extractors.extractor import Extractor, preset_extractor

    given = task.resources["extractor"]
    extractor = Extractor.from_mapping(given["extractor"])
    options = {**given, "transactions": preset_extractor(_MARKS_PRESET).to_mapping()}
    connections = connections_of(task, "cluster")
    is_committed = arguments["isolation"] == "read_committed"
    reading = Reading(connections, is_committed, unit_offsets=EVENT_OFFSETS)
    question = {"kind": ANALYSIS.kind, "extractor": given["extractor"], **arguments}
    works = _plan(connections["cluster"], arguments)
    done = list(reduce_records(task, question, reading, works.copy, read_events, options))
    judging = judged(done, extractor)
    done = [one._replace(tables={"problems": one.tables["problems"]}) for one in done]
    shown = {"shown": arguments["ids"] == "shown"}
    for title, role, name in _TEXTS:
        wanted = {**options, **shown, "role": role, "extractor": options[name]}
        add_texts(task, question, reading, done, judging.rows.get(title, []), wanted)
    for table in ANALYSIS.tables:
        task.write(table.name, arrow_table(table, judging.rows.get(table.name, [])))
    up_to = [row["complete_up_to_ms"] for row in judging.rows["topics"]]
    is_known = {"": True, "transactions": bool(arguments["transactions"])}
    facts = {
        "topics": len(up_to),
        **{
            name: judging.facts[name] if is_known[group] else None
            for group, names in _FACTS.items()
            for name in names.split()
        },
        "complete_up_to": None if None in up_to else iso(min(up_to)),
        "complete_from": iso(judging.complete_from_ms),
    }
    return Answer(facts, (*notes_of(done), *_notes(judging, done, facts)))


def _plan(connection: Connection, arguments: Mapping[str, Any]) -> list[Work]:
    """Return the works of the transaction topic first: its ends are older than those of the events."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import topics_named
    from jobs.spark.analyses.tracing.planning import whole_works

    marks: list[Work] = []
    with ClusterClient(connection, timeout_s=30) as client:
        if arguments["transactions"]:
            most = min(_MOST_MARKS, arguments["most_records"])
            by_time = {"from_offset": None, "to_offset": None, "most_records": most}
            given = {**arguments, **by_time}
            named = topics_named(client, given["transactions"], "transactions")
            marks = whole_works(client, named, given, is_marks=True)
        topics = topics_named(client, arguments["topics"])
        events = whole_works(client, topics, arguments, is_marks=False)
    names = {one.spans[0].topic for one in marks}
    if len(names) > 1:
        raise InvalidFields({"transactions": "Enter the name of one topic."})
    events = [one for one in events if one.spans[0].topic not in names]
    if not events:
        raise InvalidFields({"topics": "A topic beside the transaction topic is required."})
    return marks + events


def _notes(judging: Judging, done: Sequence[Reduced], facts: Mapping[str, Any]) -> Iterator[str]:
    from jobs.spark.analyses.tracing.planning import notes_of_problems

    yield from notes_of_problems(done)
    for row in [row for row in judging.rows["topics"] if row["reason"]][:10]:
        yield f"{row['topic']}: complete up to an unknown time. {_WHY[row['reason']]}"
    is_produced = any(row["clock"] not in {"append_time", "none"} for row in judging.rows["topics"])
    said = {
        "Some records have the time of their producer: their delays end there, and a time that was copied "
        "from the commit time is counted as not measured.": is_produced,
        f"Some logs were not read, or have no records, from before {facts['complete_from']}: what is missing "
        "from before this time is unknown.": facts["complete_from"],
        f"{facts['negative']:,} events are older than their commit: clocks differ.": facts[
            "negative"
        ],
    }
    yield from (text for text, is_true in said.items() if is_true)


# Table, column (and role), and the name of the extractor.
_TEXTS = (("duplicates", "id", "extractor"), ("transactions", "transaction", "transactions"))
_WHY = {
    "idle": "It has no event in the range.",
    "no_commit_time": "The commit times are unknown.",
    "in_flight": "When its events were sent is unknown, or less than two minutes ago.",
    "no_evidence": "It has neither one sequence nor transactions that would show each missing event.",
}
_FACTS = {
    "": "events duplicates gaps missing unknown_gaps negative",
    "transactions": "transactions incomplete_transactions open_transactions unknown_transactions",
}


def columns(type_: Type, **titles: str) -> tuple[Column, ...]:
    """Return columns of one type that need no definition, by name and title."""
    return tuple(Column(name, title, type_) for name, title in titles.items())


def places(prefix: str = "", title: str = "") -> tuple[Column, ...]:
    """Return the columns of where and when a record is."""
    found = (
        TOPIC,
        *columns(Type.INTEGER, partition="Partition"),
        *columns(Type.OFFSET, offset="Offset"),
    )
    found += columns(Type.MOMENT, at_ms="Time")
    return tuple(replace(one, name=prefix + one.name, title=one.title + title) for one in found)


(TOPIC,) = columns(Type.TEXT, topic="Topic")
_REASON = Column("reason", "Reason", Type.CODE, "Why it is unknown.")
_STATE = (*columns(Type.CODE, state="State"), _REASON)
_DELAYS = columns(Type.DURATION_MS, p50_ms="Median", p95_ms="95 %", p99_ms="99 %", max_ms="Max")
_SETTLED = "All events with this commit time or an older one are there."
_MEASURED = "Events with a delay, from commit to record time, that is known and not negative."
IDS = Argument(
    "ids", ArgumentType.CHOICE, "IDs", "Digests, or as text.",
    default="digests", choices=("digests", "shown"), admin_choices=("shown",),
)  # fmt: skip
ANALYSIS = Analysis(
    kind="outbox",
    title="Outbox",
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
        IDS,
        *RANGE[:-1],
        replace(MOST_RECORDS, default=_MOST_EVENTS, most=_MOST_EVENTS),
    ),
    tables=(
        Table(
            "topics",
            "Topics",
            (
                TOPIC,
                *columns(Type.INTEGER, events="Events", without_id="Without ID"),
                Column("clock", "Record time", Type.CODE, "Of the broker, or of the producer."),
                Column("measured", "Measured", Type.INTEGER, _MEASURED),
                Column("unmeasured", "Not measured", Type.INTEGER, "A time is unknown, or was copied."),
                Column("negative", "Negative delays", Type.INTEGER, "Clocks differ."),
                *_DELAYS,
                Column("duplicates", "Duplicates", Type.INTEGER, "Further events with the same ID."),
                Column("missing", "Missing", Type.INTEGER, "Numbers of gaps in sequences."),
                *columns(Type.MOMENT, newest_ms="Newest commit"),
                Column("complete_up_to_ms", "Complete up to", Type.MOMENT, _SETTLED),
                _REASON,
            ),
        ),
        Table(
            "duplicates",
            "Duplicates",
            (
                Column("id", "ID", Type.TEXT, "Empty: it could not be read again."),
                *columns(Type.INTEGER, records="Records"),
                *places(),
                *places("again_", " of the second"),
            ),
        ),
        Table(
            "gaps",
            "Gaps in sequences",
            (
                *_STATE,
                *columns(Type.INTEGER, first="First missing", last="Last missing", missing="Missing"),
                *places(),
                *places("after_", " after the gap"),
            ),
        ),
        Table(
            "transactions",
            "Transactions that are not whole",
            (
                *columns(Type.TEXT, transaction="Transaction"),
                *_STATE,
                *columns(Type.TEXT, collection="Collection"),
                *columns(Type.INTEGER, expected="Expected"),
                Column("seen", "Seen", Type.INTEGER, "Different events."),
                *columns(Type.INTEGER, missing="Missing"),
                Column("since_ms", "Since", Type.MOMENT, "Record time of END, of an open one of BEGIN."),
                Column("age_ms", "Age", Type.DURATION_MS, "When reading began."),
                *places()[:3],
            ),
        ),
    ),
    run=run,
    charts=(Chart(ChartType.BARS, "topics", "Delay, 99 %", "topic", "p99_ms"),),
    definition="Events with equal IDs are duplicates; records without value and ID (tombstones) are no "
    "events. Sequences count by one in their scope, by default the topic. A number, or an event of a "
    "transaction, is missing only if its record would be among those read: two minutes (the delivery timeout "
    "of producers) after the beginning of all logs and before their ends. All else is unknown: before_range, "
    "in_flight, after_range, not_read (no topic of the collection was read), compacted, unread (a record "
    "could not be). Of a collection that the extractor names, all topics must be read. In transactions, "
    "events without ID are the same by their sequence; without both, one that came twice counts twice. The "
    "transaction topic's ends are taken first. At most 1,000 rows of each table are listed.",
    checked=check_range,
)  # fmt: skip
