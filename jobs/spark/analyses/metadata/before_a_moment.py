"""Everything that the log tells of the minutes before a moment, in one ordered table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.quorum.history.change_json import iso
from jobs.quorum.history.changes import Cause
from jobs.quorum.history.partition_causes import word_of
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
from jobs.spark.analyses.metadata.window import LOG, MOST_ROWS, Arguments, Sql, on_history

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    from jobs.spark.analyses.metadata.log_history import LogHistory
    from jobs.spark.analyses.task import AnalysisTask

_CAUSES = frozenset(Cause)
_IN_TIME = "timestamp_ms >= :since_ms AND timestamp_ms <= :at_ms"


def _ids(column: str) -> str:
    return f"concat('[', array_join(CAST({column} AS ARRAY<STRING>), ', '), ']')"


def _leader(column: str) -> str:
    return f"IF({column} < 0, 'none', CAST({column} AS STRING))"


# In each part: of what, what it was about, its cause, and what changed in words. Needs :since_ms and :at_ms.
EVENTS = f"""
SELECT timestamp_ms, offset, 'partition' AS what,
       concat(COALESCE(topic, topic_id), '-', partition) AS subject, cause, cause_broker,
       IF(is_removed, NULL, concat_ws('; ',
         CASE WHEN previous_leader IS NULL THEN concat('leader ', {_leader("leader")})
              WHEN previous_leader <> leader
              THEN concat('leader ', {_leader("previous_leader")}, ' → ', {_leader("leader")}) END,
         CASE WHEN previous_isr IS NULL THEN concat('ISR ', {_ids("isr")})
              WHEN previous_isr <> isr THEN concat('ISR ', {_ids("previous_isr")}, ' → ', {_ids("isr")}) END,
         IF(size(adding) > 0, concat('adding ', {_ids("adding")}), NULL),
         IF(size(removing) > 0, concat('removing ', {_ids("removing")}), NULL))) AS detail
FROM partition_changes WHERE {_IN_TIME}
UNION ALL
SELECT timestamp_ms, offset, 'broker',
       concat('Broker ', broker_id, IF(rack IS NULL, '', concat(' (', rack, ')'))), cause, NULL, NULL
FROM broker_changes WHERE {_IN_TIME}
UNION ALL
SELECT timestamp_ms, offset, 'election', concat('Controller ', leader_id), 'election', NULL, concat_ws('; ',
         concat('elected for epoch ', epoch), concat('before: ', previous_leader_id),
         IF(gap_ms > 0, concat(gap_ms, ' ms after the last record'), NULL))
FROM elections WHERE {_IN_TIME}
UNION ALL
SELECT timestamp_ms, offset, 'voters', 'Voters', source, NULL, concat_ws('; ',
         IF(size(added) > 0, concat('added ', array_join(added, ', ')), NULL),
         IF(size(removed) > 0, concat('removed ', array_join(removed, ', ')), NULL),
         concat('now ', {_ids("voter_ids")}))
FROM voter_sets WHERE {_IN_TIME}
UNION ALL
SELECT timestamp_ms, offset, 'config',
       concat(initcap(replace(resource_type, '_', ' ')), ' ',
              IF(resource_name = '', 'default', resource_name)), cause, NULL,
       concat(name, ': ', COALESCE(previous_value, 'not set'), ' → ', COALESCE(value, 'not set'))
FROM config_changes WHERE {_IN_TIME}
UNION ALL
SELECT timestamp_ms, offset, 'feature', concat('Feature ', name), cause, NULL,
       concat(COALESCE(previous_level, 0), ' → ', COALESCE(level, 0))
FROM features WHERE {_IN_TIME}
UNION ALL
SELECT timestamp_ms, offset, 'topic', concat('Topic ', topic), cause, NULL, NULL
FROM topic_changes WHERE {_IN_TIME}
UNION ALL
SELECT from_ms, from_offset, 'silence', 'Metadata log', IF(is_election, 'election', 'silence'), NULL,
       concat('no record for ', to_ms - from_ms, ' ms', IF(is_election, ', until an election', ''))
FROM silences WHERE from_ms >= :since_ms AND from_ms <= :at_ms
"""  # noqa: S608  only constants of this file
# The newest ones, where there are too many.
_LISTED = f"""
SELECT *, detail AS sentence
FROM (SELECT * FROM events ORDER BY offset DESC, what DESC, subject DESC LIMIT {MOST_ROWS})
ORDER BY offset, what, subject
"""  # noqa: S608  only constants of this package
_SUMMARY = """
SELECT what, cause, COUNT(*) AS events, COUNT(DISTINCT subject) AS subjects,
       MIN(timestamp_ms) AS first_ms, MAX(timestamp_ms) AS last_ms
