"""How often brokers left and joined ISRs, by hour and by broker, rack, topic or cause."""

from __future__ import annotations

from functools import partial
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
from jobs.spark.analyses.metadata.isr_moves import MOVES_DEFINITION, RACKS
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

_CHURN = f"""
WITH racks AS ({RACKS})
SELECT /*+ BROADCAST(racks) */ hour_ms, COALESCE(`group`, rack, 'unknown') AS `group`,
       SUM(shrinks) AS shrinks, SUM(expands) AS expands
FROM moves LEFT JOIN racks
  ON moves.broker_id = racks.broker_id
  AND moves.offset >= racks.from_offset AND moves.offset < racks.to_offset
GROUP BY 1, 2
"""  # noqa: S608  only constants of this package
# The offsets between which no broker's rack changed.
_ERAS = f"SELECT DISTINCT from_offset FROM ({RACKS}) ORDER BY 1"  # noqa: S608  as above
_TOTALS = """
SELECT `group`, SUM(shrinks) AS shrinks, SUM(expands) AS expands, COUNT(*) AS hours,
       MAX_BY(hour_ms, struct(shrinks + expands, -hour_ms)) AS busiest_hour_ms
FROM churn GROUP BY `group` ORDER BY shrinks DESC, expands DESC, `group`
"""
_FACTS = """
SELECT COALESCE(SUM(shrinks), 0) AS shrinks, COALESCE(SUM(expands), 0) AS expands,
       MAX_BY(hour_ms, struct(shrinks, -hour_ms)) AS hour_ms, MAX(shrinks) AS most
FROM (SELECT hour_ms, SUM(shrinks) AS shrinks, SUM(expands) AS expands FROM churn GROUP BY hour_ms)
"""


def answer(task: AnalysisTask, history: LogHistory, arguments: Arguments) -> Answer:
    """Count shrinks and expands in the views of a log."""
    # Forms and commands need no Arrow.
    from jobs.quorum.log_tables.churn import CHURN, churn, churn_columns
    from jobs.spark.analyses.metadata.partition_files import view_of_files

    window = window_of(arguments, history)
    sql = Sql(task, ANALYSIS, {})
    by, eras = arguments["by"], task.spark.sql(_ERAS).toArrow()["from_offset"].to_numpy()
    work = partial(churn, by=by, since_ms=window.since_ms, before_ms=window.before_ms, eras=eras)
    with (
        view_of_files(task, history, "moves", work, churn_columns(by), CHURN),
        sql.kept("churn", _CHURN),
    ):
        sql.write("totals", _TOTALS)
        sql.write("churn", "SELECT * FROM churn ORDER BY hour_ms, `group`")
        found = sql.row(_FACTS)
    facts = {
        **window.facts,
        "shrinks": found["shrinks"],
        "expands": found["expands"],
        "busiest_hour": iso(found["hour_ms"]),
        "shrinks_in_busiest_hour": found["most"] or 0,
    }
    return Answer(facts, (*window.notes, *sql.notes))


_GROUP = Column("group", "Group", ColumnType.TEXT, "Broker id, rack, topic or cause, as chosen.")
_COUNTS = (
    Column("shrinks", "Shrinks", ColumnType.INTEGER),
    Column("expands", "Expands", ColumnType.INTEGER),
)
_HOUR = Column("hour_ms", "Hour", ColumnType.MOMENT, "Its beginning, UTC.")
ANALYSIS = Analysis(
    kind="isr-churn",
    title="ISR churn",
    arguments=(
        *WINDOW,
        Argument(
            "by",
            ArgumentType.CHOICE,
            "Group by",
            "The rack is the one the broker was registered with at that time.",
            default="broker",
            choices=("broker", "rack", "topic", "cause"),
        ),
    ),
    tables=(
        Table(
            "totals",
            "ISR changes by group",
            (
                _GROUP,
                *_COUNTS,
                Column(
                    "hours",
                    "Hours",
                    ColumnType.INTEGER,
                    "Hours with at least one shrink or expand.",
                ),
                Column("busiest_hour_ms", "Busiest hour", ColumnType.MOMENT),
            ),
        ),
        Table("churn", "ISR changes by hour and group", (_HOUR, _GROUP, *_COUNTS)),
    ),
    run=on_history(answer),
    charts=(
        Chart(ChartType.HEAT_MAP, "churn", "ISR shrinks by hour", "hour_ms", "shrinks", "group"),
        Chart(ChartType.BARS, "totals", "ISR shrinks by group", "group", "shrinks"),
    ),
    definition=MOVES_DEFINITION,
    checked=check_window,
)
