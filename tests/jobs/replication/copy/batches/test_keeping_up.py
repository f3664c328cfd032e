"""A flow keeps up where, since the last commit, everything that the source had was sent once."""

import pytest

from jobs.replication.copy.batches.filter import BatchFilter, FilteredBatches
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.contract import PartitionStart
from tests.jobs.replication.copy.batches.logs import data


@pytest.fixture
def part():
    return BatchPartition(PartitionStart("orders", 0, 0, "east.orders"), BatchFilter(1_000_000))


def fetch(part, first, end_offset):
    """Take three records from an offset on, of a log that ends at `end_offset`."""
    part.receive(part.batch_filter.filter(memoryview(data(first)), first, ()))
    part.was_fetched(end_offset)


def commit(part):
    part.settle(part.reached)


def test_it_does_once_all_of_the_log_is_sent(part):
    fetch(part, 0, end_offset=3)
    assert not part.keeps_up
    part.pick()
    assert part.keeps_up


def test_it_does_not_while_the_source_has_more(part):
    fetch(part, 0, end_offset=6)
    part.pick()
    assert not part.keeps_up


def test_it_still_does_when_more_came_after_that(part):
    fetch(part, 0, end_offset=3)
    part.pick()
    fetch(part, 3, end_offset=9)
    assert part.keeps_up


def test_what_was_before_the_last_commit_does_not_count(part):
    fetch(part, 0, end_offset=3)
    part.pick()
    fetch(part, 3, end_offset=9)
    commit(part)
    assert not part.keeps_up


def test_a_log_of_which_nothing_is_copied_is_kept_up_with(part):
    part.receive(FilteredBatches([], 4, -1, None))
    part.was_fetched(4)
    assert part.keeps_up


def test_who_begins_again_has_to_show_it_again(part):
    fetch(part, 0, end_offset=3)
    part.pick()
    part.begin()
    assert not part.keeps_up


def test_a_log_whose_end_is_not_told_is_not_kept_up_with(part):
    fetch(part, 0, end_offset=None)
    part.pick()
    assert not part.keeps_up


def test_what_was_committed_and_not_told_is_to_be_committed_when_it_has_waited(part):
    part.settle(Reached(0, -1))
    part.syncs.last = (9, 54)
    part.syncs.tell(0.0)
    part.settle(Reached(0, -1))
    part.syncs.last = (10, 55)
    part.syncs.tell(100.0)
    part.settle(Reached(0, -1))
    assert not part.has_to_commit(102.0)
    assert part.has_to_commit(103.0)
    assert part.has_to_commit(100.0, is_last=True)
    part.fail("somebody has to look")
    assert not part.has_to_commit(103.0)
