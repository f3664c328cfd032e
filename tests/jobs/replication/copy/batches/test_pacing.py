"""When a session commits while the flow keeps up."""

import pytest

from jobs.replication.copy.batches.commit import (
    COMMIT_TIMES,
    GATHER_S,
    LATEST_SHARE,
    LONGEST_GAP_S,
    MARKER_S,
    SOONEST_SHARE,
    WORTH_RECORDS,
    CommitPace,
    soonest_commit_s,
)

INTERVAL_S = 5.0


class Flow:
    """A flow with a clock of its own, which commits as often as its pace says."""

    def __init__(self, per_s: float, *, readers_wait: bool = True) -> None:
        self.now_s = 100.0
        self.per_s = per_s
        self.pace = CommitPace(INTERVAL_S, readers_wait=readers_wait, clock=lambda: self.now_s)

    def run(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            passed_s = self.pace.gap_s or 0.03
            self.now_s += passed_s
            self.pace.committed(round(passed_s * self.per_s), 0.01)

    def due_in_s(self, *, after_s: float, keeps_up: bool = True) -> float:
        """Of three partitions of which the first got something at once, so long after the last commit."""
        dirty_since = self.now_s
        self.now_s += after_s
        return self.pace.due_in_s(dirty_since, 3, keeps_up=keeps_up)


def test_a_quick_commit_of_few_partitions_is_followed_soon_by_the_next_one():
    assert soonest_commit_s(1.0, 0.001, 2) == SOONEST_SHARE


def test_who_wants_fewer_commits_gets_fewer_then_too():
    assert soonest_commit_s(60.0, 0.001, 2) == pytest.approx(60 * SOONEST_SHARE)


def test_a_slow_commit_is_followed_later():
    assert soonest_commit_s(1.0, 0.2, 2) == pytest.approx(0.2 * COMMIT_TIMES)


def test_many_partitions_to_be_marked_are_marked_less_often():
    assert soonest_commit_s(1.0, 0.001, 50) == pytest.approx(50 * MARKER_S)


@pytest.mark.parametrize(("last_s", "partitions"), [(30.0, 1), (0.001, 100_000)])
def test_it_never_waits_longer_than_a_share_of_the_interval(last_s, partitions):
    assert soonest_commit_s(1.0, last_s, partitions) == LATEST_SHARE


@pytest.mark.parametrize(
    ("per_s", "gap_s"),
    [(1, LONGEST_GAP_S), (400, WORTH_RECORDS / 400), (1_000, 0), (100_000, 0)],
    ids=["one a second", "four hundred", "a thousand", "many"],
)
def test_the_gap_is_as_long_as_the_records_need_that_a_commit_is_worth(per_s, gap_s):
    flow = Flow(per_s)
    flow.run(10)
    assert flow.pace.gap_s == pytest.approx(gap_s, rel=0.2)


def test_before_the_first_commit_nothing_is_waited_for_but_other_brokers_answers():
    assert Flow(1).due_in_s(after_s=GATHER_S) == pytest.approx(0.0)


def test_a_record_that_comes_right_after_a_commit_waits_for_the_rest_of_the_gap():
    flow = Flow(10)
    flow.run(10)
    assert flow.due_in_s(after_s=0.05) == pytest.approx(LONGEST_GAP_S - 0.05)


def test_a_record_that_comes_long_after_the_last_commit_is_committed_at_once():
    flow = Flow(10)
    flow.run(10)
    flow.now_s += 60
    assert flow.due_in_s(after_s=GATHER_S) == pytest.approx(0.0)


def test_a_flow_that_carries_a_thousand_records_a_second_commits_as_soon_as_it_may():
    flow = Flow(1_000)
    flow.run(10)
    assert flow.due_in_s(after_s=0.01) == pytest.approx(INTERVAL_S * SOONEST_SHARE - 0.01)


def test_under_a_backlog_the_interval_counts():
    flow = Flow(10)
    flow.run(10)
    assert flow.due_in_s(after_s=1.0, keeps_up=False) == pytest.approx(INTERVAL_S - 1.0)


def test_where_no_reader_waits_for_commits_they_come_after_a_share_of_the_interval():
    flow = Flow(10, readers_wait=False)
    flow.run(10)
    assert flow.pace.gap_s == 0
    assert flow.due_in_s(after_s=0.5) == pytest.approx(LATEST_SHARE * INTERVAL_S - 0.5)
