"""Which partitions an end may have missed, and for how long they are waited for."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.batches.markers import LeaderSnapshot
from jobs.replication.copy.batches.transactions import GONE_S, UnfinishedTransaction

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.mark.parametrize(
    ("before", "after", "missed"),
    [
        pytest.param(
            LeaderSnapshot(1, {A: 5, B: 7}),
            LeaderSnapshot(1, {A: 5, B: 7}),
            set(),
            id="nothing moved",
        ),
        pytest.param(
            LeaderSnapshot(1, {A: 5, B: 7}),
            LeaderSnapshot(1, {A: 7, B: 7}),
            {A},
            id="away and back",
        ),
        pytest.param(
            LeaderSnapshot(1, {A: 5, B: 7}),
            LeaderSnapshot(1, {A: 5, B: None}),
            {B},
            id="without a leader",
        ),
        pytest.param(
            LeaderSnapshot(1, {A: 5, B: 7}),
            LeaderSnapshot(2, {A: 5, B: 7}),
            {A, B},
            id="another coordinator",
        ),
        pytest.param(None, LeaderSnapshot(1, {A: 5, B: 7}), {A, B}, id="nothing known before"),
        pytest.param(
            LeaderSnapshot(1, {A: 5}),
            LeaderSnapshot(1, {A: 5, B: 7}),
            {B},
            id="not asked about before",
        ),
        pytest.param(
            LeaderSnapshot(1, {A: 5, B: 7}),
            LeaderSnapshot(1, {B: 7}),
            set(),
            id="asked about one only",
        ),
    ],
)
def test_who_may_have_been_missed(before, after, missed):
    assert after.missed_since(before) == missed


@pytest.mark.parametrize(
    ("partitions", "all_led"),
    [
        pytest.param({A}, True, id="led"),
        pytest.param({A, B}, False, id="one without a leader"),
        pytest.param({A, TopicPartition("orders", 2)}, False, id="one that is not known"),
    ],
)
def test_leaders_are_known_only_where_every_partition_had_one(partitions, all_led):
    assert LeaderSnapshot(1, {A: 5, B: None}).leads_all(partitions) == all_led


def test_a_partition_that_stays_unknown_is_not_waited_for():
    left = UnfinishedTransaction({A, B})
    left.forget_gone([A], 100.0)
    assert left.partitions == {A, B}
    left.forget_gone([A], 100.0 + GONE_S)
    assert left.partitions == {B}
    left.add([A])
    assert left.partitions == {B}


def test_a_partition_that_is_known_again_is_waited_for():
    left = UnfinishedTransaction({A, B})
    left.forget_gone([A], 100.0)
    left.forget_gone([], 110.0)
    left.forget_gone([A], 100.0 + GONE_S)
    assert left.partitions == {A, B}
