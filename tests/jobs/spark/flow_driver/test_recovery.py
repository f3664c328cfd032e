"""Where the partitions of a lost task go on."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.positions import Position, Positions
from jobs.spark.flow_driver.recovery import PositionsBehind, find_starts

WHERE = TopicPartition("t", 0)
GIVEN = PartitionStart("t", 0, 10, "east.t", last_sync=(9, 4))


def positions(next_offset: int) -> Positions:
    return Positions({WHERE: Position(next_offset, b"key", remote_end=7)})


def test_a_partition_goes_on_at_the_position_on_the_target():
    (start,) = find_starts([GIVEN], {}, lambda: positions(50))
    assert (start.position, start.remote_end) == (50, 7)


def test_a_partition_that_was_never_committed_goes_on_where_it_was_given():
    assert find_starts([GIVEN], {}, lambda: Positions({})) == [GIVEN]


def test_positions_are_read_again_until_they_have_reached_what_the_task_said():
    answers = iter([positions(10), positions(30), positions(50)])
    (start,) = find_starts([GIVEN], {WHERE: 50}, lambda: next(answers))
    assert start.position == 50


def test_positions_that_stay_behind_are_not_believed():
    with pytest.raises(PositionsBehind, match="committed up to 50"):
        find_starts([GIVEN], {WHERE: 50}, lambda: positions(30), patience_s=0.0)
