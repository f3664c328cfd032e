from dataclasses import replace

import pytest

from console.frame.pages.timerange import TimeRange
from console.runs.analyses.drawings.charts import MOST_BARS, draw
from jobs.spark.analyses.analysis import Chart, ChartType, Column, ColumnType, Table
from tests.console.runs.analyses.making import ANALYSIS, HOURS, LEADERS

LANES, HEAT, BARS, COLUMNS = ANALYSIS.charts


def hours(*rows):
    """Rows of the table of hours: hour of the day, topic, elections."""
    return [
        {"hour_ms": f"2026-01-01T{hour:02}:00:00.000Z", "topic": topic, "elections": count}
        for hour, topic, count in rows
    ]


def test_bars_add_up_what_has_the_same_name():
    drawn = draw(BARS, 1, HOURS, hours((0, "a", 1), (1, "b", 4), (2, "a", 1)))
    assert (drawn.kind, drawn.labels, drawn.values) == ("bars", ["a", "b"], ["2", "4"])
    assert [mark.width for mark in drawn.marks] == ["50.000%", "100.000%"]


def test_bars_of_moments_stand_on_an_axis_of_time():
    drawn = draw(COLUMNS, 1, HOURS, hours((0, "a", 2), (3, "a", 4)))
    assert drawn.kind == "columns"
    assert [(mark.left, mark.height) for mark in drawn.marks] == [("0.000%", 75), ("50.000%", 150)]
    assert drawn.most == "4"


def test_a_heat_map_has_the_largest_row_first_and_darker_fields_for_more():
    drawn = draw(HEAT, 1, HOURS, hours((0, "a", 1), (1, "b", 10), (2, "b", 5), (2, "a", 0)))
    assert drawn.labels == ["b", "a"]
    assert sorted((mark.top, mark.level) for mark in drawn.marks) == [(1, 3), (1, 5), (25, 1)]


def test_a_heat_map_of_words_has_a_column_for_each():
    table = Table(
        "months",
        "Months",
        (
            Column("month", "Month", ColumnType.TEXT),
            Column("topic", "Topic", ColumnType.TEXT),
            Column("ms", "Under min ISR", ColumnType.DURATION_MS),
        ),
    )
    chart = Chart(ChartType.HEAT_MAP, "months", "By month", "month", "ms", "topic")
    rows = [{"month": f"2026-{n:02}", "topic": "a", "ms": 1000} for n in range(1, 5)]
    drawn = draw(chart, 1, table, rows)
    assert [one.text for one in drawn.words] == ["2026-01", "2026-02", "2026-03", "2026-04"]
    assert [mark.left for mark in drawn.marks] == ["0.000%", "25.000%", "50.000%", "75.000%"]


@pytest.mark.parametrize("chart", [BARS, COLUMNS, HEAT], ids=["bars", "columns", "heat map"])
def test_a_drawing_without_a_value_above_zero_says_so(chart):
    drawn = draw(chart, 1, HOURS, hours((0, "a", 0), (1, "b", 0)))
    assert drawn.blank == "All values are 0."


def test_a_drawing_with_a_value_above_zero_is_not_blank():
    assert draw(HEAT, 1, HOURS, hours((0, "a", 0), (1, "b", 1))).blank == ""


def test_a_column_of_one_day_is_a_day_wide():
    drawn = draw(COLUMNS, 1, HOURS, hours((0, "a", 2)))
    assert [tick.text for tick in drawn.ticks][-1].startswith("2")


def leaders(*rows):
    return [
        {"elected_ms": start, "ended_ms": end, "leader_id": leader, "reason": reason}
        for start, end, leader, reason in rows
    ]


FIRST, SECOND, THIRD = (f"2026-01-01T0{hour}:00:00.000Z" for hour in range(3))


def test_lanes_are_in_the_order_of_their_numbers_with_a_state_for_each_row():
    rows = leaders((FIRST, SECOND, 10, "ok"), (SECOND, THIRD, 9, "offline"))
    lanes = draw(LANES, 1, LEADERS, rows).lanes
    assert [row.label for row in lanes.rows] == ["Leader 9", "Leader 10"]
    assert [row.bars[0].segment.severity for row in lanes.rows] == ["critical", "healthy"]


def test_a_state_without_an_end_lasts_as_long_as_anything_is_known():
    rows = leaders((FIRST, None, 1, "ok"), (SECOND, THIRD, 2, "ok"))
    lanes = draw(LANES, 1, LEADERS, rows).lanes
    assert lanes.rows[0].bars[0].end.hour == 2


def test_lanes_show_a_time_range_that_was_asked_for():
    rows = leaders((FIRST, SECOND, 1, "ok"))
    start = draw(LANES, 1, LEADERS, rows).lanes.rows[0].bars[0].start
    later = TimeRange(start.replace(hour=5), start.replace(hour=6))
    assert draw(LANES, 1, LEADERS, rows, later).lanes.is_empty


@pytest.mark.parametrize("chart", ANALYSIS.charts, ids=[str(one.type) for one in ANALYSIS.charts])
def test_a_table_without_values_is_drawn_empty(chart):
    table = ANALYSIS.table(chart.table)
    nothing = [{column.name: None for column in table.columns}]
    for rows in ([], nothing):
        drawn = draw(chart, 1, table, rows)
        assert drawn.marks == [] or (drawn.lanes and drawn.lanes.is_empty)


def test_what_is_left_out_is_reported():
    rows = hours(*((0, f"topic-{number}", 1) for number in range(MOST_BARS + 1)))
    drawn = draw(BARS, 1, HOURS, rows, of=9000)
    assert drawn.note == f"{MOST_BARS} of {MOST_BARS + 1} shown, first {len(rows)} of 9,000 rows"


def test_numbers_that_only_name_something_have_no_separators():
    chart = replace(BARS, table="leaders", x="leader_id", value="duration_ms")
    drawn = draw(chart, 1, LEADERS, [{"leader_id": 1001, "duration_ms": 60_000}])
    assert (drawn.labels, drawn.values) == (["1001"], ["1\N{NO-BREAK SPACE}m"])
