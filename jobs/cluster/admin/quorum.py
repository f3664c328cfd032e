"""Who votes on the metadata log of a KRaft cluster, who leads it, and how far each replica has come.

Source: DescribeQuorum (API 55, KIP-595; KIP-836 added times, KIP-853 directory ids and endpoints). Brokers
pass the question on to the leader of the quorum; of the controllers, only the leader answers it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kio.schema.describe_quorum.v2.request import DescribeQuorumRequest, PartitionData, TopicData

from jobs.cluster.capabilities.releases import Mode, mode_of
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import (
    UNSUPPORTED_VERSION,
    Denied,
    LeaderMoved,
    Where,
    answer_fault,
)
from jobs.cluster.protocol.transport.apis import DESCRIBE_QUORUM
from jobs.cluster.protocol.transport.apis import METADATA as METADATA_API
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import int32, topic_name
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.wire.values import id_text

METADATA_TOPIC = "__cluster_metadata"
CLIENT_ID = "quorum"
_DOING = "Describing the quorum"
_MISSING_RIGHT = (
    "It needs the operation DESCRIBE on the cluster; some managed services refuse it to everybody."
)
_OR_ELSE = " or KRaft before 3.3, is not Apache Kafka, or something changes what it offers, as a proxy does"
# Measured: an election takes about three seconds.
_BUDGET_S = 10.0


class NoQuorum(ClusterFault):
    """The cluster has no quorum of controllers: it runs with ZooKeeper, or is older than KRaft."""

    code = "no_quorum"
    remedy = Remedy.FINAL
    hint = (
        "Voters, elections of controllers and the metadata log exist with KRaft only, and brokers describe "
        "the quorum since Kafka 3.3. Without it the availability pages show partitions, ISR and configs by "
        "polling: what changed between two polls, ELR and fenced brokers are not seen."
    )


@dataclass(frozen=True, slots=True)
class QuorumEndpoint:
    """Where a controller listens; `name` is that of the listener."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class QuorumNode:
    """A voter's endpoints, as it told the quorum."""

    id: int
    endpoints: tuple[QuorumEndpoint, ...]


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A voter or observer as the leader sees it; None for what it does not know or its version does not tell.

    `directory_id` is Kafka's 22 characters of base64. `log_end_offset` is the offset after the last one that
    the replica has. Times are ms since 1970 on the leader's clock: `last_fetch_at_ms` when the replica last
    asked (None for the leader itself), `last_caught_up_at_ms` when it last had everything.
    """

    id: int
    directory_id: str | None
    log_end_offset: int | None
    last_fetch_at_ms: int | None
    last_caught_up_at_ms: int | None


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    """The quorum at one moment.

    `leader_id` is None while no controller leads; everything below `high_watermark` is committed, None: not
    known yet by a new leader. `observers` replicate the log without a vote: brokers, and controllers that are
    no voters (any more); they are listed for 300 s after their last fetch. `nodes` is empty before version 2
    (Kafka 3.9). `described_at_ms` is ms since 1970 on this machine's clock.
    """

    leader_id: int | None
    leader_epoch: int
    high_watermark: int | None
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    nodes: tuple[QuorumNode, ...]
    described_at_ms: int


def describe_quorum(connection: Connection, *, budget_s: float = _BUDGET_S) -> QuorumDescription:
    """Return the quorum of a cluster; the bootstrap servers are brokers or controllers.

    Raises `ClusterFault`: `NoQuorum` for a cluster without KRaft, `NotAuthorized` where DESCRIBE on the
    cluster is missing or the service refuses it to everybody.
    """
    client = ClusterClient(connection, timeout_s=budget_s, client_id=f"crosslog-{CLIENT_ID}")
    return client.ask(_DOING, lambda cluster: read_quorum(cluster, budget_s=budget_s))


async def read_quorum(
    cluster: RawCluster,
    *,
    budget_s: float = _BUDGET_S,
    now_s: Callable[[], float] = time.time,
) -> QuorumDescription:
    """Return the quorum of a cluster, see `describe_quorum`; raises `ClusterFault`.

    While no leader is elected it is queried again, with pauses, until the budget is over. A leader that is
    not among the bootstrap servers is found by those who may read the metadata log.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    while True:
        try:
            return await cluster.ask_any(lambda connection: _ask(cluster, connection, now_s))
        except ClusterFault as fault:
            if not fault.retriable:
                raise
            found = await _ask_leader(cluster, now_s) if isinstance(fault, LeaderMoved) else None
            if found is not None:
                return found
            if not await tries.pause():
                raise


