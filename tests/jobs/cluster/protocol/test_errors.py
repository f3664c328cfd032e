"""Kafka's error numbers become named faults that say what, where, and what to do next."""

import pytest
from kio.schema.errors import ErrorCode

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import NotAuthorized, RecordTooLarge, TimedOut, UnknownTopicOrPartition
from jobs.cluster.protocol.errors import (
    AnswerFault,
    ConnectionLost,
    CoordinatorMoved,
    FaultKind,
    LeaderMoved,
    NotABroker,
    OffsetOutOfRange,
    OutOfSequence,
    ProducerFenced,
    TopicIdUnknown,
    TransactionFailed,
    VersionNotOffered,
    VersionRefused,
    Where,
    answer_fault,
    kind_of,
)

WHERE = Where("east", 3, "Fetching", TopicPartition("orders", 7), 42)


@pytest.mark.parametrize(
    ("number", "kind", "is_retriable"),
    [
        pytest.param(6, FaultKind.REFRESH_METADATA, True, id="not the leader"),
        pytest.param(74, FaultKind.REFRESH_METADATA, True, id="an older leader epoch"),
        pytest.param(75, FaultKind.REFRESH_METADATA, True, id="a newer leader epoch"),
        pytest.param(1, FaultKind.RESET_POSITION, False, id="outside of the log"),
        pytest.param(3, FaultKind.TOPIC_CHANGED, True, id="an unknown topic"),
        pytest.param(100, FaultKind.TOPIC_CHANGED, True, id="an unknown topic id"),
        pytest.param(2, FaultKind.BATCH_REFUSED, False, id="a damaged batch"),
        pytest.param(10, FaultKind.BATCH_REFUSED, False, id="a batch too large"),
        pytest.param(87, FaultKind.BATCH_REFUSED, False, id="an invalid record"),
        pytest.param(15, FaultKind.FIND_COORDINATOR, True, id="no coordinator"),
        pytest.param(16, FaultKind.FIND_COORDINATOR, True, id="another coordinator"),
        pytest.param(51, FaultKind.RETRY, True, id="a transaction that still ends"),
        pytest.param(19, FaultKind.RETRY, True, id="too few replicas"),
        pytest.param(45, FaultKind.NEW_TRANSACTION, False, id="out of sequence"),
        pytest.param(48, FaultKind.NEW_TRANSACTION, False, id="no transaction"),
        pytest.param(120, FaultKind.NEW_TRANSACTION, False, id="an abortable transaction"),
        pytest.param(47, FaultKind.FENCED, False, id="an older epoch"),
        pytest.param(90, FaultKind.FENCED, False, id="a newer producer"),
        pytest.param(29, FaultKind.DENIED, False, id="no right on the topic"),
        pytest.param(53, FaultKind.DENIED, False, id="no right on the transactional id"),
        pytest.param(42, FaultKind.FAILED, False, id="a request that is wrong"),
        pytest.param(35, FaultKind.FAILED, False, id="a version that was offered"),
        pytest.param(13, FaultKind.RETRY, True, id="the network"),
        pytest.param(70, FaultKind.RETRY, True, id="retriable without a name of its own"),
        pytest.param(999, FaultKind.FAILED, False, id="an unknown number"),
    ],
)
def test_an_error_number_says_what_to_do_next(number, kind, is_retriable):
    fault = answer_fault(number, WHERE)
    assert (kind_of(fault), fault.retriable) == (kind, is_retriable)


@pytest.mark.parametrize(
    ("number", "named"),
    [
        (1, OffsetOutOfRange),
        (6, LeaderMoved),
        (16, CoordinatorMoved),
        (35, VersionRefused),
        (45, OutOfSequence),
        (48, TransactionFailed),
        (90, ProducerFenced),
        (100, TopicIdUnknown),
        (3, UnknownTopicOrPartition),
        (18, RecordTooLarge),
        (30, NotAuthorized),
    ],
)
def test_an_error_number_has_a_name(number, named):
    assert isinstance(answer_fault(number, WHERE), named)


def test_no_error_is_no_fault():
    assert answer_fault(0, WHERE) is None


def test_a_fault_says_what_and_where():
    fault = answer_fault(6, WHERE)
    assert str(fault) == (
        "east: Fetching orders-7 from offset 42 at broker 3: the partition is led by another broker, "
        "or in another epoch (NOT_LEADER_OR_FOLLOWER)."
    )
    assert fault.error == "NOT_LEADER_OR_FOLLOWER"


def test_the_brokers_own_words_are_told():
    assert "(INVALID_RECORD: no key)." in answer_fault(87, WHERE, "no key.").message


@pytest.mark.parametrize("error", [e for e in ErrorCode if e.value], ids=lambda e: e.name)
def test_every_error_of_kafka_is_named_and_has_a_hint(error):
    fault = answer_fault(error.value, WHERE)
    assert isinstance(fault, AnswerFault)
    assert fault.error == error.name.upper()
    assert (fault.error in fault.message) is not isinstance(fault, NotABroker)
    assert fault.hint


def test_faults_without_a_kind_are_tried_again_or_final():
    assert kind_of(ConnectionLost("x", cluster="east")) is FaultKind.RETRY
    assert kind_of(TimedOut("x", cluster="east")) is FaultKind.RETRY
    assert kind_of(NotAuthorized("x", cluster="east")) is FaultKind.FAILED


@pytest.mark.parametrize("number", [114, 115])
def test_the_listener_of_a_controller_is_told_at_the_bootstrap_servers(number):
    fault = answer_fault(number, WHERE)
    assert "this is a controller listener, not a broker listener." in str(fault)
    assert fault.field == "bootstrap_servers"


def test_a_broker_that_refuses_a_version_that_it_offers_is_final():
    fault = answer_fault(35, WHERE)
    assert isinstance(fault, VersionNotOffered)
    assert fault.is_final
    assert "refuses a version of a request that it offers" in fault.message
    assert "proxy" in fault.hint