FROM events GROUP BY what, cause ORDER BY events DESC, what, cause
"""
_MINUTES = """
SELECT timestamp_ms - pmod(timestamp_ms, 60000) AS minute_ms, COUNT(*) AS events,
       COUNT_IF(what = 'partition') AS partition_events
FROM events GROUP BY 1 ORDER BY 1
"""


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """List the events before a moment, from the views of a log."""
    at_ms, minutes = arguments["at"], arguments["minutes"]
    since_ms = at_ms - minutes * 60_000
    sql = Sql(task, ANALYSIS, {"at_ms": at_ms, "since_ms": since_ms})
    with sql.kept("events", EVENTS):
        sql.write("events", _LISTED, _with_sentences)
        sql.write("summary", _SUMMARY)
        sql.write("minutes", _MINUTES)
        count = sql.row("SELECT COUNT(*) AS events FROM events")["events"]
    notes = [*history.notes, *_outside(history, since_ms, at_ms)]
    if count > MOST_ROWS:
        notes.append(
            f"Events: the last {MOST_ROWS:,} of {count:,} are listed; the counts are of all."
        )
    return Answer({"from": iso(since_ms), "at": iso(at_ms), "events": count}, tuple(notes))


def _outside(history: LogHistory, since_ms: int, at_ms: int) -> Iterator[str]:
    if history.first_ms is None or since_ms < history.first_ms:
        yield f"The log begins at {iso(history.first_ms) or 'an unknown time'}: earlier events are not known."
    if history.last_ms is not None and at_ms > history.last_ms:
        yield f"The log ends at {iso(history.last_ms)}: later events are not known."


def _with_sentences(found: pa.Table) -> pa.Table:
    """Put the cause in words before what changed."""
    names = ("subject", "cause", "cause_broker", "sentence")
    rows = zip(*(found[name].to_pylist() for name in names), strict=True)
    sentences = [sentence_of(*row) for row in rows]
    at = found.schema.get_field_index("sentence")
    return found.set_column(at, found.schema.field(at), [sentences])


def sentence_of(subject: str, cause: str | None, broker: int | None, detail: str | None) -> str:
    """Return an event of EVENTS in words: its cause before what changed."""
    word = word_of(Cause(cause), broker) if cause in _CAUSES else None
    return f"{subject}: {'; '.join(one for one in (word, detail) if one)}."


_WHAT = Column(
    "what",
    "Kind",
    ColumnType.CODE,
    "Partition, broker, topic, config, feature, election (of the controller), voters, silence (begin of a"
    " time without records).",
)
_CAUSE = Column("cause", "Cause", ColumnType.CODE, "Of voters: the source of the voter set.")
ANALYSIS = Analysis(
    kind="before-a-moment",
    title="Events before a moment",
    arguments=(
        LOG,
        Argument("at", ArgumentType.MOMENT, "Moment", "UTC.", is_required=True),
        Argument(
            "minutes",
            ArgumentType.INTEGER,
            "Minutes before",
            default=10,
            least=1,
            most=1_440,
        ),
    ),
    tables=(
        Table(
            "summary",
            "Events by cause",
            (
                _WHAT,
                _CAUSE,
                Column("events", "Events", ColumnType.INTEGER),
                Column(
                    "subjects",
                    "Subjects",
                    ColumnType.INTEGER,
                    "Different partitions, brokers, topics.",
                ),
                Column("first_ms", "First", ColumnType.MOMENT),
                Column("last_ms", "Last", ColumnType.MOMENT),
            ),
        ),
        Table(
            "minutes",
            "Events by minute",
            (
                Column("minute_ms", "Minute", ColumnType.MOMENT),
                Column("events", "Events", ColumnType.INTEGER),
                Column("partition_events", "Of partitions", ColumnType.INTEGER),
            ),
        ),
        Table(
            "events",
            "Events",
            (
                Column("timestamp_ms", "Time", ColumnType.MOMENT),
                Column("offset", "Offset", ColumnType.OFFSET),
                _WHAT,
                Column("subject", "Subject", ColumnType.TEXT),
                _CAUSE,
                Column("cause_broker", "Cause: broker", ColumnType.INTEGER),
                Column("sentence", "Event", ColumnType.TEXT),
            ),
        ),
    ),
    run=on_history(answer),
    charts=(Chart(ChartType.BARS, "minutes", "Events by minute", "minute_ms", "events"),),
    definition=(
        "Events are in the order of their offsets, the moment itself included. Times are those of the active"
        " controller's clock; changes known only from a snapshot have no time and are excluded."
    ),
)
