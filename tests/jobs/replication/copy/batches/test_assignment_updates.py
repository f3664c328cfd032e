"""The batch path takes partitions on and lets others go between two sessions."""

import time

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.assignment import AssignmentChanges, CopyLimits
from jobs.replication.copy.batches.assignment_updates import AssignmentUpdates
from jobs.replication.copy.batches.batch_filter import BatchFilter
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.throttle import Throttle
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.fetch_scheduler import FetchScheduler

FIRST = PartitionStart("orders", 0, 70, "east.orders", leader_epoch=2, last_sync=(69, 63))
ORDERS = TopicPartition("orders", 0)


def make(start):
    return BatchPartition(start, BatchFilter(1000))


@pytest.fixture
def released():
    return []


@pytest.fixture
def changes(released):
    return AssignmentChanges(released.extend)


@pytest.fixture
def parts():
    return []


@pytest.fixture
def changing(parts, changes):
    return AssignmentUpdates(parts, changes, make)


def test_a_partition_is_taken_on_with_what_its_last_owner_knew(changing, changes, parts):
    changes.add([FIRST])
    changing.apply()
    assert [part.where for part in parts] == [ORDERS]
    assert (parts[0].committed, parts[0].committed_epoch) == (70, 2)
    assert parts[0].syncs.last == (69, 63)
    assert changing.unprepared == parts


def test_a_partition_that_is_let_go_of_is_answered_with_what_is_committed(
    changing, changes, parts, released
):
    parts.append(make(FIRST))
    parts[0].committed, parts[0].fetched, parts[0].committed_epoch = 90, 120, 4
    changes.remove([ORDERS])
    assert changing.apply() == [ORDERS]
    assert parts == []
    assert (released[0].position, released[0].leader_epoch) == (90, 4)


def test_a_partition_that_is_given_and_taken_back_at_once_comes_back_unchanged(
    changing, changes, parts, released
):
    changes.add([FIRST])
    changes.remove([ORDERS])
    changing.apply()
    assert (parts, changing.unprepared) == ([], [])
    assert released[0].start_of(FIRST).position == FIRST.position


def test_who_does_not_have_a_partition_does_not_answer_for_it(changing, changes, released):
    changes.remove([ORDERS])
    assert (changing.apply(), released) == ([], [])


def test_without_changes_nothing_is_ever_asked_for(parts):
    changing = AssignmentUpdates(parts, None, make)
    assert (changing.is_waiting, changing.may_come, changing.apply()) == (False, False, [])


def test_limit_and_priorities_are_those_that_are_asked_for_now(changing, changes):
    throttle, turns = Throttle(5.0, time.monotonic), FetchScheduler()
    changes.tuning = CopyLimits(1000.0, {"orders": 2})
    changing.tune(throttle, turns)
    logs = TopicPartition("logs", 0)
    assert throttle.per_s == 1000.0
    assert turns.choose([logs, ORDERS], [], 0.0) == [ORDERS, logs]
