"""What a metadata log cannot tell, beside real brokers: server.properties, an ELR that was switched off."""

import json

import pytest
from confluent_kafka import KafkaError, Producer
from django.utils import timezone

from console.availability.what_if.cluster_models import seen_cluster
from console.clusters import actions
from console.clusters.collection import collect
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.simulation import Return, simulate
from jobs.cli import main
from tests.live.availability.drills import WRITE_WITHIN_MS
from tests.live.kafka_tools import (
    FEATURES,
    TOPICS,
    image,
    log_folder,
    make_topic,
    run,
    wait_for_log,
)
from tests.waiting import eventually

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]
CONFIGS = "kafka.admin.ConfigCommand"
ELR = "eligible.leader.replicas.version"
# A dead broker is fenced after six seconds. Every broker of a lab of three has min.insync.replicas=2.
SETTINGS = {"broker.session.timeout.ms": "6000", "broker.heartbeat.interval.ms": "1000"}
SECOND = frozenset({2})


@pytest.fixture
def cluster(small_lab):
    return small_lab("unsaid", nodes=3, overrides=SETTINGS).cluster("unsaid")


def state(cluster, capsys):
    """Return what `crosslog state --json` prints of node 1's log."""
    capsys.readouterr()
    assert main(["state", str(log_folder(cluster, 1)), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def told(model: ClusterModel, topic: str):
    """Return a partition as what-if sees it when nothing more happens."""
    return next(one for one in simulate(model, [Return(SECOND)]).overall if one.topic == topic)


def refusal(cluster, topic: str) -> str | None:
    """Return why a record with acks=all is refused; None: it is taken."""
    found: list[KafkaError | None] = []
    settings = {"acks": "all", "message.timeout.ms": WRITE_WITHIN_MS, "retries": 0}
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings})
    producer.produce(topic, b"x", partition=0, on_delivery=lambda error, _: found.append(error))
    assert producer.flush(60) == 0
    (error,) = found
    return None if error is None else error.name()


def without_elr(cluster) -> None:
    """Make a cluster like one that was upgraded from 3.x: no ELR, and no default of min.insync.replicas."""
    run(cluster, FEATURES, "downgrade", "--feature", f"{ELR}=0")
    if "min.insync.replicas" in image(cluster, 1).configs.get(("BROKER", ""), {}):
        default = ["--entity-type", "brokers", "--entity-default"]
        run(cluster, CONFIGS, "--alter", *default, "--delete-config", "min.insync.replicas")
    eventually(lambda: not image(cluster, 1).configs.get(("BROKER", "")), 30)


def test_min_isr_of_server_properties_is_not_known_from_the_log_and_known_where_one_asks(
    cluster, capsys
):
    without_elr(cluster)
    make_topic(cluster, "pair", (1, 2))
    make_topic(cluster, "own", (1, 2), min_insync_replicas="1")
    cluster.node(2).kill()
    wait_for_log(cluster, 1, "pair", isr={1})
    wait_for_log(cluster, 1, "own", isr={1})

    pair, own = (
        told(ClusterModel.from_json(state(cluster, capsys)), one).before for one in ("pair", "own")
    )
    assert (pair.is_writable, own.is_writable) == (None, True)
    assert [refusal(cluster, one) for one in ("pair", "own")] == ["NOT_ENOUGH_REPLICAS", None]

    described = ClusterModel.from_json(run(cluster, TOPICS, "--describe"))
    assert [told(described, one).before.is_writable for one in ("pair", "own")] == [False, True]

    values = {"alias": "unsaid", "bootstrap_servers": cluster.bootstrap_servers}
    row = actions.create_cluster(values, timezone.now())
    collect.collect_cluster(row.pk)
    seen = seen_cluster(row)
    least = {one.topic: one.min_insync_replicas for one in seen.model.partitions}
    assert (least["pair"], least["own"]) == (2, 1)
    assert "is what the broker that answered has in its server.properties" in " ".join(seen.gaps)


def test_a_replica_of_an_elr_that_was_switched_off_leads_when_it_returns(cluster, capsys):
    make_topic(cluster, "two", (2, 3), min_insync_replicas="2")
    make_topic(cluster, "one", (2,), min_insync_replicas="1")
    cluster.node(2).kill()
    wait_for_log(cluster, 1, "two", isr={3}, elr={2})
    wait_for_log(cluster, 1, "one", isr=set(), elr={2})
    run(cluster, FEATURES, "downgrade", "--feature", f"{ELR}=0")
    eventually(lambda: not image(cluster, 1).features.get(ELR), 30)

    model = ClusterModel.from_json(state(cluster, capsys))
    after = {one.topic: one.after for one in simulate(model, [Return(SECOND)]).overall}
    assert (after["one"].leader, after["one"].last_known_elr) == (2, (2,))
    cluster.node(2).start()
    for topic in ("one", "two"):
        wanted = after[topic]
        wait_for_log(
            cluster, 1, topic, leader=wanted.leader, isr=set(wanted.isr), elr=set(wanted.elr),
            last_known_elr=set(wanted.last_known_elr),
        )  # fmt: skip
