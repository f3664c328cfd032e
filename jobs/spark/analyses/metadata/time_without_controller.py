"""When no controller was active: silences of the log, and the gaps before elections."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

# Silences, and the gaps before elections that are too short to be silences; each cut to the window.
_SPANS = """
WITH gaps AS (
  SELECT from_offset, to_offset, from_ms, to_ms, is_election FROM silences
  UNION ALL
  SELECT elections.offset - 1, elections.offset, timestamp_ms - gap_ms, timestamp_ms, true
  FROM elections LEFT ANTI JOIN silences ON silences.to_offset = elections.offset
  WHERE gap_ms > 0
),
ends AS (
  SELECT *, LAG(leader_id) OVER (ORDER BY offset) AS led_before,
         LEAD(offset, 1, 9223372036854775807) OVER (ORDER BY offset) AS next_offset
  FROM elections
)
SELECT GREATEST(gaps.from_ms, :from_ms) AS from_ms, LEAST(gaps.to_ms, :to_ms) AS to_ms,
       gaps.from_offset, gaps.to_offset, gaps.is_election,
       IF(gaps.is_election, COALESCE(previous_leader_id, led_before), leader_id) AS old_leader,
       leader_id AS new_leader
FROM gaps LEFT JOIN ends ON ends.offset <= gaps.to_offset AND gaps.to_offset < ends.next_offset
WHERE gaps.from_ms < :to_ms AND gaps.to_ms > :from_ms
"""
_LISTED = """
SELECT *, to_ms - from_ms AS duration_ms FROM spans ORDER BY from_ms, from_offset
"""
_PERIODS = """
SELECT period, COUNT(spans.from_ms) AS spans,
       COUNT_IF(is_election AND spans.to_ms > periods.from_ms AND spans.to_ms <= periods.to_ms) AS elections,
       SUM(IF(spans.from_ms IS NULL, 0,
              LEAST(spans.to_ms, periods.to_ms) - GREATEST(spans.from_ms, periods.from_ms))) AS duration_ms,
       MAX(periods.to_ms - periods.from_ms) AS period_ms
FROM periods LEFT JOIN spans ON spans.from_ms < periods.to_ms AND spans.to_ms > periods.from_ms
GROUP BY period
"""
_BY_PERIOD = f"""
SELECT *, try_divide(duration_ms, period_ms) AS share FROM ({_PERIODS}) ORDER BY period
"""  # noqa: S608  only constants of this file
_FACTS = """
SELECT COUNT(*) AS spans, COUNT_IF(is_election) AS elections,
       COALESCE(SUM(to_ms - from_ms), 0) AS total_ms, COALESCE(MAX(to_ms - from_ms), 0) AS longest_ms,
       MAX_BY(from_ms, struct(to_ms - from_ms, -from_ms)) AS longest_from
FROM spans
"""


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """Sum up the time without a controller in the views of a log."""
    window = window_of(arguments, history)
    sql = Sql(task, ANALYSIS, window.args)
    sql.periods(window, arguments["per"])
    with sql.kept("spans", _SPANS):
        sql.write("spans", _LISTED)
        sql.write("periods", _BY_PERIOD)
        found = sql.row(_FACTS)
    share = found["total_ms"] / window.span_ms if window.span_ms else None
    facts = {
        **window.facts,
        **found,
        "longest_from": iso(found["longest_from"]),
        "share": share,
    }
    return Answer(facts, (*window.notes, *sql.notes))


_DURATION = Column("duration_ms", "Duration", ColumnType.DURATION_MS)
ANALYSIS = Analysis(
    kind="time-without-controller",
    title="Time without an active controller",
    arguments=(
        *WINDOW,
        Argument(
            "per", ArgumentType.CHOICE, "Sums per", "UTC.", default="day", choices=("day", "month")
        ),
    ),
    tables=(
        Table(
            "spans",
            "Spans without an active controller",
            (
                Column("from_ms", "From", ColumnType.MOMENT),
                Column("to_ms", "To", ColumnType.MOMENT),
                _DURATION,
                Column("is_election", "Election", ColumnType.BOOLEAN, "It ended with an election."),
                Column("old_leader", "Leader before", ColumnType.INTEGER),
                Column("new_leader", "Leader after", ColumnType.INTEGER),
                Column("from_offset", "Last offset before", ColumnType.OFFSET),
                Column("to_offset", "First offset after", ColumnType.OFFSET),
            ),
        ),
        Table(
            "periods",
            "Time without an active controller by day or month",
            (
                Column("period", "Day or month", ColumnType.TEXT),
                Column("spans", "Spans", ColumnType.INTEGER),
                Column(
                    "elections", "Elections", ColumnType.INTEGER, "Spans that ended with one in it."
                ),
                _DURATION,
                Column(
                    "share",
                    "Share",
                    ColumnType.RATIO,
                    "Of the day or month, as far as the window has it.",
                ),
            ),
        ),
    ),
    run=on_history(answer),
    charts=(
        Chart(
            ChartType.BARS, "periods", "Time without an active controller", "period", "duration_ms"
        ),
    ),
    definition=(
        "A span begins with the last record before a silence or an election and ends with the record after"
        " it. A silence is a distance between two records much longer than NoOp records usually are apart in"
        " this log (metadata.max.idle.interval.ms). Since an idle controller writes only so often, a span is"
        " too long by at most that interval. Spans are cut to the window; the share is their sum divided by"
        " the window as far as the log reaches."
    ),
    checked=check_window,
)
