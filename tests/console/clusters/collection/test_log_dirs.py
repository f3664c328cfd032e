"""The log directories of brokers, as the round for brokers keeps them."""

from datetime import timedelta

import pytest

from console.clusters.models import Noun
from jobs.cluster.admin.log_dirs import BrokerLogs
from jobs.cluster.errors import ClusterFault, TimedOut
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import NOW, make_cluster, run_rounds

pytestmark = pytest.mark.django_db


@pytest.fixture
def kafka():
    return FakeKafka()


def kept(cluster):
    return {row.broker_id: (row.log_dirs, row.log_dirs_at) for row in cluster.brokers.all()}


def test_sizes_and_errors_of_each_log_directory_are_kept(kafka):
    fault = ClusterFault("KAFKA_STORAGE_ERROR", cluster="east")
    kafka.log_dirs[1] = BrokerLogs({}, {"/b": fault}, {"/a": (1000, 600)})
    cluster = make_cluster()
    run_rounds(cluster, kafka)
    assert kept(cluster)[1] == (
        [
            {"path": "/a", "total_bytes": 1000, "usable_bytes": 600, "error": ""},
            {"path": "/b", "total_bytes": None, "usable_bytes": None, "error": fault.message},
        ],
        NOW,
    )


def test_a_broker_that_does_not_answer_is_not_known_and_the_others_are(kafka):
    kafka.log_dirs[2] = TimedOut("no answer", cluster="east")
    cluster = make_cluster()
    run_rounds(cluster, kafka)
    assert {broker: dirs is None for broker, (dirs, _) in kept(cluster).items()} == {
        1: False, 2: True, 3: False,
    }  # fmt: skip


def test_a_cluster_that_refuses_costs_the_round_nothing(kafka):
    kafka.faults["read_log_dirs"] = ClusterFault("Denied.", cluster="east")
    cluster = make_cluster()
    assert run_rounds(cluster, kafka)[Noun.BROKERS].failing_since is None
    assert set(kept(cluster).values()) == {(None, NOW)}


@pytest.mark.parametrize(
    ("seconds", "reads"),
    [
        pytest.param(59, 1, id="within a minute"),
        pytest.param(61, 2, id="a minute later"),
        pytest.param(-3600, 2, id="the clock was set back an hour"),
    ],
)
def test_disks_are_read_once_a_minute(kafka, seconds, reads):
    cluster = make_cluster()
    run_rounds(cluster, kafka)
    run_rounds(cluster, kafka, NOW + timedelta(seconds=seconds))
    assert kafka.asked.count("read_log_dirs") == reads
