"""What librdkafka says of consumers and producers, and the fault that it means."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from jobs.cluster.errors import (
    AuthenticationFailed,
    NotAuthorized,
    RecordTooLarge,
    Refused,
    TimedOut,
    UnknownTopicOrPartition,
)
from jobs.cluster.librdkafka_errors import error_in, fault_of, sentence_of
from jobs.cluster.protocol.errors import AnswerFault, LeaderMoved


def nothing_known() -> None:
    return None


@pytest.mark.parametrize(
    ("code", "kind", "retriable"),
    [
        pytest.param(KafkaError._TIMED_OUT, TimedOut, True, id="time"),
        pytest.param(KafkaError._PARTIAL, TimedOut, True, id="no-live-broker"),
        pytest.param(KafkaError.REQUEST_TIMED_OUT, AnswerFault, True, id="broker-time"),
        pytest.param(KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorized, False, id="topic-acl"),
        pytest.param(KafkaError.GROUP_AUTHORIZATION_FAILED, NotAuthorized, False, id="group-acl"),
        pytest.param(
            KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopicOrPartition, True, id="unknown-topic"
        ),
        pytest.param(KafkaError._UNKNOWN_PARTITION, UnknownTopicOrPartition, False, id="partition"),
        pytest.param(KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLarge, False, id="size"),
        pytest.param(KafkaError.LEADER_NOT_AVAILABLE, LeaderMoved, True, id="no-leader-now"),
        pytest.param(KafkaError.INVALID_REPLICATION_FACTOR, Refused, False, id="no"),
    ],
)
def test_an_error_number_has_a_name_and_says_whether_to_try_again(code, kind, retriable):
    fault = fault_of(KafkaError(code), cluster="east", doing="Asking", why=nothing_known)
    assert isinstance(fault, kind)
    assert fault.retriable is retriable


def test_a_timeout_tells_what_is_wrong_with_the_way_to_the_cluster():
    known = AuthenticationFailed("It refused the user name.", cluster="east")
    error = KafkaError(KafkaError._TIMED_OUT)
    assert fault_of(error, cluster="east", doing="Asking", why=lambda: known) is known


def test_a_sentence_carries_the_words_and_the_name_of_an_error():
    error = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    assert sentence_of(error) == "Leader not available (LEADER_NOT_AVAILABLE)"


@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(KafkaError(KafkaError._FAIL), id="bare"),
        pytest.param(KafkaException(KafkaError(KafkaError._FAIL)), id="inside-an-exception"),
    ],
)
def test_the_error_is_found_in_whatever_was_raised(raised):
    assert error_in(raised).name() == "_FAIL"


def test_an_exception_without_an_error_inside_becomes_one():
    assert "unknown state" in error_in(KafkaException("unknown state")).str()
