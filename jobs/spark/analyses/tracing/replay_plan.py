"""`replay-plan`: what of chosen dead letters can be sent again, from where and to where. It only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from jobs.spark.analyses.records.ranges import CLUSTER, RANGE, TOPICS, check_range
from jobs.spark.analyses.tracing.dead_letters import (
    EXTRACTOR,
    PLACE,
    notes_of_letters,
    told_of,
    works_of,
)
from jobs.tracing.replay.headers import Place
from jobs.tracing.replay.parts import in_order
from jobs.tracing.replay.planning import Action, Content, Letter, Planned, Planner, Tier, Topic

if TYPE_CHECKING:
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.task import AnalysisTask

_TARGETS = ("target", "quarantine_topic")
_LETTER = ("original_topic", "original_partition", "original_offset", "replays")
_KEPT = ("topic", "partition", "offset", "at_ms", "replays", "step", "error", "bytes")
_ORDER = (
    "Records are sent in the order of each dead letter partition, one partition after the other: records "
    "with the same key keep that order only within one. All come after what was sent to the target since."
)
_DUPLICATES = (
    "Each record is sent in a transaction with its position: readers with read_committed see it once, "
    "others may see aborted copies. What a service did before it failed, it may do again. A dead letter "
    "that another plan has sent is sent again."
)
Row = Mapping[str, Any]


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the dead letters, then look at the logs and targets that they name."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.tracing.replaying.letters import CHOSEN
    from jobs.spark.analyses.tracing.replaying.sources import MOST_PLANNED, reduce_chosen

    connections = connections_of(task, "cluster")
    is_committed = arguments["isolation"] == "read_committed"
    reading = Reading(connections, read_committed=is_committed)
    options = {**task.resources["extractor"], **{name: arguments[name] for name in CHOSEN}}
    question = {"kind": ANALYSIS.kind, **arguments, **task.resources["extractor"]}
    with ClusterClient(connections["cluster"], timeout_s=30) as client:
        _check_targets(client, arguments)
        works = works_of(task, arguments)
        reduced = list(reduce_records(task, question, reading, works, reduce_chosen, options))
        told = told_of(reduced)
        if told.pop("chosen", 0) > MOST_PLANNED:
            text = f"More than {MOST_PLANNED:,} dead letters are chosen: choose a shorter range."
            raise InvalidFields({"topics": text})
        found = [one.tables["letters"] for one in reduced if "letters" in one.tables]
        letters = in_order(row for table in found for row in table.to_pylist())
        read = frozenset(span.topic for one in reduced for span in one.work.spans)
        rows, notes = _planned(client, arguments, letters, read)
    task.write("records", arrow_table(ANALYSIS.table("records"), rows))
    groups = Counter((row["step"], row["error"], row["action"]) for row in rows)
    task.write(
        "groups",
        arrow_table(
            ANALYSIS.table("groups"),
            [
                {"step": step, "error": error, "action": action, "records": count}
                for (step, error, action), count in groups.most_common()
            ],
        ),
    )
    facts = _facts(arguments, rows)
    return Answer(facts, (*notes_of(reduced), *notes_of_letters(told), *notes))


def _check_targets(client: ClusterClient, arguments: Mapping[str, Any]) -> None:
    """Raise InvalidFields for a named topic that does not exist, or that is internal."""
    from jobs.spark.analyses.tracing.replaying.sources import existing

    topics = existing(client, [arguments[name] for name in _TARGETS])
    errors = {}
    for name in _TARGETS:
        topic = topics.get(arguments[name])
        if arguments[name] and topic is None:
            errors[name] = "The topic does not exist, or may not be described."
        elif topic is not None and topic.is_internal:
            errors[name] = "It is an internal topic."
    if errors:
        raise InvalidFields(errors)


def _planned(
    client: ClusterClient,
    arguments: Mapping[str, Any],
    letters: Sequence[Row],
    letter_topics: frozenset[str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of the plan, and notes; raises InvalidFields for a target that is read from."""
    from jobs.spark.analyses.tracing.replaying.sources import existing, logs_of

    for name in _TARGETS:
        if arguments[name] in letter_topics:
            raise InvalidFields({name: "The dead letters are read from this topic."})
    content = Content(arguments["content"])
    originals = {row["original_topic"] for row in letters}
    sources = letter_topics | (originals if content is Content.ORIGINAL else set())
    topics = existing(client, {*originals, *letter_topics, *(arguments[n] for n in _TARGETS)})
    logs, notes = logs_of(client, [one for name, one in topics.items() if name in sources])
    planner = Planner(
        content,
        arguments["target"] or "",
        arguments["max_replays"],
        arguments["quarantine_topic"] or "",
        letter_topics,
        {name: Topic(len(one.partitions), one.is_internal) for name, one in topics.items()},
        logs,
    )
    rows = []
    for row in letters:
        place = Place(row["topic"], row["partition"], row["offset"])
        planned = planner.plan(Letter(place, *(row[name] for name in _LETTER)))
        source = planned.source
        topic_id = topics[source.topic].topic_id if source and source.topic in topics else None
        rows.append({**{name: row[name] for name in _KEPT}, **_row(planned, topic_id)})
    if content is Content.ORIGINAL and letters:
        notes.append(
            "A dead letter does not name the ID of its original topic. If that was re-created since, another "
            "record may have the offset; a compacted topic may have none there."
        )
    return rows, notes[:20]


