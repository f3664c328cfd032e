"""The brokers that stayed out of an ISR for longest, and what these cases had in common."""

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
from jobs.spark.analyses.metadata.isr_moves import MOVES, MOVES_DEFINITION, RACKS
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

# Each time that a broker was out of an ISR: until it joined again, was no replica any more, or the log ends.
_ABSENCES = f"""
WITH moves AS (
  SELECT /*+ BROADCAST(topics) */ moves.*, number FROM ({MOVES}) AS moves JOIN topics USING (topic_id)
),
racks AS ({RACKS}),
paired AS (
  SELECT number, partition, broker_id, offset, timestamp_ms, leader, cause, is_shrink,
         LEAD(offset) OVER next AS back_offset, LEAD(timestamp_ms) OVER next AS back_ms
  FROM moves WINDOW next AS (PARTITION BY number, partition, broker_id ORDER BY offset)
),
ends AS (
  SELECT number, partition,
         array_sort(collect_list(struct(offset, timestamp_ms, is_removed, replicas))) AS ends
  FROM partition_changes JOIN topics USING (topic_id)
  WHERE (timestamp_ms IS NULL OR timestamp_ms >= :since_ms)
    AND (is_removed OR cause LIKE 'reassignment%' OR cause = 'partition_replaced')
  GROUP BY number, partition
),
ended AS (
  SELECT paired.*, get(filter(ends, one -> one.offset > paired.offset
           AND (one.is_removed OR NOT array_contains(one.replicas, broker_id))), 0) AS gone
  FROM paired LEFT JOIN ends USING (number, partition)
  WHERE is_shrink AND timestamp_ms < :before_ms
),
told AS (
  SELECT *, CASE WHEN gone IS NOT NULL AND (back_offset IS NULL OR gone.offset <= back_offset) THEN 'removed'
                 WHEN back_offset IS NULL THEN 'out' ELSE 'back' END AS outcome
  FROM ended
),
timed AS (
  SELECT *, CASE outcome WHEN 'removed' THEN gone.timestamp_ms WHEN 'out' THEN :last_ms
                         ELSE back_ms END AS end_ms
  FROM told
)
SELECT /*+ BROADCAST(topics, racks) */
       timestamp_ms, end_ms, GREATEST(0, end_ms - timestamp_ms) AS duration_ms, outcome,
       topic, partition, timed.broker_id, COALESCE(rack, 'unknown') AS rack, cause, leader, offset
FROM timed JOIN topics USING (number) LEFT JOIN racks
  ON timed.broker_id = racks.broker_id AND offset >= racks.from_offset AND offset < racks.to_offset
"""  # noqa: S608  only constants of this package
# The end of some is known only from a snapshot: how long they took is not known.
_SLOWEST = """
SELECT * FROM absences WHERE end_ms IS NOT NULL
ORDER BY duration_ms DESC, offset, topic, partition, broker_id LIMIT :limit
"""
_IN_COMMON = """
WITH both AS (
  SELECT *, 0 AS is_slow FROM absences UNION ALL SELECT *, 1 AS is_slow FROM slowest
),
valued AS (
  SELECT is_slow, stack(6, 'broker', CAST(broker_id AS STRING), 'rack', rack, 'topic', topic, 'cause', cause,
           'leader', IF(leader < 0, 'none', CAST(leader AS STRING)),
           'hour', concat(
             date_add(DATE'1970-01-01', CAST(floor(timestamp_ms / 86400000) AS INT)), ' ',
             lpad(CAST(pmod(timestamp_ms, 86400000) DIV 3600000 AS STRING), 2, '0'), ':00')
         ) AS (dimension, value)
  FROM both
),
counted AS (
  SELECT dimension, value, SUM(is_slow) AS slow, SUM(1 - is_slow) AS `all`,
         SUM(is_slow) / (SELECT NULLIF(COUNT(*), 0) FROM slowest) AS share_of_slow,
         SUM(1 - is_slow) / (SELECT NULLIF(COUNT(*), 0) FROM absences) AS share_of_all
  FROM valued GROUP BY dimension, value HAVING SUM(is_slow) > 0
)
SELECT *, try_divide(share_of_slow, share_of_all) AS lift FROM counted
ORDER BY share_of_slow - share_of_all DESC, lift DESC, dimension, value
"""
_FACTS = """
SELECT COUNT(*) AS shrinks, COUNT_IF(outcome = 'out') AS still_out,
       MAX(duration_ms) AS longest_ms, percentile(duration_ms, 0.5) AS median_ms
FROM absences
"""


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """Find the slowest returns to an ISR in the views of a log."""
    # Compiled loops are large: a process that asks nothing does not load them.
    from jobs.spark.analyses.metadata.partition_files import kept_topics

    window = window_of(arguments, history)
    own = {"limit": arguments["limit"], "last_ms": history.last_ms or 0}
    sql = Sql(task, ANALYSIS, {**window.args, **own})
    with (
        kept_topics(task, history, sql),
        sql.kept("absences", _ABSENCES),
        sql.kept("slowest", _SLOWEST),
    ):
        sql.write(
            "slowest", "SELECT * FROM slowest ORDER BY duration_ms DESC, offset, topic, partition"
        )
        sql.write("in_common", _IN_COMMON)
        found = sql.row(_FACTS)
    return Answer({**window.facts, **found}, (*window.notes, *sql.notes))


