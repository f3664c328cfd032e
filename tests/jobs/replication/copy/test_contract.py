"""Requests to a copier while it runs."""

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import AssignmentChanges, PartitionStart

ORDERS = TopicPartition("orders", 3)
START = PartitionStart("orders", 3, 70, "east.orders")


def test_what_is_asked_for_is_taken_once_and_in_order():
    changes = AssignmentChanges(print)
    changes.add([START])
    changes.remove([ORDERS])
    assert changes.is_waiting
    assert changes.take() == [START, ORDERS]
    assert (changes.is_waiting, changes.take()) == (False, [])


def test_an_answer_reaches_its_caller_and_no_answer_is_no_message():
    heard = []
    changes = AssignmentChanges(heard.append)
    changes.release([])
    changes.release([START])
    assert heard == [[START]]


def test_a_copier_that_listens_looks_at_every_request_and_at_a_stop():
    woken = []
    changes = AssignmentChanges(print)
    changes.listen(lambda: woken.append(changes.is_waiting))
    changes.wake()
    changes.add([START])
    changes.take()
    changes.remove([ORDERS])
    assert woken == [False, True, True]
