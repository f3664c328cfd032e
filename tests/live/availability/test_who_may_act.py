"""Speaking for a broker needs CLUSTER_ACTION: well with it, through SASL; a clear fault without it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.cluster.admin.acls import AclBinding, create_acls
from jobs.cluster.admin.broker_heartbeat import Heartbeat, send_heartbeat
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.errors import NotAuthorized
from jobs.cluster.secrets import SecretRef
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.lab.security import USERS
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.live.availability.standby_cluster import looping, standby
from tests.live.topics import new_topic_on
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.timeout(900)

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_USERS = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
_ADMIN = f'username="admin" password="{USERS["admin"]}"'
# The controllers' listener asks for a login, too; brokers and controllers come as `admin`.
SASL_CONTROLLERS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT,"
    "SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f"{_LOGIN} {_ADMIN} {_USERS};",
}


@dataclass
class Secure:
    cluster: object
    plain: ClusterConnections

    def doors(self, user: str) -> ClusterConnections:
        """Return the way in for a user, through SASL to brokers and controllers."""
        plan = self.cluster.plan

        def connection(listener: str) -> Connection:
            return Connection(
                alias=plan.alias,
                bootstrap_servers=plan.bootstrap_servers(listener),
                security_protocol=SecurityProtocol.SASL_PLAINTEXT,
                sasl_mechanism=SaslMechanism.PLAIN,
                sasl_username=user,
                sasl_password=SecretRef("env", f"CROSSLOG_SECRET_STANDBY_{user.upper()}"),
            )

        return ClusterConnections(connection("SASL_PLAINTEXT"), connection("CONTROLLER"))


@pytest.fixture(scope="module")
def secure(kafka, tmp_path_factory) -> Iterator[Secure]:
    """Two nodes; node 2 is the standby."""

    def plans(base_port: int) -> list[ClusterPlan]:
        own = {2: {"broker.heartbeat.interval.ms": "86400000"}}
        return [
            ClusterPlan(
                "guarded",
                2,
                base_port,
                overrides=SASL_CONTROLLERS,
                is_secure=True,
                node_overrides=own,
            )
        ]

    patch = pytest.MonkeyPatch()
    for user, password in USERS.items():
        patch.setenv(f"CROSSLOG_SECRET_STANDBY_{user.upper()}", password)
    lab = Lab(tmp_path_factory.mktemp("guarded-lab"), plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    cluster = lab.cluster("guarded")
    found = Secure(cluster, ClusterConnections(cluster.connection))
    new_topic_on(cluster, [[1, 2]])
    eventually(lambda: standby(found.doors("admin"), 2).is_fenced, 60, every=0.3)
    yield found
    lab.kill()
    patch.undo()


def grant(secure: Secure, kind: str, name: str, *operations: str) -> None:
    bindings = [
        AclBinding(kind, "LITERAL", name, "User:limited", "*", operation, "ALLOW")
        for operation in operations
    ]
    with ClusterClient(secure.plain.connection) as client:
        assert create_acls(client, bindings) == dict.fromkeys(bindings)


def beat(doors: ClusterConnections):
    async def send():
        async with doors.cluster() as cluster, doors.leader(cluster) as controllers:
            return await send_heartbeat(controllers, Heartbeat(2, 1, 1))

    return asyncio.run(send())


def test_without_cluster_action_nobody_speaks_for_a_broker(secure):
    with pytest.raises(NotAuthorized) as told:
        beat(secure.doors("limited"))
    assert "CLUSTER_ACTION" in told.value.hint
    assert "kafka-acls.sh" in told.value.hint
    assert "guarded" in str(told.value)


def test_a_loop_without_the_right_says_so_and_goes_on(secure):
    store = MemoryStore()
    with looping(secure.doors("limited"), store):
        eventually(lambda: any("CLUSTER_ACTION" in one.problem for one in store.read().signs), 30)


def test_with_cluster_action_and_describe_a_standby_is_promoted_through_sasl(secure):
    grant(secure, "CLUSTER", "kafka-cluster", "CLUSTER_ACTION", "DESCRIBE", "DESCRIBE_CONFIGS")
    grant(secure, "TOPIC", "*", "DESCRIBE")
    doors, store = secure.doors("limited"), MemoryStore()
    eventually(lambda: all(_is_readable(doors) for _ in range(8)), 30)
    with looping(doors, store):
        actor = FencedStandby(doors, 2, store, within_s=20 * PATIENCE)
        # Whoever answers late for a moment is not promoted.
        eventually(lambda: actor.plan().is_allowed, 30)
        done = actor.act()
        assert done.is_done, done.sentence
        assert actor.revert(done.undo).is_done


def _is_readable(doors: ClusterConnections) -> bool:
    """Say whether the new rights have reached every node."""
    try:
        return standby(doors, 2).is_set_up
    except NotAuthorized:
        return False
