from datetime import UTC, datetime, timedelta

import pytest

from console.frame.pages.timerange import TimeRange, range_around

NOW = datetime(2026, 11, 21, 7, 0, tzinfo=UTC)
ONE = datetime(2026, 11, 21, 1, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        pytest.param({}, NOW - timedelta(hours=1), NOW, id="nothing asked: the last hour"),
        pytest.param({"range": "5m"}, NOW - timedelta(minutes=5), NOW, id="shortest"),
        pytest.param({"range": "30d"}, NOW - timedelta(days=30), NOW, id="longest"),
        pytest.param(
            {"from": "2026-11-21T01:00:00Z", "to": "2026-11-21T03:00:00Z"},
            ONE,
            ONE + timedelta(hours=2),
            id="absolute",
        ),
        pytest.param({"from": "2026-11-21T01:00"}, ONE, NOW, id="open end is now, no zone is UTC"),
        pytest.param(
            {"to": "2026-11-21T02:00:00Z"},
            ONE,
            ONE + timedelta(hours=1),
            id="open start is an hour before",
        ),
        pytest.param({"from": "2026-11-21T03:00:00+02:00"}, ONE, NOW, id="other zone"),
        pytest.param(
            {"from": "2026-11-21T03:00:00 02:00"}, ONE, NOW, id="plus that became a blank"
        ),
        pytest.param({"range": "6h", "from": "2026-11-21T01:00:00Z"}, ONE, NOW, id="absolute wins"),
        pytest.param({"from": "now-6h", "to": "now"}, ONE, NOW, id="relative words"),
        pytest.param({"from": "now-360m"}, ONE, NOW, id="minutes ago"),
        pytest.param(
            {"from": "now-6h", "to": "now-5h"}, ONE, ONE + timedelta(hours=1), id="both ago"
        ),
        pytest.param(
            {"from": "1795222800000", "to": "1795230000000"},
            ONE,
            ONE + timedelta(hours=2),
            id="milliseconds since 1970",
        ),
        pytest.param({"from": "1795222800"}, ONE, NOW, id="seconds since 1970"),
        pytest.param({"range": "360m"}, ONE, NOW, id="any length"),
        pytest.param({"range": "2w"}, NOW - timedelta(days=14), NOW, id="weeks"),
        pytest.param({"from": " now-6h ", "to": " now "}, ONE, NOW, id="blanks around words"),
        pytest.param({"from": "2026-11-21 01:00:00"}, ONE, NOW, id="as the picker writes it"),
        pytest.param({"from": "20261121T010000Z"}, ONE, NOW, id="ISO without marks"),
    ],
)
def test_range_of_a_query(query, start, end):
    time_range = TimeRange.from_query(query, NOW)
    assert (time_range.start, time_range.end, time_range.problem) == (start, end, "")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        pytest.param(
            {"range": "2y"}, "range='2y' is not a time range", id="no such unit of a length"
        ),
        pytest.param({"range": "0m"}, "range='0m' is not a time range", id="no length"),
        pytest.param(
            {"range": "now-6h"}, "90m, 6h or 7d; or from and to", id="the forms of a range"
        ),
        pytest.param({"range": "99999999w"}, "longer than 366 days", id="longest length"),
        pytest.param({"from": "x"}, "2026-11-21T03:04:00Z", id="the forms of a moment"),
        pytest.param({"from": "now-6y"}, "from='now-6y' is not a time", id="no such unit"),
        pytest.param({"from": "now-999999w"}, "longer than 366 days", id="before the calendar"),
        pytest.param(
            {"from": "now-999999w", "to": "now-1h"}, "is not a time", id="begin before the calendar"
        ),
        pytest.param({"from": "yesterday"}, "from='yesterday' is not a time", id="not a time"),
        pytest.param({"to": "9999-99-99"}, "to='9999-99-99' is not a time", id="no such day"),
        pytest.param({"from": "2026-11-21T08:00Z"}, "ends before it starts", id="backwards"),
        pytest.param({"from": "1970-01-01"}, "longer than 366 days", id="too long"),
        pytest.param(
            {"from": "0001-01-01T00:00:00+23:00"}, "is not a time", id="before the first year"
        ),
    ],
)
def test_nonsense_is_explained_and_the_default_range_is_shown(query, words):
    time_range = TimeRange.from_query(query, NOW)
    assert words in time_range.problem
    assert (time_range.start, time_range.name) == (NOW - timedelta(hours=1), "1h")


