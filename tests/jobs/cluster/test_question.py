"""One question, many requests: partial answers are kept, nothing waits longer than the budget."""

import time
from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from jobs.cluster.errors import NotAuthorized, TimedOut
from jobs.cluster.librdkafka_errors import TransportNotes
from jobs.cluster.question import Question
from tests.waiting import Stalls


class Admin:
    """The border: a client library that has nothing more to say."""

    def poll(self, timeout):
        return 0


def answered(value) -> Future:
    future = Future()
    future.set_result(value)
    return future


def failed(code) -> Future:
    future = Future()
    future.set_exception(KafkaException(KafkaError(code)))
    return future


def ask(
    sent: dict, *, budget_s: float = 0.2, at_once: int = 20, share: float = 1.0
) -> tuple[Question, list]:
    question = Question(budget_s, "Asking", "east", TransportNotes("east"))
    again = question.attempt(Admin(), sent, lambda _, key, left: {key: sent[key]}, share, at_once)
    return question, again


def test_answers_come_by_key():
    question, again = ask({"a": answered(1), "b": answered(2)})
    assert question.answers() == {"a": 1, "b": 2}
    assert again == []


def test_an_error_of_one_key_is_a_value():
    question, _ = ask({"a": answered(1), "b": failed(KafkaError.TOPIC_AUTHORIZATION_FAILED)})
    answers = question.answers()
    assert answers["a"] == 1
    assert isinstance(answers["b"], NotAuthorized)


def test_what_hangs_costs_the_budget_and_keeps_the_other_answers():
    began = time.monotonic()
    with Stalls() as stalls:
        question, again = ask({"a": Future(), "b": answered(2)})
    assert time.monotonic() - began < 2.0 + stalls.seconds
    assert again == ["a"]
    answers = question.answers()
    assert isinstance(answers["a"], TimedOut)
    assert answers["b"] == 2


def test_a_first_attempt_that_hangs_leaves_time_to_ask_another_broker():
    question, again = ask({"a": Future()}, budget_s=60, share=0.001)
    assert again == ["a"]
    assert question.ended_by is None


def test_when_everything_hangs_the_fault_is_raised():
    question, _ = ask({"a": Future(), "b": Future()})
    with pytest.raises(TimedOut, match="no answer within"):
        question.answers()


def test_when_everything_is_forbidden_each_key_says_so():
    question, _ = ask({"a": failed(KafkaError.GROUP_AUTHORIZATION_FAILED)})
    assert isinstance(question.answers()["a"], NotAuthorized)


def test_only_faults_of_a_broker_are_worth_asking_another_one():
    _, again = ask(
        {"a": failed(KafkaError._TIMED_OUT), "b": failed(KafkaError.TOPIC_AUTHORIZATION_FAILED)}
    )
    assert again == ["a"]


def test_a_request_that_hangs_does_not_keep_later_ones_from_being_sent():
    question, _ = ask({"hangs": Future(), "last": answered(1)}, budget_s=2.5, at_once=1)
    assert question.answers()["last"] == 1


def test_no_answers_to_nothing():
    question, again = ask({})
    assert question.answers() == {}
    assert again == []
