from datetime import UTC, datetime, timedelta

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.reports.periods import Period, given_period, named_period

BERLIN = "Europe/Berlin"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "now", "start", "hours"),
    [
        pytest.param("last-week", "2026-03-30T06:00", "2026-03-22T23:00", 167, id="week of March's change"),
        pytest.param("last-week", "2026-10-26T06:00", "2026-10-18T22:00", 169, id="week of October's change"),
        pytest.param("yesterday", "2026-03-30T06:00", "2026-03-28T23:00", 23, id="day of 23 h"),
        pytest.param("yesterday", "2026-10-26T06:00", "2026-10-24T22:00", 25, id="day of 25 h"),
        pytest.param("last-month", "2026-04-01T06:00", "2026-02-28T23:00", 743, id="March"),
        pytest.param("last-month", "2026-11-30T23:30", "2026-10-31T23:00", 720, id="December has begun there"),
        pytest.param("last-week", "2026-11-22T23:30", "2026-11-15T23:00", 168, id="Monday has begun there"),
        pytest.param("last-24-hours", "2026-10-25T06:00", "2026-10-24T06:00", 24, id="24 hours are 24 hours"),
    ],
)  # fmt: skip
def test_a_named_period_is_the_last_that_is_over(name, now, start, hours):
    found = named_period(name, BERLIN, at(now))
    assert (found.start, found.span) == (at(start), timedelta(hours=hours))


@pytest.mark.parametrize(
    ("name", "now", "start", "end"),
    [
        pytest.param("last-week", "2026-04-06T06:00", "2026-03-22T23:00", "2026-03-29T22:00", id="week of 167 h"),
        pytest.param("last-week", "2026-11-02T06:00", "2026-10-18T22:00", "2026-10-25T23:00", id="week of 169 h"),
        pytest.param("last-month", "2026-04-02T06:00", "2026-01-31T23:00", "2026-02-28T23:00", id="February"),
        pytest.param("yesterday", "2026-03-31T06:00", "2026-03-28T23:00", "2026-03-29T22:00", id="day of 23 h"),
    ],
)  # fmt: skip
def test_the_period_before_is_the_calendars_too(name, now, start, end):
    before = named_period(name, BERLIN, at(now)).before()
    assert (before.start, before.end, before.name) == (at(start), at(end), name)


def test_before_a_given_period_is_the_same_length():
    period = given_period("2026-11-16", "2026-11-18", BERLIN, at("2026-11-20T00:00"))
    assert period == Period(at("2026-11-15T23:00"), at("2026-11-17T23:00"), BERLIN)
    assert period.before() == Period(at("2026-11-13T23:00"), period.start, BERLIN)


def test_an_end_in_the_future_is_cut_to_now():
    now = at("2026-11-20T00:00")
    assert given_period("2026-11-16T07:00:00Z", "2027-01-01", "UTC", now).end == now


@pytest.mark.parametrize(
    ("start", "end", "zone", "fields"),
    [
        pytest.param("x", None, "UTC", {"from", "to"}, id="no moments"),
        pytest.param("2026-11-18", "2026-11-16", "UTC", {"from"}, id="ends before it begins"),
        pytest.param("2027-01-01", "2027-01-02", "UTC", {"from"}, id="in the future"),
        pytest.param("2020-01-01", "2026-01-01", "UTC", {"from"}, id="years"),
        pytest.param("2026-11-16", "2026-11-17", "Mars/Olympus", {"time_zone"}, id="no time zone"),
        pytest.param(
            "0001-01-01", "2026-11-17", BERLIN, {"from"}, id="before the first year in UTC"
        ),
    ],
)
def test_a_bad_period_is_refused_at_its_field(start, end, zone, fields):
    with pytest.raises(InvalidFields) as refused:
        given_period(start, end, zone, at("2026-11-20T00:00"))
    assert set(refused.value.errors) == fields


def test_an_unknown_name_and_time_zone_are_refused():
    with pytest.raises(InvalidFields) as refused:
        named_period("fortnight", "Mars/Olympus", at("2026-11-20T00:00"))
    assert set(refused.value.errors) == {"period", "time_zone"}


@pytest.mark.parametrize(
    ("period", "label"),
    [
        (named_period("last-week", BERLIN, at("2026-03-30T06:00")), "Mon 23 Mar 2026 to Sun 29 Mar 2026 (Europe/Berlin)"),
        (named_period("yesterday", "UTC", at("2026-11-20T06:00")), "Thu 19 Nov 2026 (UTC)"),
        (named_period("last-24-hours", "UTC", at("2026-11-20T06:00")), "19 Nov 2026 06:00 to 20 Nov 2026 06:00 (UTC)"),
    ],
    ids=["week", "day", "hours"],
)  # fmt: skip
def test_a_period_has_a_label(period, label):
    assert period.label == label
    assert Period.from_mapping(period.to_mapping()) == period
