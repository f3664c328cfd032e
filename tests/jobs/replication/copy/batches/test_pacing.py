"""When a session commits while the flow keeps up."""

import pytest

from jobs.replication.copy.batches.session import (
    COMMIT_TIMES,
    LATEST_SHARE,
    MARKER_S,
    SOONEST_SHARE,
    soonest_commit_s,
)


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
