"""Brokers that throttle their clients, because a quota is used up."""

import time

import pytest

from jobs.replication.copy.quotas import Quotas
from tests.support import Clock

ONE, OTHER = ("west", 1), ("west", 2)


@pytest.fixture
def clock():
    return Clock(100.0)


@pytest.fixture
def quotas(clock):
    return Quotas(clock)


def test_a_broker_that_asked_for_nothing_may_be_asked(quotas):
    quotas.told(ONE, 0)
    assert quotas.left_s(ONE) == 0


def test_a_broker_gets_no_request_for_as_long_as_it_throttles(quotas, clock):
    quotas.told(ONE, 1500)
    assert quotas.left_s(ONE) == 1.5
    clock.now += 1
    assert quotas.left_s(ONE) == 0.5
    clock.now += 1
    assert quotas.left_s(ONE) == 0


def test_one_broker_is_not_throttled_for_another_one(quotas):
    quotas.told(ONE, 1500)
    assert quotas.left_s(OTHER) == 0


def test_an_answer_to_an_earlier_request_does_not_shorten_the_rest(quotas):
    quotas.told(ONE, 1500)
    quotas.told(ONE, 0)
    assert quotas.left_s(ONE) == 1.5


async def test_only_what_was_waited_for_counts():

    quotas = Quotas(time.monotonic)
    await quotas.wait(ONE)
    assert quotas.rested_ms == 0
    quotas.told(ONE, 20)
    await quotas.wait(ONE)
    assert quotas.rested_ms >= 20
    assert quotas.left_s(ONE) == 0
