"""How long partitions had no leader, and how long they were under min ISR, by topic and month."""

from __future__ import annotations

from functools import partial
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

# The times of snapshots: what only they tell counts from then.
_SNAPSHOTS = """
SELECT offset, MAX(not_after_ms) AS at_ms
FROM (SELECT offset, not_after_ms, timestamp_ms FROM broker_changes
      UNION ALL SELECT offset, not_after_ms, timestamp_ms FROM topic_changes)
WHERE timestamp_ms IS NULL GROUP BY offset
"""
# Which min.insync.replicas held from when to when: of topics, and the dynamic default of brokers.
_SETTINGS = """
WITH settings AS (
  SELECT resource_type, resource_name, TRY_CAST(value AS INT) AS min_isr, offset,
         COALESCE(timestamp_ms, not_after_ms, -9223372036854775808) AS at_ms
  FROM config_changes
  WHERE name = 'min.insync.replicas'
    AND (resource_type = 'TOPIC' OR (resource_type = 'BROKER' AND resource_name = ''))
),
known AS (
  SELECT * FROM settings
  -- Before the first one there was none.
  UNION ALL
  SELECT DISTINCT resource_type, resource_name, CAST(NULL AS INT), -1L, -9223372036854775808 FROM settings
  UNION ALL
  SELECT 'BROKER', '', CAST(NULL AS INT), -2L, -9223372036854775808
)
SELECT resource_type, resource_name, min_isr, at_ms AS from_ms,
       LEAD(at_ms, 1, 9223372036854775807)
         OVER (PARTITION BY resource_type, resource_name ORDER BY offset) AS to_ms
FROM known
"""
# Which min.insync.replicas held in the months: of topics with settings of their own, and of others (null).
_PIECES = """
WITH of_topics AS (
  SELECT topic_id, min_isr, from_ms, to_ms
  FROM settings JOIN topics ON resource_type = 'TOPIC' AND resource_name = topic
  UNION ALL SELECT NULL, NULL, NULL, NULL
),
-- Months, cut where the brokers' default changed.
months AS (
  SELECT period, min_isr, GREATEST(b.from_ms, m.from_ms) AS from_ms, LEAST(b.to_ms, m.to_ms) AS to_ms
  FROM periods AS m JOIN settings AS b
    ON b.resource_type = 'BROKER' AND b.from_ms < m.to_ms AND b.to_ms > m.from_ms
)
SELECT topic_id, period, COALESCE(t.min_isr, m.min_isr, :default_min_isr) AS min_isr,
       GREATEST(t.from_ms, m.from_ms) AS from_ms, LEAST(t.to_ms, m.to_ms) AS to_ms
FROM of_topics AS t JOIN months AS m
  ON topic_id IS NULL OR (t.from_ms < m.to_ms AND t.to_ms > m.from_ms)
ORDER BY period
"""
_TOPIC_MONTHS = """
SELECT topic, period AS month, SUM(partitions) AS partitions, SUM(partition_ms) AS partition_ms,
       SUM(leaderless_ms) AS leaderless_ms, SUM(under_min_isr_ms) AS under_min_isr_ms
FROM times JOIN topics USING (topic_id)
GROUP BY topic, period
"""
_SUMS = """
  SUM(partition_ms) AS partition_ms, SUM(leaderless_ms) AS leaderless_ms,
  SUM(under_min_isr_ms) AS under_min_isr_ms,
  1 - try_divide(SUM(leaderless_ms), SUM(partition_ms)) AS availability,
  1 - try_divide(SUM(under_min_isr_ms), SUM(partition_ms)) AS write_availability
"""
_BY_TOPIC_AND_MONTH = f"""
SELECT topic, month, MAX(partitions) AS partitions, {_SUMS} FROM topic_months
GROUP BY topic, month ORDER BY under_min_isr_ms DESC, month, topic
"""  # noqa: S608  only constants of this file
_BY_MONTH = f"SELECT month, {_SUMS} FROM topic_months GROUP BY month ORDER BY month"  # noqa: S608  as above
_BY_TOPIC = f"""
SELECT topic, MAX(partitions) AS partitions, {_SUMS} FROM topic_months
GROUP BY topic ORDER BY under_min_isr_ms DESC, topic
"""  # noqa: S608  only constants of this file
_FACTS = f"SELECT {_SUMS}, COUNT(DISTINCT topic) AS topics FROM topic_months"  # noqa: S608  as above


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """Measure how long partitions were available, from the views of a log."""
    # Forms and commands need no Arrow.
    from jobs.quorum.log_tables.state_times import COLUMNS, TIMES, Rules, state_times
    from jobs.spark.analyses.metadata.partition_files import kept_topics, view_of_files

    window = window_of(arguments, history)
    sql = Sql(task, ANALYSIS, {**window.args, "default_min_isr": arguments["default_min_isr"]})
    sql.periods(window, "month")
    with kept_topics(task, history, sql), sql.kept("settings", _SETTINGS):
        rules = Rules(
            sql.table("SELECT topic_id FROM topics")["topic_id"].combine_chunks(),
            sql.table(_PIECES),
            sql.table(_SNAPSHOTS),
            window.from_ms,
            window.to_ms,
        )
        work = partial(state_times, rules=rules)
        with (
            view_of_files(task, history, "times", work, COLUMNS, TIMES),
            sql.kept("topic_months", _TOPIC_MONTHS),
        ):
            found = _written(sql)
    return Answer({**window.facts, **found}, (*window.notes, *sql.notes))