@pytest.mark.parametrize(
    ("query", "points", "step_s"),
    [
        pytest.param({"range": "5m"}, 300, 1, id="one second"),
        pytest.param({"range": "1h"}, 300, 15, id="rounded up to a step that people like"),
        pytest.param({"range": "30d"}, 300, 10800 + 3600, id="days"),
        pytest.param(
            {"from": "2025-11-21", "to": "2026-11-21"},
            2,
            183 * 86400,
            id="longer than any nice step",
        ),
        pytest.param({"range": "1h"}, 0, 3600, id="no points asked"),
    ],
)
def test_step_gives_at_most_the_points_asked_for(query, points, step_s):
    assert TimeRange.from_query(query, NOW).step_s(points) == step_s


@pytest.mark.parametrize("until", ["", "now"])
def test_the_last_hours_in_relative_words_are_the_range_of_that_name(until):
    assert TimeRange.from_query({"from": "now-6h", "to": until}, NOW).name == "6h"


def test_label_of_an_absolute_range_within_a_day_names_the_day_once():
    query = {"from": "2026-11-21T01:00:00Z", "to": "2026-11-21T07:00:00Z"}
    assert TimeRange.from_query(query, NOW).label == "21 Nov 01:00 to 07:00 UTC"


@pytest.mark.parametrize(
    ("query", "is_live"),
    [
        pytest.param({}, True, id="default"),
        pytest.param({"range": "6h"}, True, id="length"),
        pytest.param({"from": "now-90m", "to": "now"}, True, id="up to now"),
        pytest.param({"from": "now-6h", "to": "now-5h"}, True, id="both ends relative"),
        pytest.param({"from": "2026-11-21T01:00Z"}, False, id="absolute begin"),
        pytest.param({"from": "1795222800000", "to": "1795230000000"}, False, id="milliseconds"),
        pytest.param({"range": "2y"}, True, id="refused: the default"),
    ],
)
def test_only_a_relative_range_is_live(query, is_live):
    assert TimeRange.from_query(query, NOW).is_live == is_live


@pytest.mark.parametrize(
    ("query", "wider"),
    [
        pytest.param({"range": "1h"}, {"range": "2h"}, id="up to now"),
        pytest.param({"range": "12h"}, {"range": "24h"}, id="a quick choice"),
        pytest.param({"from": "now-90s"}, {"range": "3m"}, id="seconds"),
        pytest.param({"range": "300d"}, {"range": "366d"}, id="at most the longest"),
        pytest.param(
            {"from": "2026-11-21T01:00Z", "to": "2026-11-21T03:00Z"},
            {"from": "2026-11-21T00:00:00Z", "to": "2026-11-21T04:00:00Z"},
            id="around the middle",
        ),
        pytest.param(
            {"from": "2026-11-21T05:00Z", "to": "2026-11-21T07:00Z"},
            {"from": "2026-11-21T03:00:00Z", "to": "2026-11-21T07:00:00Z"},
            id="not into the future",
        ),
    ],
)
def test_zooming_out_doubles_the_range(query, wider):
    assert TimeRange.from_query(query, NOW).zoomed_out(NOW) == wider


AROUND = "?from=2026-11-21T00%3A55%3A00Z&to="


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/replication/3/findings/?state=ended#x", "/replication/3/"),
        ("/replication/3/checkpoints/billing/", "/replication/3/checkpoints/"),
        ("/quorum/east/", "/quorum/east/voters/"),
        ("/quorum/east/log/?topic=orders", "/quorum/east/log/"),
        ("/availability/east/what-if/", "/availability/east/"),
        ("/availability/east/partitions/orders/0/", "/availability/east/partitions/orders/0/"),
        ("/availability/", ""),
        ("/quorum/-/import/", ""),
        ("/clusters/east/", ""),
        ("/", ""),
    ],
)
def test_the_time_around_a_finding_is_shown_by_the_page_of_its_subject(address, page):
    expected = page and f"{page}{AROUND}2026-11-21T01%3A05%3A00Z"
    assert range_around(address, ONE) == expected


def test_the_time_around_a_finding_reaches_to_its_end():
    found = range_around("/replication/3/", ONE, ONE + timedelta(hours=2))
    assert found == f"/replication/3/{AROUND}2026-11-21T03%3A00%3A00Z"
