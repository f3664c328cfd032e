from datetime import UTC, datetime, timedelta

import pytest

from jobs import numbers

NB = numbers.NO_BREAK
NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)


def plain(text: str) -> str:
    return text.replace(NB, " ")


@pytest.mark.parametrize(
    ("format_", "value", "text"),
    [
        pytest.param(numbers.format_count, None, "—", id="unknown count"),
        pytest.param(numbers.format_count, 0, "0", id="measured zero"),
        pytest.param(numbers.format_count, 1234567, "1,234,567", id="large count"),
        pytest.param(numbers.format_span_ms, None, "—", id="unknown span"),
        pytest.param(numbers.format_span_ms, 0, "0 s", id="no time at all"),
        pytest.param(numbers.format_span_ms, 0.2, "1 ms", id="less than a millisecond is not zero"),
        pytest.param(numbers.format_span_ms, 412, "412 ms", id="below a second"),
        pytest.param(numbers.format_span_ms, 4120, "4.1 s", id="a tenth below ten seconds"),
        pytest.param(numbers.format_span_ms, 9000, "9 s", id="no idle zero"),
        pytest.param(numbers.format_span_ms, 281_000, "4 m 41 s", id="minutes"),
        pytest.param(numbers.format_span_ms, 3_600_000, "1 h", id="whole hour"),
        pytest.param(numbers.format_span_ms, 13_920_000, "3 h 52 m", id="hours"),
        pytest.param(numbers.format_span_ms, 187_200_000, "2 d 4 h", id="days"),
        pytest.param(numbers.format_bytes, None, "—", id="unknown size"),
        pytest.param(numbers.format_bytes, 512, "512 B", id="bytes"),
        pytest.param(numbers.format_bytes, 1_572_864, "1.5 MiB", id="mebibytes"),
        pytest.param(numbers.format_bytes, 2**60, "1024 PiB", id="more than there are units"),
        pytest.param(numbers.format_rate, None, "—", id="unknown rate"),
        pytest.param(numbers.format_rate, 0, "0/s", id="no rate"),
        pytest.param(numbers.format_rate, 0.44, "0.4/s", id="slow"),
        pytest.param(numbers.format_rate, 1240.4, "1,240/s", id="fast"),
        pytest.param(numbers.format_percent, None, "—", id="unknown share"),
        pytest.param(numbers.format_percent, 0.9999, "99.9 %", id="almost all is not all"),
        pytest.param(numbers.format_percent, 1, "100 %", id="all"),
    ],
)
def test_number_as_people_read_it(format_, value, text):
    assert plain(format_(value)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(0.3, "just now", id="now"),
        pytest.param(12, "12 s ago", id="seconds"),
        pytest.param(721, "12 m 1 s ago", id="minutes"),
        pytest.param(-180, "in 3 m", id="future"),
    ],
)
def test_age_of_a_moment(seconds, text):
    assert plain(numbers.format_age(NOW - timedelta(seconds=seconds), NOW)) == text


def test_age_of_what_never_happened_is_a_dash():
    assert numbers.format_age(None, NOW) == "—"


@pytest.mark.parametrize(
    ("rows", "total", "largest"),
    [
        pytest.param([3, 4], numbers.Total(7, 0), numbers.Total(4, 0), id="all known"),
        pytest.param([0, 0], numbers.Total(0, 0), numbers.Total(0, 0), id="a measured zero"),
        pytest.param([3, None], numbers.Total(3, 1), numbers.Total(3, 1), id="some known"),
        pytest.param(
            [0, None],
            numbers.Total(None, 1),
            numbers.Total(None, 1),
            id="a zero says nothing of the others",
        ),
        pytest.param([None, None], numbers.Total(None, 2), numbers.Total(None, 2), id="none known"),
        pytest.param([], numbers.Total(None, 0), numbers.Total(None, 0), id="no rows"),
    ],
)
def test_a_total_tells_what_it_does_not_know(rows, total, largest):
    assert (numbers.sum_of(rows), numbers.largest_of(rows)) == (total, largest)


@pytest.mark.parametrize(
    ("value", "unknown", "text"),
    [
        (1200, 0, "1,200"),
        (0, 1, "at least 0"),
        (None, 2, "not known"),
        (None, 0, numbers.DASH),
    ],
)
def test_a_partial_total_is_told_as_at_least(value, unknown, text):
    assert numbers.format_least(value, unknown) == text


def test_lag_in_time_is_told_likewise():
    assert numbers.format_least(15_000, 1, numbers.format_span_ms).startswith("at least 15")


def test_what_is_not_known_is_counted_beside_all_rows():
    assert (numbers.not_known(1, 2), numbers.not_known(0, 2)) == ("1 of 2 partitions not known", "")
