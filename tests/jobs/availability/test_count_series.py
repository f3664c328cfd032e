"""Counts per step: the worst moment of each."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.count_series import Held, peak_counts
from jobs.availability.severity import Severity

BAD = [one for one in Severity if one]


def test_two_partitions_that_are_offline_at_once_count_two_in_that_step_only():
    found = peak_counts([Held(Severity.OFFLINE, 5, 25), Held(Severity.OFFLINE, 12, 14)], 0, 40, 10)
    assert [one.get(Severity.OFFLINE, 0) for one in found] == [1, 2, 1, 0]


def test_a_stretch_that_ends_as_another_begins_is_not_counted_twice():
    found = peak_counts([Held(Severity.OFFLINE, 0, 5), Held(Severity.OFFLINE, 5, None)], 0, 20, 10)
    assert [one[Severity.OFFLINE] for one in found] == [1, 1]


def test_what_lasted_no_time_is_still_seen():
    found = peak_counts([Held(Severity.OFFLINE, 15, 15)], 0, 30, 10)
    assert [one.get(Severity.OFFLINE, 0) for one in found] == [0, 1, 0]


stretches = st.lists(
    st.builds(
        lambda severity, start, length: Held(
            severity, start, None if length is None else start + length
        ),
        st.sampled_from(BAD),
        st.integers(-30, 90),
        st.none() | st.integers(0, 60),
    ),
    max_size=12,
)


def is_there(one: Held, at: float) -> bool:
    if one.end == one.start:
        return at == one.start
    return one.start <= at and (one.end is None or at < one.end)


@given(stretches)
def test_peaks_are_those_of_looking_at_every_moment(found):
    """All times are whole seconds, so that a look per second misses nothing."""
    expected = []
    for begin in range(0, 80, 20):
        most: Counter[Severity] = Counter()
        for at in range(begin, begin + 20):
            most |= Counter(one.severity for one in found if is_there(one, at))
        expected.append(dict(most))
    assert peak_counts(found, 0, 80, 20) == expected
