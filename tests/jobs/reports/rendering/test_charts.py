from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from matplotlib import dates

from jobs.reports.document import ChartType, Series
from jobs.reports.rendering.charts import _figure, png_of, short_name, svg_of
from jobs.reports.values import ValueType, text_of
from tests.jobs.reports.rendering.sample import (
    BARS,
    HOSTILE,
    LANES,
    LINES,
    LONG,
    PERIOD,
    chart,
    days,
)


@pytest.mark.parametrize("one", [LINES, BARS, LANES], ids=lambda one: one.name)
def test_a_chart_gives_the_same_bytes_in_every_thread(one):
    with ThreadPoolExecutor(4) as pool:
        drawn = set(pool.map(lambda _: svg_of(one, PERIOD), range(4)))
    (svg,) = drawn
    assert b"<text" not in svg
    assert b"dc:date" not in svg
    assert png_of(one, PERIOD) == png_of(one, PERIOD)


@pytest.mark.parametrize("type_", list(ChartType))
@pytest.mark.parametrize(
    "series",
    [(), (Series("a", (), ()),)],
    ids=["no series", "no values"],
)
def test_an_empty_chart_is_drawn(type_, series):
    assert svg_of(chart(type_, *series), PERIOD)


@pytest.mark.parametrize("values", [(None,), (0,), (5,), (None, 0, None)], ids=str)
@pytest.mark.parametrize(
    "type_", [ValueType.COUNT, ValueType.DURATION_MS, ValueType.BYTES, ValueType.RATIO]
)
def test_lines_of_few_values_are_drawn(type_, values):
    line = Series("a", days(len(values)), values)
    assert svg_of(chart(ChartType.LINES, line, value_type=type_))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", HOSTILE)
def test_any_name_is_drawn(what):
    names = (HOSTILE[what], "other")
    assert svg_of(
        chart(ChartType.BARS, Series(HOSTILE[what], names, (1, 2)), Series("b", names, (1, 2)))
    )


def test_a_long_name_keeps_its_begin_and_its_end():
    name = short_name(LONG + "-7")
    assert (len(name), name[:9], name[-3:]) == (36, "payments.", "x-7")


def test_marks_that_turn_text_are_shown():
    assert short_name("a\N{RIGHT-TO-LEFT MARK}b") == "a\\u200fb"


def test_the_axis_begins_with_the_data_when_that_begins_late():
    late = Series("lag", days(7), (None, None, None, None, None, 1, 2))
    axes = drawn(chart(ChartType.LINES, late), PERIOD)
    assert axes.get_xlim()[0] == dates.date2num(datetime.fromisoformat(days(7)[5]))
    assert axes.get_xlabel() == f"Time (UTC), data since {text_of(days(7)[5], ValueType.MOMENT)}"


def test_the_axis_is_the_period_when_data_covers_it():
    axes = drawn(chart(ChartType.LINES, Series("lag", days(2), (1, 2))), PERIOD)
    assert axes.get_xlim()[0] == dates.date2num(PERIOD.start)
    assert axes.get_xlabel() == "Time (UTC)"


def drawn(one, period):
    return _figure(one, period).axes[0]