ANALYSIS = Analysis(
    kind="slowest-shrinks",
    title="Slowest ISR shrinks",
    arguments=(
        *WINDOW,
        Argument(
            "limit",
            ArgumentType.INTEGER,
            "Slowest",
            "How many are compared.",
            default=50,
            least=1,
            most=1_000,
        ),
    ),
    tables=(
        Table(
            "in_common",
            "What the slowest had in common",
            (
                Column(
                    "dimension",
                    "Dimension",
                    ColumnType.TEXT,
                    "broker, rack, topic, cause, leader (after the shrink) or hour (UTC).",
                ),
                Column("value", "Value", ColumnType.TEXT),
                Column("slow", "Slowest", ColumnType.INTEGER),
                Column("share_of_slow", "Share of the slowest", ColumnType.RATIO),
                Column("all", "All", ColumnType.INTEGER),
                Column("share_of_all", "Share of all", ColumnType.RATIO),
                Column(
                    "lift",
                    "Lift",
                    ColumnType.RATIO,
                    "Share of the slowest / share of all: above 1, it is more frequent among the slowest.",
                ),
            ),
        ),
        Table(
            "slowest",
            "Slowest ISR shrinks",
            (
                Column("timestamp_ms", "Left the ISR", ColumnType.MOMENT),
                Column("end_ms", "End", ColumnType.MOMENT, "Of the log, where it is still out."),
                Column("duration_ms", "Duration", ColumnType.DURATION_MS),
                Column(
                    "outcome",
                    "Outcome",
                    ColumnType.TEXT,
                    "back in the ISR; removed: no replica any more, or the topic was deleted; out: still.",
                ),
                Column("topic", "Topic", ColumnType.TEXT),
                Column("partition", "Partition", ColumnType.INTEGER),
                Column("broker_id", "Broker", ColumnType.INTEGER),
                Column("rack", "Rack", ColumnType.TEXT),
                Column("cause", "Cause", ColumnType.CODE),
                Column("leader", "Leader", ColumnType.INTEGER, "After the shrink; -1: none."),
                Column("offset", "Offset", ColumnType.OFFSET),
            ),
        ),
    ),
    run=on_history(answer),
    charts=(
        Chart(
            ChartType.LANES,
            "slowest",
            "Slowest ISR shrinks by broker",
            "timestamp_ms",
            "topic",
            "broker_id",
            "end_ms",
        ),
    ),
    definition=(
        f"{MOVES_DEFINITION} The duration runs from leaving the ISR to joining it again, also after the"
        " window; of a broker still out, to the end of the log. Where only a snapshot tells the end, the"
        " duration is not known, and the case is not among the slowest. What is in common is sorted by the"
        " share of the slowest minus the share of all."
    ),
    checked=check_window,
)
