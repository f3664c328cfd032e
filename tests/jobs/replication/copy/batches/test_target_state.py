"""After a commit of which it is unknown whether it counts, the position on the target decides."""

import numpy as np
import pytest

from jobs.replication.copy.batches.filter import BatchFilter
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.target_state import PositionsMoved, settle_uncertain
from jobs.replication.copy.contract import PartitionStart

START = PartitionStart("orders", 0, 70, "east.orders", last_sync=(69, 69))


@pytest.fixture
def part():
    """Records 70 to 79 are copied and committed, and that they moved by a marker is not written yet."""
    part = BatchPartition(START, BatchFilter(1000))
    part.syncs.tell(0.0)
    part.syncs.commit()
    part.syncs.copied(np.array([(70, 71)], np.int64), (79, 80))
    part.fetched = 80
    part.syncs.tell(0.0)
    part.settle(part.reached)
    assert part.syncs.owes(0.0, at_once=True)
    return part


def due_after(part, next_offset):
    settle_uncertain(part, part.reached, next_offset, "west")
    part.begin()
    return part.syncs.due().tolist()


def test_offset_syncs_of_a_commit_that_moved_no_position_are_told_once_more(part):
    """The position is the same whether that commit counts or not."""
    part.syncs.tell(0.0, at_once=True)
    assert due_after(part, 80) == [[69, 69], [70, 71], [79, 80]]


def test_a_commit_counts_whose_position_is_on_the_target(part):
    part.fetched = 85
    part.syncs.tell(0.0, at_once=True)
    assert due_after(part, 85) == [[79, 80]]
    assert part.committed == 85


def test_a_commit_whose_position_is_not_on_the_target_is_lost_with_its_offset_syncs(part):
    part.fetched = 85
    part.syncs.tell(0.0, at_once=True)
    assert due_after(part, 80) == [[69, 69], [70, 71], [79, 80]]
    assert part.committed == 80


def test_a_position_that_no_commit_of_this_copier_wrote_stops_it(part):
    with pytest.raises(PositionsMoved, match="but its position says 99"):
        settle_uncertain(part, Reached(85, -1), 99, "west")
