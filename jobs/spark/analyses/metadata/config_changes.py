"""Settings that changed, and how many ISR shrinks and leader changes there were before and after each."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from jobs.spark.analyses.metadata.isr_moves import SHRUNK
from jobs.spark.analyses.metadata.window import (
    WINDOW,
    Arguments,
    Sql,
    check_window,
    on_history,
    window_of,
)

if TYPE_CHECKING:
    from jobs.spark.analyses.metadata.log_history import LogHistory
    from jobs.spark.analyses.task import AnalysisTask

_ASKED = """
SELECT timestamp_ms, offset, resource_type, resource_name, name, previous_value, value, cause
FROM config_changes
WHERE timestamp_ms >= :since_ms AND timestamp_ms < :before_ms
  AND (:resource_type IS NULL OR resource_type = :resource_type)
  AND (:resource_name IS NULL OR contains(resource_name, :resource_name))
  AND (:name IS NULL OR contains(name, :name))
"""
# Both sides are put into buckets as long as the time that is looked at: what is near lies in the same one or
# the next, so that the join is one of equals.
_CHANGES = f"""
WITH moved AS (
  SELECT timestamp_ms, topic, timestamp_ms DIV :near_ms AS bucket,
         SUM(shrinks) AS shrinks, SUM(leader_changes) AS leader_changes
  FROM (
    SELECT timestamp_ms, COALESCE(topic, topic_id) AS topic, size({SHRUNK}) AS shrinks,
           IF(leader <> previous_leader, 1, 0) AS leader_changes
    FROM partition_changes
    WHERE timestamp_ms >= (SELECT MIN(timestamp_ms) FROM asked) - :near_ms
      AND timestamp_ms < (SELECT MAX(timestamp_ms) FROM asked) + :near_ms
      AND NOT is_removed AND (previous_isr <> isr OR leader <> previous_leader))
  GROUP BY timestamp_ms, topic
),
placed AS (
  SELECT offset, resource_type, resource_name, name, timestamp_ms,
         explode(sequence(timestamp_ms DIV :near_ms - 1, timestamp_ms DIV :near_ms + 1)) AS bucket
  FROM asked WHERE resource_type IN ('TOPIC', 'BROKER')
),
near AS (
  SELECT offset, resource_type, resource_name, name,
         SUM(IF(m.timestamp_ms < p.timestamp_ms, shrinks, 0)) AS shrinks_before,
         SUM(IF(m.timestamp_ms < p.timestamp_ms, 0, shrinks)) AS shrinks_after,
         SUM(IF(m.timestamp_ms < p.timestamp_ms, leader_changes, 0)) AS leader_changes_before,
         SUM(IF(m.timestamp_ms < p.timestamp_ms, 0, leader_changes)) AS leader_changes_after
  FROM placed AS p JOIN moved AS m
    ON p.bucket = m.bucket AND (p.resource_type = 'BROKER' OR p.resource_name = m.topic)
    AND m.timestamp_ms >= p.timestamp_ms - :near_ms AND m.timestamp_ms < p.timestamp_ms + :near_ms
  GROUP BY offset, resource_type, resource_name, name
)
SELECT asked.*,
       IF(resource_type IN ('TOPIC', 'BROKER'), COALESCE(shrinks_before, 0), NULL) AS shrinks_before,
       IF(resource_type IN ('TOPIC', 'BROKER'), COALESCE(shrinks_after, 0), NULL) AS shrinks_after,
       IF(resource_type IN ('TOPIC', 'BROKER'), COALESCE(leader_changes_before, 0), NULL)
         AS leader_changes_before,
       IF(resource_type IN ('TOPIC', 'BROKER'), COALESCE(leader_changes_after, 0), NULL)
         AS leader_changes_after
FROM asked LEFT JOIN near USING (offset, resource_type, resource_name, name)
ORDER BY offset, resource_type, resource_name, name
"""  # noqa: S608  only constants of this package
_SETTINGS = """
SELECT resource_type, name, COUNT(*) AS changes, COUNT(DISTINCT resource_name) AS resources
FROM asked GROUP BY resource_type, name ORDER BY changes DESC, resource_type, name
"""
_FACTS = """
SELECT COUNT(*) AS changes, COUNT(DISTINCT resource_type, resource_name) AS resources FROM asked
"""


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """List config changes from the views of a log."""
    window = window_of(arguments, history)
    own = {name: arguments[name] for name in ("resource_type", "resource_name", "name")}
    near_ms = arguments["minutes"] * 60_000
    sql = Sql(task, ANALYSIS, {**window.args, **own, "near_ms": near_ms})
    with sql.kept("asked", _ASKED):
        sql.write("changes", _CHANGES)
        sql.write("settings", _SETTINGS)
        found = sql.row(_FACTS)
    return Answer({**window.facts, **found}, (*window.notes, *sql.notes))


_TYPE = Column("resource_type", "Resource type", ColumnType.CODE)
_NAME = Column("name", "Setting", ColumnType.TEXT)
ANALYSIS = Analysis(
    kind="config-changes",
    title="Config changes",
    arguments=(
        *WINDOW,
        Argument(
            "resource_type",
            ArgumentType.CHOICE,
            "Resource type",
            "Default: all.",
            choices=("TOPIC", "BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP"),
        ),
        Argument(
            "resource_name", ArgumentType.TEXT, "Resource name", "A part of it. Default: all."
        ),
        Argument("name", ArgumentType.TEXT, "Setting", "A part of its name. Default: all."),
        Argument(
            "minutes",
            ArgumentType.INTEGER,
            "Minutes",
            "For how long before and after a change shrinks and leader changes are counted.",
            default=10,
            least=1,
            most=1_440,
        ),
    ),
    tables=(
        Table(
            "changes",
            "Config changes",
            (
                Column("timestamp_ms", "Time", ColumnType.MOMENT),
                Column("offset", "Offset", ColumnType.OFFSET),
                _TYPE,
                Column(
                    "resource_name",
                    "Resource",
                    ColumnType.TEXT,
                    "Empty: the default of all brokers.",
                ),
                _NAME,
                Column("previous_value", "Before", ColumnType.TEXT),
                Column("value", "After", ColumnType.TEXT, "Absent: removed, the default holds."),
                Column("cause", "Cause", ColumnType.CODE),
                Column("shrinks_before", "ISR shrinks before", ColumnType.INTEGER),
                Column("shrinks_after", "ISR shrinks after", ColumnType.INTEGER),
                Column("leader_changes_before", "Leader changes before", ColumnType.INTEGER),
                Column("leader_changes_after", "Leader changes after", ColumnType.INTEGER),
            ),
        ),
        Table(
            "settings",
            "Config changes by setting",
            (
                _TYPE,
                _NAME,
                Column("changes", "Changes", ColumnType.INTEGER),
                Column("resources", "Resources", ColumnType.INTEGER),
            ),
        ),
    ),
    run=on_history(answer),
    charts=(Chart(ChartType.BARS, "settings", "Config changes by setting", "name", "changes"),),
    definition=(
        "ISR shrinks and leader changes are counted in the minutes before a change and, its own time"
        " included, in the minutes after it: of a TOPIC in its partitions, of a BROKER in all partitions; for"
        " other resources there is nothing to count. That they follow does not say that they were caused."
        " Secret values are redacted."
    ),
    checked=check_window,
)