def _row(planned: Planned, topic_id: str | None) -> dict[str, Any]:
    source = planned.source
    return {
        "action": planned.action.value,
        "reason": planned.reason or None,
        "target_topic": planned.target_topic,
        "target_partition": planned.target_partition,
        "from_topic": source and source.topic,
        "from_partition": source and source.partition,
        "from_offset": source and source.offset,
        "from_topic_id": topic_id,
        "tier": planned.tier.value,
    }


def _facts(arguments: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    done = [row for row in rows if row["action"] != Action.SKIP]
    actions = Counter(row["action"] for row in rows)
    return {
        "records": len(rows),
        **{one.value: actions[one.value] for one in Action},
        "bytes": sum(row["bytes"] for row in done),
        "remote": sum(row["tier"] == Tier.REMOTE for row in done),
        "targets": sorted({row["target_topic"] for row in rows if row["action"] == Action.SEND}),
        "quarantine_topic": arguments["quarantine_topic"],
        "extractor": arguments["extractor"],
        "order": _ORDER,
        "duplicates": _DUPLICATES,
    }


def _arguments() -> Iterator[Argument]:
    text = ArgumentType.TEXT
    yield from (CLUSTER, EXTRACTOR, TOPICS, *RANGE)
    yield Argument("step", text, "Step", "Of the dead letters, exact. Default: all.")
    yield Argument("error", text, "Error", "Exact. Default: all.")
    yield Argument("original_topic", text, "Original topic", "Exact. Default: all.")
    yield Argument(
        "content",
        ArgumentType.CHOICE,
        "Content",
        "letter: key, value and headers of the dead letter, without headers of the failure.",
        default=Content.LETTER.value,
        choices=tuple(one.value for one in Content),
    )
    yield Argument("target", text, "Target topic", "Default: the original topic of each.")
    limit = "A record that was replayed so often goes to the quarantine topic, or is skipped."
    yield Argument(
        "max_replays", ArgumentType.INTEGER, "Max replays", limit, default=3, least=1, most=1_000
    )
    yield Argument("quarantine_topic", text, "Quarantine topic")


_INTEGER, _TEXT, _CODE = ColumnType.INTEGER, ColumnType.TEXT, ColumnType.CODE
_OFFSET = ColumnType.OFFSET
_REASONS = (
    "duplicate: an earlier one has the same original. no_original: it does not name one. behind_log_end: the "
    "original topic was re-created or truncated."
)
_STEP, _ERROR = Column("step", "Step", _TEXT), Column("error", "Error", _TEXT)
_ACTION = Column("action", "Action", _CODE)
ANALYSIS = Analysis(
    kind="replay-plan",
    title="Replay plan",
    question="Which dead letters can be sent again, and what would that do?",
    arguments=tuple(_arguments()),
    tables=(
        Table(
            "groups",
            "Plan by step and error",
            (_STEP, _ERROR, _ACTION, Column("records", "Records", _INTEGER)),
        ),
        Table(
            "records",
            "Plan",
            (
                *(*PLACE, Column("at_ms", "Time", ColumnType.MOMENT), _ACTION),
                Column("reason", "Reason", _CODE, _REASONS),
                Column("target_topic", "Target topic", _TEXT),
                Column("target_partition", "Target partition", _INTEGER, "Empty: by the key."),
                Column("from_topic", "Source topic", _TEXT, "Where the bytes are."),
                Column("from_partition", "Source partition", _INTEGER),
                Column("from_offset", "Source offset", _OFFSET),
                Column("from_topic_id", "Source topic ID", _TEXT),
                Column("tier", "Tier", _CODE, "Of the source when the plan was made."),
                Column("replays", "Replays", _INTEGER, "Before this plan."),
                *(_STEP, _ERROR, Column("bytes", "Size", ColumnType.BYTES, "Of the dead letter.")),
            ),
        ),
    ),
    run=run,
    charts=(Chart(ChartType.BARS, "groups", "Plan by error", "error", "records"),),
    definition="A dead letter is sent if its source is retained: its offset is in the log of the same topic. "
    "Nothing is sent by the plan itself; retention may remove a source before the plan is applied.",
    checked=check_range,
)
