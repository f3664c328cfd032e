"""When an expression is due, also where the clocks are changed."""

from itertools import islice

import pytest

from console.schedules import timing
from jobs.cluster.errors import InvalidFields
from tests.console.schedules.making import at

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        pytest.param(
            "*/15 * * * *",
            "UTC",
            "2026-11-21 12:00",
            ["2026-11-21 12:15", "2026-11-21 12:30"],
            id="after a time comes the next one",
        ),
        pytest.param(
            "0 3 * * *",
            BERLIN,
            "2026-10-24 00:00",
            ["2026-10-24 01:00", "2026-10-25 02:00"],
            id="an hour of the day keeps its place on the clock of the zone",
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2027-03-27 12:00",
            ["2027-03-28 01:00", "2027-03-29 00:30"],
            id="a time that the clocks skip comes right after the gap",
        ),
        pytest.param(
            "0,15,30 2 * * *",
            BERLIN,
            "2027-03-27 12:00",
            ["2027-03-28 01:00", "2027-03-29 00:00"],
            id="several skipped times come once",
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-10-24 12:00",
            ["2026-10-25 00:30", "2026-10-26 01:30"],
            id="a time that the clocks repeat comes once",
        ),
        pytest.param(
            "30 2 * * *",
            BERLIN,
            "2026-10-25 01:10",
            ["2026-10-26 01:30"],
            id="also for who asks in the second of the two hours",
        ),
        pytest.param(
            "30 * * * *",
            BERLIN,
            "2026-10-25 00:00",
            ["2026-10-25 00:30", "2026-10-25 01:30"],
            id="every hour follows elapsed time",
        ),
        pytest.param(
            "0 0 29 2 *",
            "UTC",
            "2026-11-21 12:00",
            ["2028-02-29 00:00"],
            id="a leap day is waited for",
        ),
    ],
)
def test_times_follow_the_clock_of_the_zone(cron, zone, after, expected):
    found = islice(timing.next_times(cron, zone, at(after)), len(expected))
    assert list(found) == [at(text) for text in expected]


@pytest.mark.parametrize(
    ("cron", "zone", "field", "says"),
    [
        pytest.param("61 * * * *", "UTC", "cron", "bad minute", id="a minute that is none"),
        pytest.param("* * * *", "UTC", "cron", "Five fields", id="four fields"),
        pytest.param("0 * * * * *", "UTC", "cron", "Five fields", id="seconds"),
        pytest.param("@daily", "UTC", "cron", "Five fields", id="a word"),
        pytest.param("0 0 30 2 *", "UTC", "cron", "bad day-of-month", id="30 February"),
        pytest.param("1," * 60 + "1 * * * *", "UTC", "cron", "", id="very long"),
        pytest.param("* * * * *", "Berlin", "time_zone", "Europe/Berlin", id="no zone"),
        pytest.param("* * * * *", "../etc/passwd", "time_zone", "", id="a path"),
        pytest.param("* * * * *", "", "time_zone", "", id="empty"),
    ],
)
def test_what_is_no_time_is_said_at_its_field(cron, zone, field, says):
    with pytest.raises(InvalidFields) as caught:
        timing.check_times(cron, zone)
    assert list(caught.value.errors) == [field]
    assert says in caught.value.errors[field]


def test_times_between_two_moments_are_counted_up_to_a_bound():
    first = at("2026-11-21 12:00")
    assert timing.count_due("*/5 * * * *", "UTC", first, at("2026-11-21 12:04")) == 0
    assert timing.count_due("*/5 * * * *", "UTC", first, at("2026-11-21 12:15")) == 3
    assert timing.count_due("* * * * *", "UTC", first, at("2026-12-21 12:00")) == timing.MOST_MISSED


def test_a_time_is_written_in_its_zone():
    text = timing.local_text(at("2026-11-26 02:00"), BERLIN)
    assert text == "Thu 26 Nov 2026 03:00 Europe/Berlin"
    assert timing.local_text(at("2026-11-26 02:00"), "Gone/Zone").endswith("02:00 UTC")


def test_an_expression_is_written_in_words():
    assert "03:00" in timing.in_words("0 3 * * *")
