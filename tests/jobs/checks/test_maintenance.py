"""When maintenance windows are active."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks.maintenance import Window, active_windows, starts_of

# A Friday.
START = datetime(2026, 5, 1, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rrule", "after", "is_active"),
    [
        pytest.param("", timedelta(minutes=-1), False, id="before"),
        pytest.param("", timedelta(), True, id="from its start"),
        pytest.param("", timedelta(minutes=59), True, id="until its end"),
        pytest.param("", timedelta(hours=1), False, id="after"),
        pytest.param("FREQ=WEEKLY", timedelta(days=7, minutes=5), True, id="next week"),
        pytest.param("FREQ=WEEKLY", timedelta(days=6, minutes=5), False, id="another day"),
        pytest.param("RRULE:FREQ=DAILY;COUNT=2", timedelta(days=1), True, id="the second of two"),
        pytest.param("FREQ=DAILY;COUNT=2", timedelta(days=2), False, id="after two"),
        pytest.param("FREQ=DAILY;UNTIL=20260502", timedelta(days=1), True, id="its last day"),
        pytest.param(
            "FREQ=DAILY;UNTIL=20260502", timedelta(days=2), False, id="after its last day"
        ),
        pytest.param("FREQ=SECONDLY", timedelta(), False, id="a rule that is not usable"),
    ],
)
def test_when_a_window_is_active(rrule, after, is_active):
    window = Window("Patches", START, 3600, rrule=rrule)
    assert bool(active_windows([window], START + after)) is is_active


def test_a_window_starts_at_the_same_time_of_day_in_summer_and_winter():
    zone = "Europe/Berlin"
    last, following = starts_of("FREQ=MONTHLY", START, zone, datetime(2026, 10, 31, tzinfo=UTC))
    assert (last.hour, following.hour) == (22, 23)


@pytest.mark.parametrize(
    "rrule",
    [
        "FREQ=SECONDLY",
        "FREQ=HOURLY",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=7;BYDAY=SU",
        "FREQ=DAILY;BYDAY=MO;BYSETPOS=5",
        "FREQ=DAILY;BYSECOND=1,2",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=MONTHLY;BYDAY=+9999999999999999999MO",
        "FREQ=DAILY;COUNT=99999999999999999999",
        "FREQ=DAILY;UNTIL=never",
        "FREQ=DAILY\nDTSTART:20200101",
        "every day",
    ],
)
def test_a_rule_that_is_wrong_or_could_take_long_is_refused(rrule):
    with pytest.raises(ValueError, match="The rule is not usable"):
        starts_of(rrule, START, "UTC", START)


def test_a_rule_with_very_many_starts_is_refused():
    hours = ",".join(map(str, range(24)))
    with pytest.raises(ValueError, match="too many starts"):
        starts_of(f"FREQ=DAILY;BYHOUR={hours}", START - timedelta(days=20_000), "UTC", START)
