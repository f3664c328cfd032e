"""Which brokers are set up as fenced standbys, whether they are alive, and how far their replicas are.

A standby is a broker whose own heartbeats come more seldom than the session lasts: it registers, is fenced
after one session, and keeps replicating. Measured on Kafka 4.3.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jobs.cluster.admin.brokers import RegisteredBroker, list_brokers
from jobs.cluster.admin.configs import Resource, ResourceType, read_configs_at
from jobs.cluster.admin.controllers import Controllers
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.admin.quorum import QuorumDescription, quorum_at
from jobs.cluster.admin.registrations import BrokerRegistration, RegistrationLog
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.offsets import replica_end_offsets
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.transport_faults import Server

INTERVAL, SESSION = "broker.heartbeat.interval.ms", "broker.session.timeout.ms"
# Brokers fetch the metadata log every half second at least.
ALIVE_MS = 5_000
_ANSWER_S = 2.0


@dataclass(frozen=True, slots=True)
class Standby:
    """One broker, seen as a standby.

    `heartbeat_interval_ms` and `session_timeout_ms` are its own settings, None where they may not be read.
    `fetched_ago_ms` is how long ago it last read the metadata log, by the clock of the controller (None:
    unknown). `answers`: it answered on its client listener. `partitions` have a replica on it, `in_isr` of
    them have it in the ISR, `most_lag_records` is how far the worst of its replicas is behind its leader
    (None: not known, or a leader is missing), `unknown_lag` how many of them did not tell.
    """

    broker_id: int
    rack: str | None
    broker_epoch: int
    is_fenced: bool
    host: str
    port: int
    heartbeat_interval_ms: int | None = None
    session_timeout_ms: int | None = None
    fetched_ago_ms: int | None = None
    answers: bool = False
    partitions: int = 0
    in_isr: int = 0
    leads: int = 0
    most_lag_records: int | None = None
    unknown_lag: int = 0

    @property
    def is_set_up(self) -> bool:
        """Whether its settings make it a standby; where they are not known, whether it behaves like one."""
        if self.heartbeat_interval_ms is not None and self.session_timeout_ms is not None:
            return self.heartbeat_interval_ms > self.session_timeout_ms
        return self.is_fenced and self.is_alive

    @property
    def is_alive(self) -> bool:
        """Whether its process runs and reads the metadata log; by its answer alone if that is unknown."""
        if self.fetched_ago_ms is None:
            return self.answers
        return self.fetched_ago_ms <= ALIVE_MS

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self) | {"is_set_up": self.is_set_up, "is_alive": self.is_alive}


async def read_standbys(cluster: RawCluster, controllers: Controllers) -> dict[int, Standby]:
    """Return every registered broker with what tells whether it is a standby; raises `ClusterFault`."""
    log = RegistrationLog(controllers)
    await log.catch_up()
    registered = await _listed(cluster, log)
    partitions = await describe_partitions(cluster)
    quorum = await _quorum(controllers)
    found = await asyncio.gather(
        *(
            _standby(cluster, registration, registered.get(number), partitions, quorum)
            for number, registration in sorted(log.brokers.items())
        )
    )
    return {one.broker_id: one for one in found}


async def _listed(cluster: RawCluster, log: RegistrationLog) -> dict[int, RegisteredBroker]:
    """Return where brokers listen for us; before Kafka 4.0 the first endpoint of the registration."""
    try:
        return await list_brokers(cluster)
    except ClusterFault as fault:
        if fault.code != "version_not_offered":
            raise
    return {
        number: RegisteredBroker(
            number, one.endpoints[0].host, one.endpoints[0].port, one.rack, one.is_fenced
        )
        for number, one in log.brokers.items()
        if one.endpoints
    }


async def _quorum(controllers: Controllers) -> QuorumDescription | None:
    try:
        return await controllers.ask(quorum_at)
    except ClusterFault:
        return None


async def _standby(
    cluster: RawCluster,
    registration: BrokerRegistration,
    listed: RegisteredBroker | None,
    partitions: Mapping[TopicPartition, PartitionReplicas],
    quorum: QuorumDescription | None,
) -> Standby:
    number = registration.broker_id
    mine = {where: one for where, one in partitions.items() if number in one.replicas}
    server = listed.server if listed is not None else None
    settings = await _settings(cluster, server)
    lag = await _lag(cluster, server, mine) if settings is not None else (None, len(mine))
    return Standby(
        broker_id=number,
        rack=registration.rack,
        broker_epoch=registration.broker_epoch,
        is_fenced=registration.is_fenced,
        host=server.host if server else "",
        port=server.port if server else 0,
        heartbeat_interval_ms=(settings or {}).get(INTERVAL),
        session_timeout_ms=(settings or {}).get(SESSION),
        fetched_ago_ms=fetched_ago_ms(quorum, number),
        answers=settings is not None,
        partitions=len(mine),
        in_isr=sum(number in one.isr for one in mine.values()),
        leads=sum(number == one.leader for one in mine.values()),
        most_lag_records=lag[0],
        unknown_lag=lag[1],
    )


def fetched_ago_ms(quorum: QuorumDescription | None, broker_id: int) -> int | None:
    """Return how long ago a broker read the metadata log, by the leader's clock; None: unknown.

    The leader itself reads its own log at this moment.
    """
    if quorum is None:
        return None
    if quorum.leader_id == broker_id:
        return 0
    known = [one for one in (*quorum.voters, *quorum.observers) if one.id == broker_id]
    fetched = [one.last_fetch_at_ms for one in known if one.last_fetch_at_ms is not None]
    leader = next((one for one in quorum.voters if one.id == quorum.leader_id), None)
    now_ms = leader.last_caught_up_at_ms if leader is not None else None
    if not fetched or now_ms is None:
        return None
    return max(0, now_ms - max(fetched))


def reached_offset(quorum: QuorumDescription | None, broker_id: int) -> int | None:
    """Return the last offset of the metadata log that a broker has; None: the quorum does not tell."""
    if quorum is None:
        return None
    known = [one for one in (*quorum.voters, *quorum.observers) if one.id == broker_id]
    ends = [one.log_end_offset for one in known if one.log_end_offset is not None]
    return max(ends) - 1 if ends else None


async def _settings(cluster: RawCluster, server: Server | None) -> dict[str, int | None] | None:
    """Return the broker's own two settings; None: it does not answer, values None: they may not be read."""
    if server is None:
        return None
    try:
        async with asyncio.timeout(_ANSWER_S):
            connection = await cluster.connection_at(server, COORDINATOR)
            resource = Resource(ResourceType.BROKER, str(server.broker_id))
            found = await read_configs_at(connection, resource, (INTERVAL, SESSION))
    except TimeoutError:
        return None
    except ClusterFault as fault:
        return {} if fault.code == "not_authorized" else None
    return {name: int(one.value) for name, one in found.items() if one.value}


