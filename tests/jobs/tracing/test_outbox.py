"""Rules of an outbox beside a naive count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tracing import outbox
from jobs.tracing.extractors.columns import ABSENT
from jobs.tracing.outbox import IN_FLIGHT_MS, Horizon, Transaction

HOUR = 3_600_000
events = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 9)), max_size=80)


def columns(rows):
    return (np.array([row[n] for row in rows], np.int64) for n in range(3))


@settings(deadline=None)
@given(events)
def test_gaps_are_the_numbers_between_the_lowest_and_the_highest_that_nothing_has(rows):
    scopes, numbers, times = columns(rows)
    found = {
        (int(scopes[a]), number)
        for a, b in zip(*outbox.gaps(scopes, numbers, times), strict=True)
        for number in range(int(numbers[a]) + 1, int(numbers[b]))
    }
    seen = {}
    for scope, number, _ in rows:
        seen.setdefault(scope, set()).add(number)
    assert found == {
        (scope, n)
        for scope, have in seen.items()
        for n in range(min(have), max(have))
        if n not in have
    }


@settings(deadline=None)
@given(events)
def test_repeated_ids_have_their_two_oldest_records_and_a_count(rows):
    ids, _, times = columns([(one[1] % 7, 0, one[2]) for one in rows])
    naive = {}
    for index, one in enumerate(ids.tolist()):
        naive.setdefault(one, []).append(index)
    naive.pop(0, None)
    wanted = {
        one: [*sorted(found, key=lambda n: times[n])[:2], len(found)]
        for one, found in naive.items()
        if len(found) > 1
    }
    found = zip(*outbox.repeated(ids, times), strict=True)
    assert {int(ids[a]): [a, b, count] for a, b, count in found} == wanted


def test_a_gap_across_all_numbers_is_found():
    numbers = np.array([-(2**62), 2**62 + 5], np.int64)
    before, after = outbox.gaps(np.zeros(2, np.int64), numbers, np.zeros(2, np.int64))
    assert (before.tolist(), after.tolist()) == ([0], [1])


@pytest.mark.parametrize(
    ("time", "committed", "appended", "wanted"),
    [
        pytest.param(1_500, 1_000, 0, ([500], 0, 0), id="a producer's time"),
        pytest.param(1_000, 1_000, 0, ([], 0, 1), id="a time copied from the commit"),
        pytest.param(1_000, 1_000, 1, ([0], 0, 0), id="appended in the same millisecond"),
        pytest.param(900, 1_000, 1, ([], 1, 0), id="clock skew"),
        pytest.param(1_500, ABSENT, 1, ([], 0, 1), id="no commit time"),
        pytest.param(-1, 1_000, 0, ([], 0, 1), id="no record time"),
    ],
)
def test_a_delay_is_measured_or_said_to_be_unknown(time, committed, appended, wanted):
    found = outbox.delays(*(np.array([one], np.int64) for one in (time, committed, appended)))
    assert (found.values.tolist(), found.negative, found.unmeasured) == wanted


@settings(deadline=None)
@given(st.lists(st.integers(0, 1_000), min_size=1))
def test_a_percentile_is_the_smallest_value_that_enough_values_do_not_exceed(values):
    found = outbox.spread(np.array(values, np.int64))
    for share, one in zip(outbox.SHARES, found, strict=True):
        enough = [v for v in values if sum(w <= v for w in values) * 100 >= share * len(values)]
        assert one == min(enough)


@pytest.mark.parametrize(
    ("horizon", "before", "after", "wanted"),
    [
        pytest.param(Horizon(None, HOUR), 0, 1, "", id="whole logs"),
        pytest.param(Horizon(10, HOUR), 10, 20, "before_range", id="may have been removed"),
        pytest.param(Horizon(10, HOUR), 11, 20, "before_range", id="just after the beginning"),
        pytest.param(Horizon(10, HOUR), 11 + IN_FLIGHT_MS, 12 + IN_FLIGHT_MS, "", id="later"),
        pytest.param(Horizon(None, HOUR), 0, HOUR - IN_FLIGHT_MS + 1, "in_flight", id="in flight"),
        pytest.param(Horizon(None, HOUR, "compacted"), 0, 1, "compacted", id="compacted"),
    ],
)
def test_what_is_missing_is_judged_only_inside_of_the_horizon(horizon, before, after, wanted):
    assert horizon.unjudged(before, after) == wanted


PLACE = ("tx", 0, 0)


@pytest.mark.parametrize(
    ("transaction", "seen", "wanted"),
    [
        pytest.param(Transaction(PLACE, 5, 9, 4, [("a", 2)]), 2, [], id="whole"),
        pytest.param(Transaction(PLACE, 5, 9, 4, [("a", 2)]), 3, [], id="more than expected"),
        pytest.param(
            Transaction(PLACE, 5, 9, 4, [("a", 2)]), 1, [("incomplete", "")], id="missing"
        ),
        pytest.param(Transaction(PLACE, 5, None, 4), 0, [("open", "")], id="open"),
        pytest.param(
            Transaction(PLACE, None, 9, 4, [("a", 2)]),
            1,
            [("unknown", "before_range")],
            id="no BEGIN",
        ),
        pytest.param(
            Transaction(PLACE, 5, 9, 4, [("b", 1)]), 0, [("unknown", "not_read")], id="not read"
        ),
        pytest.param(
            Transaction(PLACE, 5, HOUR, 4, [("a", 2)]),
            1,
            [("unknown", "in_flight")],
            id="in flight",
        ),
    ],
)
def test_a_transaction_is_judged_by_the_events_of_its_collections(transaction, seen, wanted):
    horizon = Horizon(None, HOUR)
    found = outbox.not_whole(
        {1: transaction}, {(1, "a"): seen}, horizon, {"a": horizon}, is_open_end=True
    )
    assert [(one.state, one.reason) for one in found] == wanted


@pytest.mark.parametrize(
    ("newest", "bounds", "wanted"),
    [
        pytest.param([100, 80], [], 79, id="the oldest input"),
        pytest.param([100, 80], [50], 49, id="a gap"),
        pytest.param([100, None], [], None, id="an idle input"),
        pytest.param([100], [None], None, id="a gap without a time"),
        pytest.param([], [], None, id="no input"),
    ],
)
def test_complete_up_to_is_before_all_that_is_missing(newest, bounds, wanted):
    assert outbox.complete_up_to(newest, bounds) == wanted
