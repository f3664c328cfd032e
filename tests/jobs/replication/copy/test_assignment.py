"""What is asked of a copier while it runs."""

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.assignment import AssignmentChanges, RevokedPartition, revoked_at
from jobs.replication.copy.contract import PartitionStart

ORDERS = TopicPartition("orders", 3)
UNTOLD = ((60, 54), (65, 59))
START = PartitionStart(
    "orders", 3, 70, "east.orders", 64, leader_epoch=2, last_sync=(69, 63), untold_syncs=UNTOLD
)


def test_what_is_asked_for_is_taken_once_and_in_order():
    changes = AssignmentChanges(print)
    changes.add([START])
    changes.remove([ORDERS])
    assert changes.is_waiting
    assert changes.take() == [START, ORDERS]
    assert (changes.is_waiting, changes.take()) == (False, [])


def test_an_answer_reaches_whoever_asked_and_no_answer_is_no_message():
    heard = []
    changes = AssignmentChanges(heard.append)
    changes.release([])
    changes.release([RevokedPartition(*ORDERS, 80)])
    assert heard == [[RevokedPartition(*ORDERS, 80)]]


def test_whoever_goes_on_begins_where_the_last_one_committed_with_all_its_notes():
    start = RevokedPartition(
        *ORDERS, 80, remote_end=74, leader_epoch=3, last_sync=(79, 73), untold_syncs=UNTOLD
    ).start_of(START)
    assert start == PartitionStart("orders", 3, 80, "east.orders", 74, 3, (79, 73), UNTOLD)


def test_a_partition_that_was_not_even_begun_is_given_back_as_it_came():
    assert revoked_at(START).start_of(START) == START
