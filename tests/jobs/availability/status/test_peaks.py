"""Steps of counts as changes come in: the same peaks as from the stretches."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.status.peaks import SAMPLED, StepPeaks
from jobs.availability.status.tally import WHOLE, Counts, ScopeKind

OFFLINE = SAMPLED.index("offline")


def told(steps, scope=WHOLE):
    return {step.at_s: step.peak[OFFLINE] for step in steps if step.scope == scope}


def run(changes, end, *, oldest=0, at_s=None, known=None):
    """Take in (second, how many are offline from then on)."""
    counts = {WHOLE: Counts()}
    peaks, found = StepPeaks(10, at_s, oldest, known or {}), []
    for second, offline in changes:
        found += peaks.reach(second, lambda: counts)
        counts[WHOLE].offline = offline
        peaks.note(WHOLE, counts[WHOLE])
    found += peaks.reach(end, lambda: counts)
    found += peaks.current()
    return told(found)


def test_a_step_tells_its_worst_moment_and_the_next_what_is_left():
    assert run([(3, 2), (7, 1)], 25) == {0: 2, 10: 1, 20: 1}


def test_what_came_before_the_oldest_step_is_only_the_begin():
    assert run([(3, 2), (7, 1)], 45, oldest=30) == {30: 1, 40: 1}


def test_a_step_that_was_written_before_keeps_its_peak():
    known = {WHOLE: (0, 0, 0, 7, 0, 0)}
    assert run([(12, 2)], 22, at_s=10, known=known) == {10: 7, 20: 2}


def test_brokers_are_told_where_there_is_something_and_topics_never():
    counts = {
        WHOLE: Counts(offline=1),
        (ScopeKind.BROKER, "1"): Counts(offline=1),
        (ScopeKind.BROKER, "2"): Counts(partitions=3),
        (ScopeKind.TOPIC, "orders"): Counts(offline=1),
    }
    peaks = StepPeaks(10, None, 0, {})
    steps = [*peaks.reach(5, lambda: counts), *peaks.current()]
    assert {step.scope for step in steps} == {WHOLE, (ScopeKind.BROKER, "1")}


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=12))
def test_each_step_is_the_largest_count_that_held_in_it(changes):
    changes = sorted(changes, key=lambda one: one[0])
    begin = changes[0][0] - changes[0][0] % 10 if changes else 100
    found = run(changes, 105)
    for step in range(begin, 110, 10):
        before = [count for second, count in changes if second < step][-1:]
        inside = [count for second, count in changes if step <= second < step + 10]
        assert found[step] == max([*before, *inside, 0])
