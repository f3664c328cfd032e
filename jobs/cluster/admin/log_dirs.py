"""What lies on the disks of one broker: DescribeLogDirs (API 35, KIP-113, KIP-827).

Measured on Kafka 4.3.1: `offset_lag` is the high watermark *as this broker knows it* minus the end of its
own log, which is 0 for every follower however far behind it is. How far behind a replica is tell its end
offset (`replica_offsets`) and, roughly, its size beside that of the leader.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from kio.schema.describe_log_dirs.v4.request import DescribableLogDirTopic, DescribeLogDirsRequest

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Denied, Where, answer_fault
from jobs.cluster.protocol.transport.apis import DESCRIBE_LOG_DIRS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import by_topic, int32

# For the volumes of all brokers, read at the same time.
VOLUMES_S = 5.0
_LANE = "log-dirs"
# Version 4 has them.
_SIZES = ("total_bytes", "usable_bytes")
_DOING = "Reading log directories"
_MISSING_RIGHT = "Looking at log directories needs the operation DESCRIBE on the cluster."


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """A replica on a disk of one broker; `is_future`: a copy that moves between disks of this broker."""

    log_dir: str
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class BrokerLogs:
    """What one broker answered: its replicas, and the faults of directories that are broken.

    `volumes` are total and usable bytes of the volume of each directory: Kafka 3.3 and later (KIP-827).
    """

    replicas: dict[TopicPartition, ReplicaLog]
    faults: dict[str, ClusterFault]
    volumes: dict[str, tuple[int, int]] = field(default_factory=dict)


async def describe_replica_logs(
    connection: BrokerConnection, partitions: Collection[TopicPartition] | None = None
) -> BrokerLogs:
    """Ask one broker, also a fenced one, for its replicas of these partitions (None: all it has).

    What it has not is left out; a future copy does not hide the current one. Raises `ClusterFault`.
    """
    topics = None
    if partitions is not None:
        topics = tuple(
            DescribableLogDirTopic(
                topic=topic, partitions=tuple(int32(where.partition) for where in group)
            )
            for topic, group in by_topic(partitions)
        )
    answer = await connection.request(DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=topics))
    where = Where(connection.cluster, connection.server.broker_id, _DOING)
    fault = answer_fault(int(getattr(answer, "error_code", 0)), where)
    if isinstance(fault, Denied):
        fault.hint = _MISSING_RIGHT
    if fault is not None:
        raise fault
    logs = BrokerLogs({}, {})
    for result in answer.results:
        broken = answer_fault(int(result.error_code), where)
        if broken is not None:
            logs.faults[result.log_dir] = broken
        else:
            total, usable = (int(getattr(result, size, -1)) for size in _SIZES)
            if total >= 0 and usable >= 0:
                logs.volumes[result.log_dir] = (total, usable)
        _add(logs, result)
    return logs


def _add(logs: BrokerLogs, result: Any) -> None:
    """Take the replicas of one directory."""
    for topic in result.topics:
        for one in topic.partitions:
            place = TopicPartition(topic.name, one.partition_index)
            if not one.is_future_key or place not in logs.replicas:
                logs.replicas[place] = ReplicaLog(
                    result.log_dir, one.partition_size, one.offset_lag, one.is_future_key
                )


def read_log_dirs(
    client: ClusterClient, brokers: Collection[int]
) -> dict[int, BrokerLogs | ClusterFault]:
    """Return the log directories of brokers, without their replicas; why there is no answer of a broker.

    Raises `ClusterFault` when the cluster does not answer at all.
    """
    return client.ask(_DOING, lambda cluster: _read(cluster, brokers), timeout_s=2 * VOLUMES_S)


async def _read(
    cluster: RawCluster, brokers: Collection[int]
) -> dict[int, BrokerLogs | ClusterFault]:
    await cluster.metadata()

    async def ask(broker: int) -> BrokerLogs | ClusterFault:
        try:
            async with asyncio.timeout(VOLUMES_S):
                return await describe_replica_logs(await cluster.connection_to(broker, _LANE), ())
        except TimeoutError:
            text = f"{_DOING}: broker {broker} did not answer within {VOLUMES_S:g} s."
            return TimedOut(text, cluster=cluster.alias)
        except ClusterFault as fault:
            return fault

    answers = await asyncio.gather(*(ask(broker) for broker in brokers))
    return dict(zip(brokers, answers, strict=True))
