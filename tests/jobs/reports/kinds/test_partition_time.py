"""Time of partitions: counted by intervals, and again moment by moment."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.reports.kinds.clusters.partition_time import (
    PartitionLives,
    PartitionSpans,
    TimeTotals,
    totals_of,
    worst_spans,
)
from jobs.reports.kinds.clusters.watched_time import WatchedTime, merged

END = 60
INTERVALS = st.tuples(st.integers(-9, 70), st.integers(0, 40)).map(lambda one: (one[0], sum(one)))
LIFE = st.tuples(st.integers(0, 2), INTERVALS)
SPAN = st.tuples(st.integers(0, 5), st.booleans(), INTERVALS)


def ints(values):
    return np.array(list(values), dtype=np.int64)


def arrays(lives, spans):
    kept = [one for one in spans if one[0] < len(lives)]
    return (
        PartitionLives(
            ints(one[0] for one in lives),
            ints(one[1][0] for one in lives),
            ints(one[1][1] for one in lives),
        ),
        PartitionSpans(
            ints(one[0] for one in kept),
            np.array([one[1] for one in kept], dtype=np.bool_),
            ints(one[2][0] for one in kept),
            ints(one[2][1] for one in kept),
            ints(0 for _ in kept),
        ),
    )


@given(st.lists(LIFE, max_size=6), st.lists(SPAN, max_size=8), st.lists(INTERVALS, max_size=3))
@example([(0, (0, 60))], [(0, True, (0, 60))], [(0, 60)])
@example([(0, (0, 60)), (0, (0, 60))], [(0, True, (5, 9)), (1, False, (7, 30))], [(8, 10)])
@example([(1, (-9, 70))], [(0, False, (-5, 5)), (0, False, (5, 5))], [])
def test_sums_are_those_of_counting_every_moment(lives, spans, gaps):
    watched = WatchedTime(0, END, gaps)
    seen = [t for t in range(END) if not any(a <= t < b for a, b in gaps)]
    assert watched.total == len(seen)
    told = {
        one.name: one
        for one in totals_of(
            watched, *arrays(lives, spans), ints([0, 1, 1]), [("a", ""), ("b", "")]
        )
    }
    for name, topics in (("a", {0}), ("b", {1, 2})):
        own = {number for number, one in enumerate(lives) if one[0] in topics}
        time = sum(a <= t < b for t in seen for n in own for a, b in [lives[n][1]])
        bad = [(lead, a, b) for life, lead, (a, b) in spans if life in own]
        found = told.get(name, TimeTotals(name))
        if not time:
            assert name not in told
            continue
        assert found.partition_ms == time
        assert found.under_min_isr_ms == sum(a <= t < b for t in seen for _, a, b in bad)
        assert found.leaderless_ms == sum(a <= t < b for t in seen for lead, a, b in bad if lead)
        assert found.any_under_min_isr_ms == sum(any(a <= t < b for _, a, b in bad) for t in seen)


def test_no_partition_has_no_availability():
    assert TimeTotals("a").availability is None


def test_intervals_that_touch_are_one():
    assert merged([(5, 9), (0, 5), (7, 8), (20, 20)]) == [(0, 9)]


def test_outages_are_the_longest_spans_those_of_one_moment_together():
    lives = [(0, (0, 60))] * 6
    spans = [
        (0, True, (5, 9)),
        (1, True, (5, 9)),
        (2, False, (5, 9)),
        (3, True, (50, 99)),
        (4, True, (70, 80)),
    ]
    watched = WatchedTime(0, END, [(55, 60)])
    found = worst_spans(watched, arrays(lives, spans)[1])
    assert [(one.begin, one.end, one.ms, one.is_leaderless, one.lives) for one in found] == [
        (50, 99, 5, True, (3,)),
        (5, 9, 4, True, (0, 1)),
        (5, 9, 4, False, (2,)),
    ]
