"""The batch path takes partitions on and lets others go between two sessions."""

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.batches.copier import BatchCopier
from jobs.replication.copy.batches.filter import BatchFilter
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.contract import AssignmentChanges, CopyLimits, PartitionStart
from jobs.replication.flow.spec import FlowSpec

UNTOLD = ((60, 54), (65, 59))
FIRST = PartitionStart(
    "orders", 0, 70, "east.orders", 64, leader_epoch=2, last_sync=(69, 63), untold_syncs=UNTOLD
)
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def released():
    return []


@pytest.fixture
def changes(released):
    return AssignmentChanges(released.extend)


def copier_with(changes):
    """Return a copier that asks no cluster: it is never told to copy."""
    flow = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"))
    return BatchCopier(flow, 0, lambda: True, lambda _: None, lambda *_: None, changes)


@pytest.fixture
def copier(changes):
    return copier_with(changes)


def test_a_partition_is_taken_on_with_what_its_last_owner_knew(copier, changes):
    changes.add([FIRST])
    copier.apply_changes()
    (part,) = copier.parts
    assert part.where == ORDERS
    assert (part.committed, part.committed_epoch) == (70, 2)
    assert part.syncs.last == (69, 63)
    assert copier.unprepared == [part]


def test_a_partition_that_is_let_go_of_is_answered_with_what_is_committed(
    copier, changes, released
):
    changes.add([FIRST])
    copier.apply_changes()
    (part,) = copier.parts
    part.committed, part.fetched, part.committed_epoch = 90, 120, 4
    changes.remove([ORDERS])
    copier.apply_changes()
    assert copier.parts == []
    assert (released[0].position, released[0].leader_epoch) == (90, 4)


def test_a_partition_that_is_given_and_released_at_once_comes_back_unchanged(
    copier, changes, released
):
    changes.add([FIRST])
    changes.remove([ORDERS])
    copier.apply_changes()
    assert (copier.parts, copier.unprepared) == ([], [])
    assert released == [FIRST]


def test_who_does_not_have_a_partition_does_not_answer_for_it(copier, changes, released):
    changes.remove([ORDERS])
    copier.apply_changes()
    assert released == []


def test_without_changes_nothing_is_ever_asked_for():
    copier = copier_with(None)
    copier.apply_changes()
    assert copier.parts == []


def test_the_next_copier_begins_where_the_last_one_committed_with_all_its_notes():
    part = BatchPartition(FIRST, BatchFilter(1000))
    part.committed, part.committed_epoch, part.remote_end = 80, 3, 74
    assert part.next_start() == PartitionStart(
        "orders", 0, 80, "east.orders", 74, 3, (69, 63), UNTOLD
    )


def test_limit_and_priorities_are_those_that_are_asked_for_now(copier, changes):
    changes.tuning = CopyLimits(1000.0, {"orders": 2})
    copier.tune()
    logs = TopicPartition("logs", 0)
    assert copier.throttle.per_s == 1000.0
    assert copier.fetch_scheduler.choose([logs, ORDERS], [], 0.0) == [ORDERS, logs]
