"""A MirrorMaker 2 of the source's own version, which copies to Kafka 4.3.1, seen by crosslog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.cluster import Cluster
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.replication.failover.kafka import read_translator
from jobs.replication.failover.model import CheckState, Direction, FailoverRequest
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.failover.session import ask_plan
from jobs.replication.naming.detection import detect_policies
from tests.live.groups import commit
from tests.live.mirror_maker.mirrored import (
    Pair,
    end_of,
    produce_identified,
    produce_transactions,
    records_on,
    syncs_of,
    wait_for_mirror,
)
from tests.live.mirror_maker.test_mirror_client import java_answers
from tests.live.topics import make_topic
from tests.live.versions.conftest import started
from tests.live.versions.versions import VERSIONS
from tests.waiting import eventually

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.parametrize(
        "cluster",
        [one for one in VERSIONS if one.kafka in {"3.9.1", "4.3.1"}],
        ids=str,
        indirect=True,
        scope="session",
    ),
]
PLAIN, PAID, GROUP = "t.plain", "t.paid", "mirrored"
SETTINGS = {
    "east->west.topics": r"t\..*",
    "east->west.offset.lag.max": "20",
    "east->west.emit.checkpoints.interval.seconds": "1",
    "east->west.sync.topic.configs.enabled": "false",
    "refresh.topics.interval.seconds": "5",
    "refresh.groups.interval.seconds": "2",
    "west.offset.flush.interval.ms": "1000",
    "east.consumer.isolation.level": "read_committed",
    "east->west.consumer.isolation.level": "read_committed",
}


@dataclass(frozen=True)
class Named:
    """A cluster under the alias that MirrorMaker 2 has for it."""

    cluster: Cluster
    alias: str

    @property
    def bootstrap_servers(self) -> str:
        return self.cluster.bootstrap_servers

    @property
    def connection(self) -> Connection:
        return replace(self.cluster.connection, alias=self.alias)


@pytest.fixture(scope="session")
def pair(cluster, tmp_path_factory) -> Iterator[Pair]:
    """Both topics copied, and a group that committed in one of them, with its checkpoint."""
    folder = tmp_path_factory.mktemp("mirrored")
    target = started("west", folder / "west")
    both = {"east": Named(cluster, "east"), "west": Named(target.cluster("west"), "west")}
    servers = [(alias, one.bootstrap_servers) for alias, one in both.items()]
    mirror = MirrorMaker(folder / "mm2", cluster.jvm, mirror_properties(*servers, SETTINGS))
    pair = Pair(SimpleNamespace(cluster=both.__getitem__), mirror)  # type: ignore[arg-type]
    for topic in (PLAIN, PAID):
        make_topic(both["east"], topic)
    mirror.start()
    try:
        produce_identified(pair.east, PLAIN, 1000)
        produce_transactions(pair.east, PAID, 30)
        wait_for_mirror(mirror, lambda: are_copied(pair))
        produce_identified(pair.east, PLAIN, 200, first=1000)
        commit(pair.east, GROUP, {TopicPartition(PLAIN, 0): 1100})
        wait_for_mirror(mirror, lambda: pair.checkpoint(GROUP, PLAIN) is not None)
        yield pair
    finally:
        mirror.kill()
        target.kill()


def are_copied(pair: Pair) -> bool:
    pair.mirror.check()
    counts = [records_on(pair.west, f"east.{topic}") for topic in (PLAIN, PAID)]
    return counts == [1000, 20 * 7] and len(syncs_of(pair.east, PLAIN)) > 1


@pytest.mark.capability("MirrorMaker 2 of this version: naming policy")
def test_its_naming_policy_is_told_by_the_names_on_the_target(pair):
    with ClusterClient(pair.west.connection) as client:
        found = detect_policies(list_topic_names(client))
    assert found[0].to_mapping()["policy"] == "default"


@pytest.mark.capability("MirrorMaker 2 of this version: offset syncs")
@pytest.mark.parametrize("topic", [PLAIN, PAID])
def test_its_offset_syncs_name_the_same_record_on_both_sides(pair, topic):
    truth = dict(pair.truth(topic).pairs)
    assert [(u, d) for u, d in syncs_of(pair.east, topic) if truth.get(u, d) != d] == []


@pytest.mark.capability("MirrorMaker 2 of this version: translation")
@pytest.mark.parametrize("topic", [PLAIN, PAID])
def test_what_is_proved_by_its_offset_syncs_holds_record_by_record(pair, topic):
    truth, translator, where = pair.truth(topic), pair.syncs(), TopicPartition(topic, 0)
    exact = 0
    for upstream in range(end_of(pair.east, topic) + 1):
        found, true = translator.translate(where, upstream), truth.of(upstream)
        assert found is not None
        assert found.lo <= true <= (true if found.hi is None else found.hi), (upstream, found)
        exact += found.exact
    assert exact > 0


@pytest.mark.capability("MirrorMaker 2 of this version: checkpoints")
def test_its_checkpoint_is_read_as_its_own_mirror_client_reads_it(pair, tmp_path, cluster):
    upstream, downstream = pair.checkpoint(GROUP, PLAIN)
    asked = {"aliases": ["east"], "groups": {GROUP: "east"}}
    settings = {"bootstrap.servers": pair.west.bootstrap_servers}
    theirs = java_answers(cluster.jvm, tmp_path, settings, asked)["remote_consumer_offsets"]
    assert theirs[GROUP][f"east.{PLAIN}-0"][0] == downstream
    assert downstream <= pair.truth(PLAIN).of(upstream)


@pytest.mark.capability("MirrorMaker 2 of this version: failover plan")
def test_a_failover_plan_skips_no_record(pair):
    routes = (Route(pair.flow, read_translator(pair.flow, timeout_s=60), 0),)
    request = FailoverRequest(Direction.FAILOVER, (GROUP,))
    eventually(lambda: records_on(pair.west, f"east.{PLAIN}") == 1200, 60)
    plan = ask_plan(EvidenceRequest(request, routes, timeout_s=60)).group(GROUP)
    assert plan.verdict is not CheckState.FAILED
    (item,) = plan.items
    assert item.target <= pair.truth(PLAIN).of(1100)
