"""Unclean leader elections, each with both signs by which the log shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Chart,
    ChartType,
    Column,
    ColumnType,
    Table,
)
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

_UNCLEAN = """
SELECT timestamp_ms, offset, topic_id, COALESCE(topic, topic_id) AS topic, partition,
       previous_leader, leader, leader_was_outside, began_recovering,
       previous_isr, isr, replicas, cause, cause_broker
FROM partition_changes
WHERE timestamp_ms >= :since_ms AND timestamp_ms < :before_ms
  AND (leader_was_outside OR began_recovering) AND NOT is_removed
"""
_TOPICS = """
SELECT topic, COUNT(*) AS elections, COUNT(DISTINCT topic_id, partition) AS partitions,
       MIN(timestamp_ms) AS first_ms, MAX(timestamp_ms) AS last_ms
FROM unclean GROUP BY topic ORDER BY elections DESC, topic
"""
# A broker counts once for each election that it won, and for each in which it was passed over.
_BROKERS = """
SELECT broker_id, COUNT_IF(has_won) AS elected, COUNT_IF(NOT has_won) AS passed_over
FROM (
  SELECT leader AS broker_id, true AS has_won FROM unclean
  UNION ALL
  SELECT explode(array_except(previous_isr, array(leader))), false FROM unclean
)
GROUP BY broker_id ORDER BY elected DESC, passed_over DESC, broker_id
"""
_FACTS = """
SELECT COUNT(*) AS elections, COUNT(DISTINCT topic_id, partition) AS partitions,
       COUNT(DISTINCT topic) AS topics,
       COUNT_IF(leader_was_outside AND began_recovering) AS with_both_signs
FROM unclean
"""


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """List unclean elections from the views of a log."""
    window = window_of(arguments, history)
    sql = Sql(task, ANALYSIS, window.args)
    with sql.kept("unclean", _UNCLEAN):
        sql.write("elections", "SELECT * FROM unclean ORDER BY offset, topic, partition")
        sql.write("topics", _TOPICS)
        sql.write("brokers", _BROKERS)
        found = sql.row(_FACTS)
    return Answer({**window.facts, **found}, (*window.notes, *sql.notes))


ANALYSIS = Analysis(
    kind="unclean-elections",
    title="Unclean leader elections",
    arguments=WINDOW,
    tables=(
        Table(
            "elections",
            "Unclean leader elections",
            (
                Column("timestamp_ms", "Time", ColumnType.MOMENT),
                Column("offset", "Offset", ColumnType.OFFSET),
                Column("topic", "Topic", ColumnType.TEXT),
                Column("partition", "Partition", ColumnType.INTEGER),
                Column("previous_leader", "Leader before", ColumnType.INTEGER, "-1: none."),
                Column("leader", "Leader after", ColumnType.INTEGER),
                Column(
                    "leader_was_outside",
                    "Leader was outside",
                    ColumnType.BOOLEAN,
                    "The new leader was neither in the ISR nor in the ELR.",
                ),
                Column(
                    "began_recovering",
                    "Began recovering",
                    ColumnType.BOOLEAN,
                    "LeaderRecoveryState became RECOVERING.",
                ),
                Column("previous_isr", "ISR before", ColumnType.LIST),
                Column("isr", "ISR after", ColumnType.LIST),
                Column("replicas", "Replicas", ColumnType.LIST),
                Column("cause", "Cause", ColumnType.CODE),
                Column("cause_broker", "Cause: broker", ColumnType.INTEGER),
            ),
        ),
        Table(
            "topics",
            "Unclean leader elections by topic",
            (
                Column("topic", "Topic", ColumnType.TEXT),
                Column("elections", "Elections", ColumnType.INTEGER),
                Column("partitions", "Partitions", ColumnType.INTEGER),
                Column("first_ms", "First", ColumnType.MOMENT),
                Column("last_ms", "Last", ColumnType.MOMENT),
            ),
        ),
        Table(
            "brokers",
            "Unclean leader elections by broker",
            (
                Column("broker_id", "Broker", ColumnType.INTEGER),
                Column("elected", "Elected", ColumnType.INTEGER),
                Column(
                    "passed_over",
                    "Passed over",
                    ColumnType.INTEGER,
                    "In the ISR before, not elected: records that only this broker had are lost.",
                ),
            ),
        ),
    ),
    run=on_history(answer),
    charts=(Chart(ChartType.BARS, "topics", "Unclean elections by topic", "topic", "elections"),),
    definition=(
        "An election counts with either sign: the new leader was neither in the ISR nor in the ELR before, or"
        " LeaderRecoveryState became RECOVERING (Kafka 3.2 and later write it). Changes known only from a"
        " snapshot have no time and are not counted."
    ),
    checked=check_window,
)
