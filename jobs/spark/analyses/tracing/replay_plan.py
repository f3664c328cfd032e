"""`replay-plan`: what of chosen dead letters can be sent again, from where and to where. It only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.records.ranges import check_range
from jobs.spark.analyses.tracing.dead_letters import AT, ERROR, PLACE, REPLAYS, SELECTION, STEP
from jobs.tracing.replay.headers import Place
from jobs.tracing.replay.parts import Row, in_order
from jobs.tracing.replay.planning import Action, Content, Letter, Planner, Tier

if TYPE_CHECKING:
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.task import AnalysisTask

# A selection has at most so many dead letters.
MOST_PLANNED = 100_000
_LETTER = ("original_topic", "original_partition", "original_offset", "replays")
ORDER = (
    "Records are sent in the order of each dead letter partition, one partition after the other: records "
    "with the same key keep that order only within one. All come after what was sent to the target since."
)
DUPLICATES = (
    "Each record is sent in a transaction with its position: readers with read_committed see it once, "
    "others may see aborted copies. What a service did before it failed, it may do again. A dead letter "
    "that another plan has sent is sent again."
)


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the dead letters, then look at the logs and targets that they name."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.ranges import topics_named
    from jobs.spark.analyses.records.running import connections_of
    from jobs.spark.analyses.tracing.replaying.letters import read_letters

    with ClusterClient(connections_of(task, "cluster")["cluster"], timeout_s=30) as client:
        read = frozenset(one.name for one in topics_named(client, arguments["topics"]))
        found = read_letters(task, ANALYSIS.kind, arguments, MOST_PLANNED)
        if found.chosen > MOST_PLANNED:
            text = f"More than {MOST_PLANNED:,} dead letters are chosen: choose a shorter range."
            raise InvalidFields({"topics": text})
        rows, notes = _planned(client, arguments, in_order(found.letters), read)
    counts = Counter((row["step"], row["error"], row["action"]) for row in rows)
    names = ("step", "error", "action", "records")
    groups = [dict(zip(names, (*one, n), strict=True)) for one, n in counts.most_common()]
    task.write("groups", arrow_table(ANALYSIS.table("groups"), groups))
    task.write("records", arrow_table(ANALYSIS.table("records"), rows))
    return Answer(_facts(arguments, rows), (*found.notes, *notes))


def _planned(
    client: ClusterClient,
    arguments: Mapping[str, Any],
    letters: Sequence[Row],
    read: frozenset[str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of the plan, and notes."""
    from jobs.spark.analyses.tracing.replaying.sources import existing, logs_of

    content = Content(arguments["content"])
    originals = {row["original_topic"] for row in letters}
    sources = read | (originals if content is Content.ORIGINAL else set())
    topics = existing(
        client, {*originals, *read, arguments["target"], arguments["quarantine_topic"]}
    )
    logs, notes = logs_of(client, [one for name, one in topics.items() if name in sources])
    planner = Planner(
        content,
        arguments["target"] or "",
        arguments["max_replays"],
        arguments["quarantine_topic"] or "",
        read,
        topics,
        logs,
    )
    rows = []
    for row in letters:
        place = Place(row["topic"], row["partition"], row["offset"])
        planned = planner.plan(Letter(place, *(row[name] for name in _LETTER)))
        named = {f"from_{name}": getattr(planned.source, name, None) for name in Place._fields}
        topic = topics.get(named["from_topic"] or "")
        rows.append(
            {**row, **planned._asdict(), **named, "from_topic_id": topic and topic.topic_id}
        )
    if content is Content.ORIGINAL and letters:
        notes.append(
            "A dead letter does not name the ID of its original topic. If that was re-created since, another "
            "record may have the offset; a compacted topic may have none there."
        )
    return rows, notes[:20]


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
        "order": ORDER,
        "duplicates": DUPLICATES,
    }


_INTEGER, _TEXT, _CODE = ColumnType.INTEGER, ColumnType.TEXT, ColumnType.CODE
_REASONS = (
    "duplicate: an earlier one has the same original. no_original: it does not name one. no_target: it does "
    "not exist, or may not be described. behind_log_end: the original topic was re-created or truncated."
)
_ACTION = Column("action", "Action", _CODE)
_GROUPS = (STEP, ERROR, _ACTION, Column("records", "Records", _INTEGER))
_RECORDS = (
    *(*PLACE, AT, _ACTION, Column("reason", "Reason", _CODE, _REASONS)),
    Column("target_topic", "Target topic", _TEXT),
    Column("target_partition", "Target partition", _INTEGER, "Empty: by the key."),
    *(Column(f"from_{one.name}", f"Source {one.title.lower()}", one.type) for one in PLACE),
    Column("from_topic_id", "Source topic ID", _TEXT),
    Column("tier", "Tier", _CODE, "Of the source when the plan was made."),
    *(REPLAYS, STEP, ERROR, Column("bytes", "Size", ColumnType.BYTES, "Of the dead letter.")),
)
ANALYSIS = Analysis(
    kind="replay-plan",
    title="Replay plan",
    arguments=(
        *SELECTION,
        Argument(
            "content", ArgumentType.CHOICE, "Content",
            "letter: key, value and headers of the dead letter, without headers of the failure.",
            default=Content.LETTER.value, choices=tuple(one.value for one in Content),
        ),
        Argument("target", ArgumentType.TEXT, "Target topic", "Default: the original topic of each."),
        Argument(
            "max_replays", ArgumentType.INTEGER, "Max replays",
            "A record that was replayed so often goes to the quarantine topic, or is skipped.",
            default=3, least=1, most=1_000,
        ),
        Argument("quarantine_topic", ArgumentType.TEXT, "Quarantine topic"),
    ),
    tables=(
        Table("groups", "Plan by step and error", _GROUPS),
        Table("records", "Plan", _RECORDS),
    ),
    run=run,
    definition="A dead letter is sent if its source is retained: its offset is in the log of the same topic. "
    "Nothing is sent by the plan itself; retention may remove a source before the plan is applied.",
    checked=check_range,
)  # fmt: skip
