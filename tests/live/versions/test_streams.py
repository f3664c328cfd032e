"""A Kafka Streams application of each version, seen from outside: what its own JVM says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.streams.application import StreamsApplication, StreamsSettings, make_topics
from jobs.lab.streams.orders import OrderWriter
from jobs.streams.assembly import application_of
from jobs.streams.lag import input_lags
from jobs.streams.metadata_state import metadata_state
from tests.live.streams.applications import wait_until_settled
from tests.live.streams.test_answers import (
    answers_inside,
    answers_of,
    both_sides,
    seen,
    serving,
    truth,
)
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)
# The lab's application is written for Kafka Streams 3.3 and later, which works with older brokers, too.
OLDEST_CLASSES = "3.3.2"
ORDERS = 6


@pytest.fixture(scope="session")
def application(cluster, tmp_path_factory) -> Iterator[StreamsApplication]:
    """`A1`, classic, alone, after 3000 orders."""
    is_older = cluster.plan.kafka < OLDEST_CLASSES
    jvm = kafka_jvm(OLDEST_CLASSES) if is_older else cluster.jvm
    make_topics(cluster.connection)
    with OrderWriter(cluster.connection, rate=5):
        settings = StreamsSettings("orders-app", cluster.bootstrap_servers, standbys=0)
        made = StreamsApplication(tmp_path_factory.mktemp("streams"), jvm, settings)
        try:
            made.start("A1", "h1.example:7071")
            wait_until_settled(made)
            yield made
        finally:
            made.kill()


@pytest.mark.capability("Kafka Streams from outside")
def test_tasks_stores_and_keys_are_those_that_the_jvm_tells(cluster, application):
    outside, inside = both_sides(cluster, application, ["A1"])
    assert [answers_inside(jvm) for jvm in inside.values()] == [answers_of(metadata_state(outside))]
    assert truth(outside) == serving(application, inside)


@pytest.mark.capability("Kafka Streams from outside")
def test_every_partition_of_an_input_has_a_lag(cluster, application):
    def told() -> bool:
        outside = seen(cluster, application)
        lags = input_lags(application_of(outside), outside.facts)
        inputs = [one for own in lags.values() for one in own if one.place.topic == "orders"]
        return len(inputs) == ORDERS and all(one.records is not None for one in inputs)

    eventually(told, 60, every=1)