async def _lag(
    cluster: RawCluster,
    server: Server | None,
    mine: Mapping[TopicPartition, PartitionReplicas],
) -> tuple[int | None, int]:
    """Return how far the worst replica of a broker is behind, and of how many that is not known."""
    if server is None or not mine:
        return (None, len(mine))
    ours = await _ends(cluster, server, mine)
    by_leader: dict[int, list[TopicPartition]] = {}
    for where, one in mine.items():
        if one.leader is not None:
            by_leader.setdefault(one.leader, []).append(where)
    metadata = await cluster.metadata()
    leaders = [
        (Server(b.host, b.port, b.broker_id), by_leader[b.broker_id])
        for b in metadata.brokers.values()
        if b.broker_id in by_leader
    ]
    theirs: dict[TopicPartition, int] = {}
    for ends in await asyncio.gather(*(_ends(cluster, *one) for one in leaders)):
        theirs |= ends
    lags = [
        max(0, theirs[where] - ours[where]) for where in mine if where in theirs and where in ours
    ]
    return (max(lags) if lags else None, len(mine) - len(lags))


async def _ends(
    cluster: RawCluster, server: Server, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the ends of one broker's replicas, without those that it does not tell."""
    try:
        connection = await cluster.connection_at(server, COORDINATOR)
        found = await replica_end_offsets(connection, partitions)
    except ClusterFault:
        return {}
    return {where: end for where, end in found.items() if isinstance(end, int)}
