"""What the dry run says that MirrorMaker 2 would do is what a real MirrorMaker 2 does."""

from dataclasses import replace

import pytest

from jobs.cluster.admin.acls import AclBinding, create_acls, describe_acls
from jobs.cluster.client import ClusterClient
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.replication.topics.config_sync import Reason, compare_configs
from tests.live.copiers import synced_topics
from tests.live.topics import configs_of, make_topic, new_topic
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

SLOW_S = 120
ON_SOURCE = {"retention_ms": "7200000", "segment_ms": "7200000", "min_insync_replicas": "2"}
ON_TARGET = {
    "retention_ms": "5000000",
    "flush_ms": "777",
    "max_message_bytes": "1048588",
    "compression_type": "producer",
    "message_timestamp_type": "CreateTime",
    "min_insync_replicas": "1",
}


def overrides(client: ClusterClient, topic: str) -> dict[str, str | None]:
    return {key: v.value for key, v in configs_of(client, topic).items() if v.is_override}


def acls(client: ClusterClient, topic: str) -> set[AclBinding]:
    return {binding for binding in describe_acls(client) or () if binding.name == topic}


@pytest.fixture
def mirror_maker(secure, kafka, tmp_path):
    """Run a MirrorMaker 2 for one topic from the secure cluster to itself, under two names."""
    made: list[MirrorMaker] = []

    def start(topic: str) -> MirrorMaker:
        servers = secure.cluster.bootstrap_servers
        extra = {"here->there.topics": topic, "emit.heartbeats.enabled": "false"}
        # Every ten minutes by default: too seldom for one that had no answer in time.
        extra |= {f"sync.topic.{what}.interval.seconds": "20" for what in ("configs", "acls")}
        properties = mirror_properties(("here", servers), ("there", servers), extra)
        made.append(MirrorMaker(tmp_path / "mm2", kafka, properties))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.kill()


def test_a_real_mirror_maker_sets_deletes_and_makes_what_was_told(secure, mirror_maker):
    topic = new_topic(secure.cluster, 1, **ON_SOURCE)
    remote = f"here.{topic}"
    make_topic(secure.cluster, remote, 1, **ON_TARGET)
    there = secure.cluster.connection
    connections = replace(there, alias="here"), replace(there, alias="there")
    with synced_topics(*connections, topic, sync_acls=True) as flow:
        rights = [("ALLOW", "ALL"), ("ALLOW", "WRITE"), ("DENY", "DELETE"), ("ALLOW", "DESCRIBE")]
        given = [
            AclBinding("TOPIC", "LITERAL", topic, f"User:{n}", "*", operation, permission)
            for n, (permission, operation) in enumerate(rights)
        ]
        create_acls(flow.source, given)
        eventually(lambda: acls(flow.source, topic) == set(given))
        told = compare_configs(
            flow.flow, configs_of(flow.source, topic), configs_of(flow.target, remote)
        )
        plan = flow.plan([topic])
        before = overrides(flow.target, remote)

        mirror = mirror_maker(topic)
        eventually(lambda: mirror.check() or acls(flow.target, remote), SLOW_S)
        eventually(lambda: "flush.ms" not in overrides(flow.target, remote), SLOW_S)
        after = overrides(flow.target, remote)
        assert acls(flow.target, remote) == set(plan.acls)
    assert before.keys() - after.keys() == {one.key for one in told if one.mm2_deletes}
    changed = {key for key, value in after.items() if before.get(key) != value}
    assert changed == {one.key for one in told if one.reason is Reason.CHANGED}