async def quorum_at(
    connection: BrokerConnection, *, now_s: Callable[[], float] = time.time
) -> QuorumDescription:
    """Ask one broker, or the controller that leads, for the quorum; raises `ClusterFault`, `NoQuorum`."""
    alias = connection.cluster
    if connection.versions.best(DESCRIBE_QUORUM.speaks) is None:
        raise _no_quorum(alias, connection, "does not offer DescribeQuorum")
    answer = await connection.request(DESCRIBE_QUORUM, _request())
    partition = _only_partition(answer)
    error, said = _worst(answer, partition)
    if error == UNSUPPORTED_VERSION:
        raise _no_quorum(alias, connection, "offers DescribeQuorum and refuses it")
    fault = answer_fault(error, Where(alias, connection.server.broker_id, _DOING), said)
    if isinstance(fault, Denied):
        fault.hint = _MISSING_RIGHT
    if fault is not None:
        raise fault
    if partition is None:
        raise _no_quorum(alias, connection, f"answers without {METADATA_TOPIC}")
    return _description(answer, partition, int(now_s() * 1000))


async def _ask(
    cluster: RawCluster, connection: BrokerConnection, now_s: Callable[[], float]
) -> QuorumDescription:
    if connection.versions.best(DESCRIBE_QUORUM.speaks) is not None:
        await _check_identity(cluster, connection)
    return await quorum_at(connection, now_s=now_s)


async def _ask_leader(cluster: RawCluster, now_s: Callable[[], float]) -> QuorumDescription | None:
    """Return the quorum from the leader that controllers name in answers about their log; None: none does.

    In answers about the quorum they do not name it.
    """
    from jobs.cluster.admin.controllers import Controllers
    from jobs.cluster.protocol.data.metadata_log import LogPosition, fetch_log

    async with Controllers(
        cluster.connection, client_id=CLIENT_ID, timing=cluster.timing
    ) as controllers:

        async def ask(connection: BrokerConnection) -> QuorumDescription:
            await fetch_log(connection, LogPosition(1), controllers.leader_epoch, max_wait_ms=0)
            return await _ask(cluster, connection, now_s)

        try:
            return await controllers.ask(ask)
        except ClusterFault:
            return None


async def _check_identity(cluster: RawCluster, connection: BrokerConnection) -> None:
    """Refuse another cluster than the registered one; controllers do not tell whose they are."""
    if cluster.connection.cluster_id and connection.versions.best(METADATA_API.speaks) is not None:
        await cluster.metadata()


def _request() -> DescribeQuorumRequest:
    partition = PartitionData(partition_index=int32(0))
    topic = TopicData(topic_name=topic_name(METADATA_TOPIC), partitions=(partition,))
    return DescribeQuorumRequest(topics=(topic,))


def _only_partition(answer: Any) -> Any | None:
    return next((partition for topic in answer.topics for partition in topic.partitions), None)


def _worst(answer: Any, partition: Any | None) -> tuple[int, str | None]:
    """Return the error of the whole answer, else that of the partition, with what was said about it."""
    for part in (answer, partition):
        if part is not None and part.error_code:
            return int(part.error_code), getattr(part, "error_message", None)
    return 0, None


def _no_quorum(alias: str, connection: BrokerConnection, why: str) -> NoQuorum:
    is_offered = connection.versions.best(DESCRIBE_QUORUM.speaks) is not None
    mode = Mode.UNKNOWN if is_offered else mode_of(connection.versions)
    others = "" if mode is Mode.ZOOKEEPER else _OR_ELSE
    text = f"{connection.server} {why}: this cluster runs with ZooKeeper{others}."
    return NoQuorum(text, cluster=alias)


def _description(answer: Any, partition: Any, now_ms: int) -> QuorumDescription:
    return QuorumDescription(
        leader_id=_known(partition.leader_id),
        leader_epoch=partition.leader_epoch,
        high_watermark=_known(partition.high_watermark),
        voters=_replicas(partition.current_voters),
        observers=_replicas(partition.observers),
        nodes=tuple(_node(node) for node in getattr(answer, "nodes", ())),
        described_at_ms=now_ms,
    )


def _replicas(states: Iterable[Any]) -> tuple[QuorumReplica, ...]:
    """Return replicas by id; fields that an older version lacks are None."""
    found = (
        QuorumReplica(
            state.replica_id,
            id_text(getattr(state, "replica_directory_id", None)),
            _known(state.log_end_offset),
            _known(getattr(state, "last_fetch_timestamp", -1)),
            _known(getattr(state, "last_caught_up_timestamp", -1)),
        )
        for state in states
    )
    return tuple(sorted(found, key=lambda one: (one.id, one.directory_id or "")))


def _node(node: Any) -> QuorumNode:
    listeners = (QuorumEndpoint(one.name, one.host, one.port) for one in node.listeners)
    return QuorumNode(node.node_id, tuple(listeners))


def _known(value: int) -> int | None:
    return value if value >= 0 else None
