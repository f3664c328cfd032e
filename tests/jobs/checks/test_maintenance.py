"""Recurrence rules of maintenance windows: what is refused, and when windows start."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.checks.maintenance import NotARule, read_rrule, starts_of

START = datetime(2027, 3, 26, 1, 30, tzinfo=UTC)
BEFORE = START - timedelta(seconds=1)
DAYS = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])


def starts(rule: str, count: int = 3, zone: str = "UTC", after: datetime = BEFORE) -> list[str]:
    found = islice(starts_of(START, rule, zone, after), count)
    return [f"{one:%Y-%m-%d %H:%M}" for one in found]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("every sunday", id="words"),
        pytest.param("FREQ=SECONDLY", id="every second"),
        pytest.param("FREQ=MINUTELY", id="every minute"),
        pytest.param("FREQ=HOURLY", id="every hour"),
        pytest.param("FREQ=DAILY;BYSECOND=0,1,2", id="seconds"),
        pytest.param("FREQ=DAILY;BYMINUTE=0,1,2", id="minutes"),
        pytest.param("FREQ=DAILY,WEEKLY", id="two frequencies"),
        pytest.param("FREQ=DAILY;INTERVAL=0", id="no interval"),
        pytest.param("FREQ=DAILY;COUNT=-1", id="negative count"),
        pytest.param("FREQ=DAILY;COUNT=" + "9" * 300, id="huge count"),
        pytest.param("FREQ=DAILY;UNTIL=120000", id="until a time of day"),
        pytest.param("FREQ=MONTHLY;BYDAY=9MO", id="ninth Monday of a month"),
        pytest.param("FREQ=WEEKLY;BYDAY=1MO", id="first Monday of a week"),
        pytest.param("FREQ=DAILY;BYSETPOS=0", id="place zero"),
        pytest.param("FREQ=YEARLY;BYMONTH=5L", id="leap month"),
        pytest.param("FREQ=YEARLY;BYYEARDAY=" + ",".join(["1"] * 400), id="long"),
        pytest.param("FREQ=DAILY\nEXDATE:20270101", id="two lines"),
        pytest.param("FREQ=DAILY;BYEASTER=0", id="no part of RFC 5545"),
        pytest.param("FREQ=DAILY;WKST=XX", id="no day"),
        pytest.param("\0", id="NUL"),
    ],
)
def test_what_is_no_rule_of_a_window_is_refused_with_a_sentence(text):
    with pytest.raises(NotARule, match=r"\.$"):
        read_rrule(text)


def test_a_rule_is_kept_in_its_normal_form():
    assert read_rrule(" RRULE:freq=weekly;byday=SU ") == "FREQ=WEEKLY;BYDAY=SU"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FREQ=WEEKLY", ["2027-03-26 01:30", "2027-04-02 01:30", "2027-04-09 01:30"]),
        ("FREQ=DAILY;COUNT=2", ["2027-03-26 01:30", "2027-03-27 01:30"]),
        ("FREQ=DAILY;UNTIL=20270327", ["2027-03-26 01:30", "2027-03-27 01:30"]),
        ("FREQ=DAILY;UNTIL=20270327T013000Z", ["2027-03-26 01:30", "2027-03-27 01:30"]),
        ("FREQ=MONTHLY;BYDAY=1SA", ["2027-04-03 01:30", "2027-05-01 01:30", "2027-06-05 01:30"]),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;COUNT=1", ["2028-02-29 01:30"]),
        ("", ["2027-03-26 01:30"]),
    ],
)
def test_a_window_starts_when_its_rule_says(rule, expected):
    assert starts(rule) == expected


def test_a_local_time_that_the_clock_skips_is_an_hour_later():
    """In Berlin 02:30 does not exist on 28 March 2027."""
    assert starts("FREQ=DAILY", 4, "Europe/Berlin") == [
        "2027-03-26 01:30", "2027-03-27 01:30", "2027-03-28 01:30", "2027-03-29 00:30",
    ]  # fmt: skip


def test_only_starts_after_the_moment_are_returned():
    after = datetime(2030, 1, 1, tzinfo=UTC)
    assert starts("FREQ=DAILY", 1, after=after) == ["2030-01-01 01:30"]
    assert starts("", 1, after=after) == []


@pytest.mark.parametrize("frequency", ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
def test_a_rule_without_any_time_ends(frequency):
    assert starts(read_rrule(f"FREQ={frequency};BYMONTH=2;BYMONTHDAY=30")) == []


@settings(max_examples=60, deadline=None)
@given(
    frequency=st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    parts=st.fixed_dictionaries(
        {},
        optional={
            "BYMONTHDAY": st.integers(-31, 31),
            "BYYEARDAY": st.integers(-366, 366),
            "BYWEEKNO": st.integers(-53, 53),
            "BYSETPOS": st.integers(-366, 366),
            "BYMONTH": st.integers(1, 12),
            "INTERVAL": st.integers(1, 1000),
            "COUNT": st.integers(1, 10_000),
            "BYDAY": st.builds("{}{}".format, st.integers(-53, 53) | st.just(""), DAYS),
        },
    ),
)
def test_a_rule_that_is_accepted_has_starts_in_order(frequency, parts):
    text = ";".join([f"FREQ={frequency}", *(f"{name}={value}" for name, value in parts.items())])
    try:
        rule = read_rrule(text)
    except NotARule:
        return
    found = list(islice(starts_of(START, rule, "Europe/Berlin", START), 4))
    assert found == sorted(set(found))
