"""A flow whose account has no more rights in Kafka than the documentation names, over TLS and SCRAM."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from jobs.cluster.admin.acls import AclBinding, create_acls
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from tests.journeys.world import ConsoleFlow
from tests.live.groups import commit
from tests.live.records import produce, read_all
from tests.live.topics import ends_of
from tests.waiting import eventually

pytestmark = pytest.mark.journey
SOURCE, TARGET = "vault-east", "vault-west"
PRINCIPAL = "User:limited"
RECORDS = 500
SEEN_WITHIN_S = 60
Right = tuple[str, str, str, str]
TOPIC, GROUP, TRANSACTIONS = "TOPIC", "GROUP", "TRANSACTIONAL_ID"
CHECKPOINTS = f"{SOURCE}.checkpoints.internal"


# docs/operate.md, "Accounts of the console in Kafka": resource, pattern, name, operations.
def on_source(topic: str, group: str) -> list[Right]:
    """Return what the account may do on the source."""
    return [
        # "`Describe` and `Read` on the topics and `DescribeConfigs`"
        (TOPIC, "LITERAL", topic, "DESCRIBE READ DESCRIBE_CONFIGS"),
        # "for checkpoints `Describe` on the groups of the source"
        (GROUP, "LITERAL", group, "DESCRIBE"),
    ]


def on_target(topic: str) -> list[Right]:
    """Return what the account may do on the target."""
    own = "CREATE DESCRIBE DESCRIBE_CONFIGS WRITE READ"
    return [
        # "`Create`, `Describe`, `DescribeConfigs` and `Write` on the remote topics"
        (TOPIC, "LITERAL", f"{SOURCE}.{topic}", "CREATE DESCRIBE DESCRIBE_CONFIGS WRITE"),
        # "all of these with `Read`" on the topics of positions and of offset syncs
        (TOPIC, "LITERAL", f"mm2-offsets.{SOURCE}.internal", own),
        (TOPIC, "LITERAL", f"mm2-offset-syncs.{SOURCE}.internal", own),
        # "Create and Write on heartbeats"
        (TOPIC, "LITERAL", "heartbeats", "CREATE WRITE"),
        # "Describe on the group crosslog": the consumer that reads the positions of a flow that was stopped
        (GROUP, "LITERAL", "crosslog", "DESCRIBE"),
        # for checkpoints "Create, Describe, Read and Write"
        (TOPIC, "LITERAL", CHECKPOINTS, "CREATE DESCRIBE READ WRITE"),
        # "for exactly once `Write` and `Describe` on transactional ids that begin with" this
        (TRANSACTIONS, "PREFIXED", f"crosslog.{SOURCE}.", "WRITE DESCRIBE"),
    ]


def test_the_documented_rights_are_enough_to_copy_exactly_once_and_to_write_checkpoints(world):
    topic, group = world.topic("vault", 2), f"vault-{uuid.uuid4().hex[:8]}"
    written = [record for p in (0, 1) for record in produce(world.east, topic, RECORDS, p)]
    commit(world.east, group, {TopicPartition(topic, p): RECORDS // 2 for p in (0, 1)})
    with rights(world):
        grant(world.east, on_source(topic, group))
        grant(world.west, on_target(topic))
        with registered(world), flow_of(world, topic, group) as flow:
            flow.wait_for_positions(ends_of(world.east, topic))
            flow.restart()
            written += produce(world.east, topic, 10, 1)
            flow.wait_for_positions(ends_of(world.east, topic))
            copied = read_all(world.west, f"{SOURCE}.{topic}")
            assert [one.value for one in copied] == [one.value for one in written]
            eventually(lambda: has_checkpoint(flow, group), SEEN_WITHIN_S, every=0.5)


@contextmanager
def rights(world) -> Iterator[None]:
    """The account has no right when the block begins and none when it ends."""
    try:
        yield
    finally:
        every = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, PRINCIPAL, None,
            AclOperation.ANY, AclPermissionType.ANY,
        )  # fmt: skip
        for cluster in (world.east, world.west):
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
            admin.delete_acls([every])[every].result(60)


def grant(cluster, wanted: list[Right]) -> None:
    """Give rights to the account, through the listener whose clients may do everything."""
    bindings = [
        AclBinding(kind, pattern, name, PRINCIPAL, "*", operation, "ALLOW")
        for kind, pattern, name, operations in wanted
        for operation in operations.split()
    ]
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        assert create_acls(client, bindings) == dict.fromkeys(bindings)


@contextmanager
def registered(world) -> Iterator[None]:
    """Both clusters under aliases of their own, reached with the account over TLS and SCRAM.

    A cluster is registered once: the usual aliases are removed before, and registered by the next journey.
    """
    for known in world.get("clusters/")["results"]:
        world.console.visitor.delete(f"api/v1/clusters/{known['alias']}/")
    for alias, cluster in ((SOURCE, world.east), (TARGET, world.west)):
        ca = (cluster.folder / "certificates" / "ca.pem").read_text("utf-8")
        (world.console.home / f"{alias}.pem").write_text(ca, "utf-8")
        world.post(
            "clusters/",
            {
                "alias": alias,
                "bootstrap_servers": cluster.plan.bootstrap_servers("SASL_SSL"),
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "SCRAM-SHA-512",
                "sasl_username": "limited",
                "sasl_password": "env:CROSSLOG_SECRET_LAB_LIMITED",
                "ssl_ca": f"file:{alias}.pem",
            },
        )
    try:
        yield
    finally:
        for alias in (SOURCE, TARGET):
            world.console.visitor.delete(f"api/v1/clusters/{alias}/")


@contextmanager
def flow_of(world, topic: str, group: str) -> Iterator[ConsoleFlow]:
    """A flow between the two; it is deleted with the block."""
    asked = {"source": SOURCE, "target": TARGET, "groups": [group], "heartbeats": "target"}
    with world.flow(topic, emit_checkpoints_interval_s=2, **asked) as flow:
        yield flow


def has_checkpoint(flow: ConsoleFlow, group: str) -> bool:
    found = flow.world.get(f"flows/{flow.id}/checkpoints/?group={group}")["results"]
    return bool(found) and found[0]["checkpoint_count"] == 2
