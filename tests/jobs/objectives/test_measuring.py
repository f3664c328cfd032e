"""Steps of measured time: what is good, bad and unknown adds up, however it was recorded."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from jobs.objectives.measuring import STEP_S, above, measure, portions
from jobs.objectives.objective import Step

START, ALL = 300_000, [(0.0, 1e9)]
TIMES = st.integers(START - 400, START + 2000)


def parts(step):
    return step.good_s, step.bad_s, STEP_S - step.good_s - step.bad_s


def spans(*pairs):
    return [(START + begin, START + end, count / 4) for begin, end, count in pairs]


@pytest.mark.parametrize(
    ("bad", "steps"),
    [
        pytest.param([], [(300, 0, 0), (300, 0, 0)], id="nothing is bad"),
        pytest.param([(0, 100, 4)], [(200, 100, 0), (300, 0, 0)], id="all partitions"),
        pytest.param([(0, 100, 1)], [(275, 25, 0), (300, 0, 0)], id="one of four"),
        pytest.param([(200, 400, 4)], [(200, 100, 0), (200, 100, 0)], id="over two steps"),
        pytest.param([(200, 9000, 2)], [(250, 50, 0), (150, 150, 0)], id="not over"),
        pytest.param([(-900, 9000, 9)], [(0, 300, 0), (0, 300, 0)], id="more than there are"),
    ],
)
def test_bad_time_is_that_of_the_partitions_divided_by_how_many_there_are(bad, steps):
    found = measure(START, START + 2 * STEP_S, ALL, spans(*bad))
    assert [parts(one) for one in found] == steps


def test_what_is_bad_while_nothing_was_watched_is_unknown():
    known = [(START + 100.0, START + 250.0)]
    assert measure(START, START + 300, known, spans((0, 200, 4))) == [Step(START, 50, 100)]


def test_the_step_of_now_has_the_time_that_has_passed():
    assert measure(START, START + 310, ALL, ())[-1] == Step(START + 300, 10, 0)


@pytest.mark.parametrize(
    ("samples", "step"),
    [
        pytest.param([], (0, 0, 300), id="no samples"),
        pytest.param([(0, 5), (100, 5), (200, 5)], (300, 0, 0), id="below"),
        pytest.param([(0, 10), (100, 10), (200, 10)], (300, 0, 0), id="at the limit"),
        pytest.param([(0, 5), (100, 11), (200, 5)], (200, 100, 0), id="above until the next one"),
        pytest.param([(0, 11)], (0, 120, 180), id="holds for the longest rest"),
        pytest.param([(0, 5), (100, None), (200, 5)], (200, 0, 100), id="not known"),
        pytest.param([(-100, 11), (100, 5), (200, 5)], (200, 20, 80), id="before the step"),
        pytest.param([(0, 5), (0, 5), (100, 5), (200, 5)], (300, 0, 0), id="two at once"),
    ],
)
def test_a_sample_holds_until_the_next_one_for_the_longest_rest_at_most(samples, step):
    known, bad = above([(START + at, lag) for at, lag in samples], 10, 120, START + 300)
    (one,) = measure(START, START + 300, known, bad)
    assert parts(one) == step


@settings(deadline=None)
@given(
    st.lists(st.tuples(TIMES, st.none() | st.integers(0, 20))),
    st.integers(1, 1500),
    st.integers(1, 400),
)
def test_the_parts_of_samples_are_within_the_length_of_a_step(rows, length, gap):
    known, bad = above(sorted(rows, key=lambda one: one[0]), 10, gap, START + length)
    check(measure(START, START + length, known, bad), length)


@settings(deadline=None)
@given(
    st.lists(st.tuples(TIMES, TIMES, st.floats(0.2, 2))),
    st.tuples(TIMES, TIMES),
    st.integers(1, 1500),
)
def test_the_parts_of_spans_are_within_the_length_of_a_step(rows, watched, length):
    known = [tuple(map(float, sorted(watched)))]
    check(measure(START, START + length, known, rows), length)


def check(steps, length):
    assert [one.at_s for one in steps] == list(range(START, START + length, STEP_S))
    for one in steps:
        assert min(one.good_s, one.bad_s) >= 0
        assert one.good_s + one.bad_s <= min(STEP_S, START + length - one.at_s) + 1e-6


@pytest.mark.parametrize(
    ("oldest", "newest", "source", "found"),
    [
        pytest.param(None, None, (0, 3100), [(2700, 3100), (0, 2700)], id="new"),
        pytest.param(0, 2700, (0, 3100), [(2700, 3100)], id="nothing to catch up"),
        pytest.param(0, 3000, (0, 3100), [(2700, 3100)], id="late samples"),
        pytest.param(0, 600, (0, 3100), [(600, 3100)], id="missed"),
        pytest.param(0, 0, (0, 90_000), [(0, 6000)], id="missed for long"),
        pytest.param(60_000, 89_700, (0, 90_000), [(89_700, 90_000), (54_000, 60_000)], id="past"),
        pytest.param(0, 600, (2000, 3100), [(1800, 3100)], id="no longer recorded"),
        pytest.param(0, 3000, (0, 2000), [(1800, 2000)], id="not recorded so far"),
    ],
)
def test_what_is_due_is_the_end_and_a_portion_of_the_past(oldest, newest, source, found):
    assert list(portions(oldest, newest, source, 180, 20)) == found