def _written(sql: Sql) -> dict[str, Any]:
    sql.write("months", _BY_MONTH)
    sql.write("topics", _BY_TOPIC)
    sql.write("topic_months", _BY_TOPIC_AND_MONTH)
    return sql.row(_FACTS)


_NO_TIME = "No unavailable time in this range."
_TOPIC = Column("topic", "Topic", ColumnType.TEXT)
_MONTH = Column("month", "Month", ColumnType.TEXT, "UTC.")
_PARTITIONS = Column("partitions", "Partitions", ColumnType.INTEGER, "At most in one month.")
_FIGURES = (
    Column("partition_ms", "Partition time", ColumnType.DURATION_MS, "Of all partitions together."),
    Column("leaderless_ms", "Leaderless", ColumnType.DURATION_MS),
    Column(
        "under_min_isr_ms", "Under min ISR", ColumnType.DURATION_MS, "Leaderless time included."
    ),
    Column("availability", "Availability", ColumnType.RATIO, "1 - leaderless / partition time."),
    Column(
        "write_availability",
        "Write availability",
        ColumnType.RATIO,
        "1 - under min ISR / partition time, for producers with acks=all.",
    ),
)
ANALYSIS = Analysis(
    kind="partition-availability",
    title="Partition availability",
    arguments=(
        *WINDOW,
        Argument(
            "default_min_isr",
            ArgumentType.INTEGER,
            "min.insync.replicas of server.properties",
            "The metadata log does not have it: Kafka's default is 1.",
            default=1,
            least=1,
            most=100,
        ),
    ),
    tables=(
        Table("months", "Availability by month", (_MONTH, *_FIGURES)),
        Table("topics", "Availability by topic", (_TOPIC, _PARTITIONS, *_FIGURES)),
        Table(
            "topic_months",
            "Availability by topic and month",
            (
                _TOPIC,
                _MONTH,
                Column(
                    "partitions", "Partitions", ColumnType.INTEGER, "That there were in the month."
                ),
                *_FIGURES,
            ),
        ),
    ),
    run=on_history(answer),
    charts=(
        Chart(
            ChartType.HEAT_MAP,
            "topic_months",
            "Under min ISR by topic and month",
            "month",
            "under_min_isr_ms",
            "topic",
            blank=_NO_TIME,
        ),
        Chart(
            ChartType.BARS,
            "months",
            "Under min ISR by month",
            "month",
            "under_min_isr_ms",
            blank=_NO_TIME,
        ),
    ),
    definition=(
        "Availability is 1 - leaderless time / time, summed over partitions from their creation to their"
        " deletion, inside of the window and as far as the log reaches. Write availability counts the time"
        " under min ISR, too: as in Kafka, a partition is under min ISR when it has no leader, or when its"
        " ISR is smaller than min.insync.replicas, of which a broker never asks for more than there are"
        " replicas."
        " min.insync.replicas is the topic's at that time, else the brokers' dynamic default (resource BROKER"
        " without a name), else what the question says: server.properties is not in the log, and the dynamic"
        " setting of a single broker is not looked at. What only a snapshot tells counts from the snapshot's"
        " time, or where that is not known from the partition's change before it. Months are UTC."
    ),
    checked=check_window,
)
