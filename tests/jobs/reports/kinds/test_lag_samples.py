"""Percentiles, volume, the line and gaps of lag samples, against plain Python."""

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.reports.kinds.flows.lag_samples import (
    HOLDS_S,
    HOUR_ROW,
    LAG_ROW,
    MOST_POINTS,
    summarise,
    summarise_hours,
)
from jobs.reports.kinds.flows.sampling import Interval
from tests.examples import examples

START = datetime(2026, 11, 16, tzinfo=UTC)
START_S = int(START.timestamp())
HOUR = Interval(START, START + timedelta(hours=1))
SAMPLES = st.dictionaries(
    st.integers(0, 3599),
    st.tuples(st.integers(-1, 50), st.integers(-1, 10**12), st.sampled_from([-1.0, 0.0, 2.5])),
)


def rows(samples):
    told = [(START_S + second, *values, 0) for second, values in sorted(samples.items())]
    return np.array(told, dtype=LAG_ROW)


def nearest_rank(values, share):
    return sorted(values)[math.ceil(len(values) * share) - 1]


@examples(120)
@given(SAMPLES)
@example({})
@example({0: (-1, -1, -1.0)})
@example({n: (n, n, 2.5) for n in range(0, 3600, 5)})
def test_percentiles_volume_and_line_are_those_of_plain_python(samples):
    found = summarise(rows(samples), HOUR)
    assert found.count == len(samples)
    known = {second: row[0] for second, row in sorted(samples.items()) if row[0] >= 0}
    if known:
        worst = max(known.values())
        first = next(second for second, value in known.items() if value == worst)
        assert found.records.median == nearest_rank(known.values(), 0.5)
        assert found.records.worst == worst
        assert found.records.worst_at == START + timedelta(seconds=first)
    else:
        assert (found.records.median, found.records.worst) == (None, None)
    volume = 0.0
    moments = [*sorted(samples), 3600]
    for second, after in pairwise(moments):
        volume += max(samples[second][2], 0) * min(after - second, HOLDS_S)
    if any(row[2] >= 0 for row in samples.values()):
        assert found.replicated == pytest.approx(volume, abs=0.51)
    steps = {}
    for second, row in samples.items():
        if row[1] >= 0:
            steps[second // 12] = max(steps.get(second // 12, -1), row[1])
    assert found.line.ms == tuple(steps.get(n) for n in range(300 if samples else 0))


def test_99_percent_of_the_samples_are_not_above_the_99th_percentile():
    samples = {second: (second + 1, 0, 0.0) for second in range(200)}
    assert summarise(rows(samples), HOUR).records.p99 == 198


def test_ten_minutes_without_a_sample_are_no_gap_and_more_are_one():
    moments = [*range(0, 1000, 5), 1595, 2300, *range(2305, 3600, 5)]
    found = summarise(rows(dict.fromkeys(moments, (0, 0, 1.0))), HOUR)
    assert found.gaps == (
        Interval(START + timedelta(seconds=1595), START + timedelta(seconds=2300)),
    )


def test_a_period_without_samples_is_one_gap():
    found = summarise(rows({}), HOUR)
    assert (found.gaps, found.replicated, found.line.starts) == ((HOUR,), None, ())


def test_a_line_has_at_most_so_many_points_whatever_the_period():
    month = Interval(START, START + timedelta(days=30, hours=1))
    found = summarise(rows({0: (1, 1, 1.0), 30 * 86_400: (2, 2, 1.0)}), month)
    assert len(found.line.starts) == MOST_POINTS
    assert (found.line.records[0], found.line.records[-1]) == (1, 2)


def hours(*told):
    """Rows of hours: how many samples, seconds of the first and the last one, lag, its moment, rate."""
    found = [
        (n, START_S + first, START_S + last, lag, START_S + at, lag, START_S + at, rate, 0)
        for n, first, last, lag, at, rate in told
    ]
    return np.array(found, dtype=HOUR_ROW)


def test_hours_count_with_their_worst_at_its_own_moment():
    day = Interval(START, START + timedelta(days=1))
    rows_ = hours(*((720, h * 3600, h * 3600 + 3595, h, h * 3600 + 7, 1.0) for h in range(24)))
    found = summarise_hours(rows_, day)
    assert (found.records.median, found.ms.p99) == (11, 23)
    assert found.ms.worst_at == START + timedelta(hours=23, seconds=7)
    assert (found.count, found.hours, found.replicated) == (24 * 720, 24, 86_400)
    assert found.gaps == ()
    assert found.line.records == tuple(range(24))


def test_a_gap_of_hours_is_from_the_last_sample_to_the_next_one():
    day = Interval(START, START + timedelta(hours=3))
    found = summarise_hours(hours((2, 0, 60, 1, 0, 2.0), (1, 10_000, 10_000, -1, 0, 5.0)), day)
    moments = [(60, 10_000), (10_000, 10_800)]
    assert found.gaps == tuple(
        Interval(START + timedelta(seconds=a), START + timedelta(seconds=b)) for a, b in moments
    )
    assert found.replicated == 2 * 120 + 5 * HOLDS_S
    assert found.records.worst == 1


def test_a_period_without_hours_is_one_gap():
    found = summarise_hours(hours(), HOUR)
    assert (found.gaps, found.replicated, found.hours) == ((HOUR,), None, 0)
