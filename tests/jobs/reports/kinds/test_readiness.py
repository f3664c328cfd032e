"""Share of the time ready, the longest time not ready, gaps: against a count of seconds."""

from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from jobs.reports.kinds.flows.readiness import (
    MOST_PARTS,
    Answers,
    State,
    lane,
    longest_not_ready,
    share_ready,
    state_at_end,
    stretches,
)
from jobs.reports.kinds.flows.sampling import (
    Interval,
    covered_by,
    holes,
    in_all,
    rank_of,
    told_gaps,
    without,
)
from jobs.reports.periods import Period
from jobs.severity import Severity
from tests.examples import examples

START = datetime(2026, 10, 25, tzinfo=UTC)
READY = State("Ready", Severity.HEALTHY, is_ready=True)
BLOCKED = State("Blocked", Severity.CRITICAL, is_ready=False)
OUTSIDE = State("Not covered", Severity.UNKNOWN, is_ready=False, counts=False)
STATES = (READY, BLOCKED, OUTSIDE)


def at(seconds):
    return START + timedelta(seconds=seconds)


def period(seconds):
    return Period(START, at(seconds))


def answers(*changes):
    return Answers("f", "", "/f/", tuple((at(second), STATES[state]) for second, state in changes))


def changes_of(draw):
    return sorted(dict(draw).items())


def apart(pairs):
    """Intervals of seconds that are sorted and do not touch."""
    edges = sorted({edge for pair in pairs for edge in pair})
    return [Interval(at(a), at(b)) for a, b in zip(edges[::2], edges[1::2], strict=False)]


def by_seconds(changes, gaps, length):
    """What the state was in each second: None is no answer or no sample."""
    told = []
    for second in range(length):
        held = [state for moment, state in changes if moment <= second]
        in_gap = any(gap.start <= at(second) < gap.end for gap in gaps)
        told.append(None if in_gap or not held else held[-1])
    return told


CHANGES = st.lists(st.tuples(st.integers(-50, 220), st.sampled_from([0, 1, 2])), max_size=8)
GAPS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=3)


@examples(150)
@given(CHANGES, GAPS)
@example([], [])
@example([(-5, 0)], [])
@example([(0, 1), (0, 0)], [(0, 200)])
@example([(-1, 0), (100, 1), (150, 0)], [(120, 130)])
def test_the_share_and_the_longest_time_are_those_of_counted_seconds(drawn, pairs):
    changes, gaps = changes_of(drawn), apart(pairs)
    found = stretches(answers(*changes), period(200), gaps)
    told = by_seconds(changes, gaps, 200)
    counted = [one for one in told if one in (0, 1)]
    share = share_ready(found)
    if not counted:
        assert share is None
    else:
        exact = counted.count(0) / len(counted)
        assert exact - 1e-6 <= share <= exact
        assert (share == 1) == (exact == 1)
    longest, run = 0, 0
    for one in told:
        run = run + 1 if one == 1 else 0
        longest = max(longest, run)
    row = longest_not_ready(found)
    assert (row.ms // 1000 if row else 0) == longest
    end = state_at_end(found, period(200))
    assert (STATES.index(end) if end else None) == told[-1]


def test_one_second_of_a_year_not_ready_is_not_all_of_the_time():
    year = 365 * 86_400
    found = stretches(answers((0, 0), (100, 1), (101, 0)), Period(START, at(year)), [])
    assert share_ready(found) == 0.999999


def test_states_that_are_not_ready_are_one_time_across_their_changes():
    unknown = State("Unknown", Severity.WARNING, is_ready=False)
    rows = Answers("f", "", "", ((at(10), BLOCKED), (at(20), unknown), (at(35), READY)))
    assert longest_not_ready(stretches(rows, period(60), [])) == Interval(at(10), at(35))


def test_a_lane_of_thousands_of_changes_shows_the_worst_of_each_step():
    changes = [(second, second % 2) for second in range(1, 20_001)]
    drawn = lane("f", stretches(answers(*changes), period(20_001), []), period(20_001))
    assert len(drawn.x) <= MOST_PARTS
    assert set(drawn.values) == {"Blocked"}
    assert len(drawn.x) == len(drawn.ends) == len(drawn.values) == len(drawn.levels)


@examples(100)
@given(st.lists(st.integers(0, 1000), min_size=1), st.sampled_from([1, 50, 99, 100]))
@example([7], 99)
@example(list(range(1, 101)), 99)
def test_a_percentile_is_the_least_value_that_so_many_are_not_above(values, percent):
    found = sorted(values)[rank_of(len(values), percent)]
    enough = [v for v in values if sum(w <= v for w in values) * 100 >= percent * len(values)]
    assert found == min(enough)


@examples(100)
@given(st.lists(st.integers(0, 199)), st.integers(1, 30))
@example([], 5)
@example([0, 199], 30)
def test_a_hole_is_what_no_sample_covers_for_longer_than_the_limit(moments, most):
    covers = [Interval(at(one), at(one + 5)) for one in sorted(moments)]
    found = holes(covers, Interval(at(0), at(200)), timedelta(seconds=most))
    bare = [all(not one <= second < one + 5 for one in moments) for second in range(200)]
    told = [any(gap.start <= at(second) < gap.end for gap in found) for second in range(200)]
    run = 0
    for second, is_bare in enumerate([*bare, False]):
        if is_bare:
            run += 1
            continue
        assert told[second - run : second] == [run > most] * run
        run = 0


def test_a_gap_is_shared_when_every_flow_has_it():
    first = [Interval(at(0), at(10)), Interval(at(50), at(70))]
    second = [Interval(at(5), at(60))]
    assert in_all([first, second]) == [Interval(at(5), at(10)), Interval(at(50), at(60))]
    assert in_all([]) == []


def test_what_is_covered_begins_and_ends_outside_of_gaps():
    whole = Interval(at(0), at(100))
    assert covered_by([Interval(at(0), at(10))], whole) == (at(10), at(100))
    assert covered_by([whole], whole) == (None, None)
    assert list(without(whole, [Interval(at(90), at(200))])) == [Interval(at(0), at(90))]


def test_of_many_gaps_the_longest_are_listed_in_the_order_of_time():
    gaps = [Interval(at(100 * n), at(100 * n + n + 1)) for n in range(25)]
    told = told_gaps(gaps, "why")
    assert len(told) == 21
    assert told[0].start == "2026-10-25T00:08:20.000Z"
    assert told[-1].why == "5 shorter gaps are not listed."
