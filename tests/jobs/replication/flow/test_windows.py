"""When bulk copying is welcome: windows of the week, on the clocks of a time zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.flow.windows import is_open, next_change, parse_window

BERLIN = ZoneInfo("Europe/Berlin")
# 2026-11-20 is a Friday.
FRIDAY = datetime(2026, 11, 20, tzinfo=BERLIN)


def at(day: int, clock: str, zone=BERLIN) -> datetime:
    """A day of November 2026 in Berlin."""
    hours, minutes = (int(part) for part in clock.split(":"))
    return datetime(2026, 11, day, hours, minutes, tzinfo=zone)


@pytest.mark.parametrize(
    ("window", "now", "expected"),
    [
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "23:00"), True, id="in the evening"),
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "05:59"), True, id="after midnight"),
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "06:00"), False, id="the end is outside"),
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "22:00"), True, id="the begin is inside"),
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "12:00"), False, id="at noon"),
        pytest.param("22:00-06:00", at(20, "22:30"), False, id="without a zone it is UTC"),
        pytest.param("22:00-06:00", at(20, "23:00"), True, id="UTC has reached it"),
        pytest.param("Fri 22:00-06:00 Europe/Berlin", at(21, "05:00"), True, id="Friday's on Saturday"),
        pytest.param("Fri 22:00-06:00 Europe/Berlin", at(20, "05:00"), False, id="Thursday's on Friday"),
        pytest.param("Mon-Fri 22:00-06:00 Europe/Berlin", at(21, "23:00"), False, id="Saturday"),
        pytest.param("Sat,Sun 00:00-24:00 Europe/Berlin", at(22, "23:59"), True, id="a whole Sunday"),
        pytest.param("Sat,Sun 00:00-24:00 Europe/Berlin", at(23, "00:00"), False, id="then Monday"),
        pytest.param("Fri-Mon 08:00-09:00 Europe/Berlin", at(23, "08:30"), True, id="over the week's end"),
        pytest.param("Fri-Mon 08:00-09:00 Europe/Berlin", at(24, "08:30"), False, id="not Tuesday"),
        pytest.param("mon,wed-thu 08:00-09:00 Europe/Berlin", at(19, "08:30"), True, id="in small letters"),
    ],
)  # fmt: skip
def test_a_window_is_open(window, now, expected):
    assert is_open([parse_window(window)], now) is expected


def test_one_open_window_of_several_is_enough():
    windows = [parse_window("Sat 00:00-24:00"), parse_window("12:00-13:00 Europe/Berlin")]
    assert is_open(windows, at(20, "12:30"))


def test_without_windows_it_is_always_open():
    assert is_open([], FRIDAY)
    assert next_change([], FRIDAY) is None


@pytest.mark.parametrize(
    ("window", "now", "change"),
    [
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "12:00"), at(20, "22:00"), id="opens tonight"),
        pytest.param("22:00-06:00 Europe/Berlin", at(20, "23:10"), at(21, "06:00"), id="closes"),
        pytest.param("Mon-Fri 22:00-06:00 Europe/Berlin", at(21, "07:00"), at(23, "22:00"), id="Monday"),
        pytest.param("Fri 12:00-13:00 Europe/Berlin", at(20, "13:00"), at(27, "12:00"), id="in a week"),
        pytest.param("00:00-24:00", at(20, "13:00"), None, id="never closes"),
    ],
)  # fmt: skip
def test_the_next_change_is(window, now, change):
    assert next_change([parse_window(window)], now) == change


def test_a_time_that_no_clock_shows_opens_when_the_clocks_have_gone_past_it():
    # On 2026-03-29 clocks in Berlin went from 02:00 to 03:00.
    window = [parse_window("02:30-05:00 Europe/Berlin")]
    midnight = datetime(2026, 3, 29, tzinfo=BERLIN)
    assert next_change(window, midnight) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_a_time_that_clocks_show_twice_is_open_twice():
    # On 2026-10-25 clocks in Berlin went from 03:00 back to 02:00.
    window = [parse_window("02:00-02:30 Europe/Berlin")]
    opened = [datetime(2026, 10, 25, hour, 10, tzinfo=UTC) for hour in (0, 1, 2)]
    assert [is_open(window, moment) for moment in opened] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("always", "looks like", id="not a window"),
        pytest.param("22:00-25:00", "25:00 is not a time", id="no such hour"),
        pytest.param("22:70-23:00", "22:70 is not a time", id="no such minute"),
        pytest.param("22:00-22:00", "begins when it ends", id="empty"),
        pytest.param("Mo-Fri 22:00-06:00", "'Mo' is not a day", id="no such day"),
        pytest.param("22:00-06:00 Europe/Atlantis", "not a time zone", id="no such zone"),
        pytest.param("22:00-06:00 ../../etc/passwd", "looks like", id="no path"),
    ],
)
def test_what_is_no_window_is_refused_with_the_reason(text, words):
    with pytest.raises(ValueError, match=words):
        parse_window(text)


clocks = st.integers(0, 23 * 60 + 59).map(lambda m: f"{m // 60:02}:{m % 60:02}")


@given(
    begin=clocks,
    end=clocks,
    days=st.sampled_from(["", "Mon-Fri ", "Sat,Sun ", "Wed "]),
    zone=st.sampled_from([" Europe/Berlin", " America/New_York", " Asia/Kolkata", ""]),
    minute=st.integers(0, 366 * 24 * 60),
)
def test_nothing_changes_before_the_next_change_and_something_does_at_it(
    begin, end, days, zone, minute
):
    if begin == end:
        return
    windows = [parse_window(f"{days}{begin}-{end}{zone}")]
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    change = next_change(windows, now)
    assert change is not None
    assert is_open(windows, change) != is_open(windows, now)
    assert is_open(windows, change - timedelta(seconds=1)) == is_open(windows, now)
