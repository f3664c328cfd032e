"""The fake Kafka of these tests passes the checks that the real one passes (tests/live/console)."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from tests.console.clusters import contract
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import make_cluster, run_rounds


@pytest.mark.django_db
def test_the_fake_behaves_like_kafka():
    kafka = FakeKafka()
    newest = contract.FIRST_MS + (contract.RECORDS - 1) * 1000
    kafka.add_topic(contract.TOPIC, 3, end=0)
    kafka.set_range(contract.TOPIC, 0, 0, contract.RECORDS, newest)
    kafka.add_group(contract.GROUP, {(contract.TOPIC, 0): contract.COMMITTED})
    where = TopicPartition(contract.TOPIC, 0)
    kafka.timestamps[where, contract.COMMITTED] = contract.FIRST_MS + contract.COMMITTED * 1000
    cluster = make_cluster()
    run_rounds(cluster, kafka)
    contract.check_collected(cluster)
