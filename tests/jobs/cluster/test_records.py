"""What the client library says about records, in words of ours."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.records import is_aftermath, is_record_refused, refusal_in

TEXT = (
    "ProduceRequest for east.orders [3] with 284 message(s) failed: Broker: Invalid timestamp "
    "(broker 1 PID{Id:6,Epoch:0}, base seq 2272): unable to satisfy gap-less guarantee"
)


def fatal(text):
    return KafkaException(KafkaError(KafkaError._GAPLESS_GUARANTEE, text, fatal=True))


def test_a_refused_batch_is_found_in_the_fatal_error():
    where, error = refusal_in(fatal(TEXT))
    assert where == TopicPartition("east.orders", 3)
    assert error.name() == "INVALID_TIMESTAMP"
    assert is_record_refused(error)


def test_a_refused_batch_is_found_behind_a_callback_that_could_not_run():
    crash = SystemError("returned a result with an exception set")
    crash.__cause__ = fatal(TEXT)
    where, _ = refusal_in(crash)
    assert where == TopicPartition("east.orders", 3)


@pytest.mark.parametrize(
    "raised",
    [
        pytest.param(fatal("Local: Out of order sequence"), id="another fatal error"),
        pytest.param(
            fatal(TEXT.replace("Invalid timestamp", "Unknown to all")), id="unknown words"
        ),
        pytest.param(SystemError("alone"), id="a crash without a cause"),
        pytest.param(ValueError(TEXT), id="another exception"),
    ],
)
def test_what_names_no_refusal_is_none(raised):
    assert refusal_in(raised) is None


@pytest.mark.parametrize("code", [KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT])
def test_what_was_purged_is_no_refusal(code):
    assert is_aftermath(KafkaError(code))
    assert not is_aftermath(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
