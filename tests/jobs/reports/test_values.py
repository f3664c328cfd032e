from datetime import UTC, datetime, timedelta, timezone

import pytest

from jobs.reports.values import ValueType, around, stamp, text_of, within

AT = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, ValueType.COUNT, "—"),
        (0, ValueType.COUNT, "0"),
        (1234567, ValueType.COUNT, "1,234,567"),
        (1234567, ValueType.OFFSET, "1234567"),
        ("2026-11-16T08:00:00.123+01:00", ValueType.MOMENT, "2026-11-16 07:00:00 UTC"),
        (90_000, ValueType.DURATION_MS, "1 m 30 s"),
        (1, ValueType.AVAILABILITY, "100 %"),
        (0.999999999, ValueType.AVAILABILITY, "99.9999 %"),
        (0.99987, ValueType.AVAILABILITY, "99.987 %"),
        (0.5, ValueType.AVAILABILITY, "50.00 %"),
        (0.9999, ValueType.RATIO, "99.9 %"),
        (False, ValueType.BOOLEAN, "No"),
        ("=1", ValueType.TEXT, "=1"),
    ],
)
def test_a_value_is_written_as_its_type_says(value, type_, text):
    assert text_of(value, type_).replace("\N{NO-BREAK SPACE}", " ") == text


def test_a_moment_is_kept_in_utc():
    assert stamp(AT.astimezone(timezone(timedelta(hours=5)))) == "2026-11-16T07:00:00.000Z"
    assert stamp(None) is None


@pytest.mark.parametrize(
    ("href", "found"),
    [
        ("", ""),
        ("/a/", "/a/?from=A&to=B"),
        ("/a/?x=1", "/a/?x=1&from=A&to=B"),
        ("/a/#lag", "/a/?from=A&to=B#lag"),
    ],
)
def test_a_link_leads_to_the_time_around_a_moment(href, found):
    times = {"A": "2026-11-16T06%3A45%3A00.000Z", "B": "2026-11-16T07%3A15%3A00.000Z"}
    wanted = found.replace("=A", f"={times['A']}").replace("=B", f"={times['B']}")
    assert around(href, AT) == wanted
    assert around(href, None) == href
    assert within(href, AT - timedelta(minutes=15), AT + timedelta(minutes=15)) == wanted
