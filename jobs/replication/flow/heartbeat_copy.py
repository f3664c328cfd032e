"""Topics of heartbeats are copied whatever the patterns of a flow say, as MirrorMaker 2 copies them.

They are copied beside the flow's topics and not as one of them: several flows may join the same two
clusters, and each of them may copy the same heartbeats without harm, because only the newest of a key
counts. So there are no positions to agree on, and they count neither in a flow's lag nor in its partitions.
Source: MirrorSourceConnector.shouldReplicateTopic (`heartbeats.replication.enabled`, on by default).
"""

from __future__ import annotations

import logging
import time

from jobs.cluster.admin.topics import describe_topics, list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.records import (
    OFFSET_END,
    ClientPartition,
    Consumer,
    KafkaException,
    Message,
    Producer,
)
from jobs.replication.flow.internal_topics import ensure_heartbeats_topics
from jobs.replication.flow.selection import copies_heartbeats, policy_of
from jobs.replication.flow.spec import FlowSpec

logger = logging.getLogger(__name__)

# MirrorMaker 2 looks for new topics every 10 minutes; a flow of crosslog every half minute.
LOOK_EVERY_S = 30.0
_READER = {"isolation.level": "read_committed", "auto.offset.reset": "latest"}
_MOST_AT_ONCE = 500


class HeartbeatCopy:
    """Copies what comes into the source's topics of heartbeats, from the moment it sees them on."""

    def __init__(
        self, flow: FlowSpec, source: ClusterClient, target: ClusterClient, producer: Producer
    ) -> None:
        self._flow, self._policy = flow, policy_of(flow)
        self._source, self._target, self._producer = source, target, producer
        self._consumer: Consumer | None = None
        self._topics: frozenset[str] = frozenset()
        self._looked_at: float | None = None
        self._problem = ""

    def copy_new(self) -> None:
        """Copy what is new; a problem is logged once and does not end the copying."""
        try:
            self._look()
            for message in self._consumer.consume(_MOST_AT_ONCE, 0) if self._consumer else ():
                self._copy(message)
        except (ClusterFault, KafkaException, BufferError) as error:
            self._tell(str(error))

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _look(self) -> None:
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        names = list_topic_names(self._source)
        wanted = frozenset(name for name in names if copies_heartbeats(self._flow, name))
        if wanted == self._topics:
            return
        ensure_heartbeats_topics(self._target, [self._remote(name) for name in wanted])
        if self._consumer is None:
            self._consumer = self._source.consumer(_READER)
        self._consumer.assign(
            [
                ClientPartition(topic.name, partition.partition, OFFSET_END)
                for topic in describe_topics(self._source, wanted)
                for partition in topic.partitions
            ]
        )
        self._topics = wanted
        self._tell("")

    def _copy(self, message: Message) -> None:
        error, topic, value = message.error(), message.topic(), message.value()
        if error is not None or topic is None:
            self._tell(str(error))
            return
        _, timestamp_ms = message.timestamp()
        self._producer.produce(
            self._remote(topic),
            value=value,
            key=message.key(),
            partition=0,
            timestamp=max(timestamp_ms, 0),
        )
        self._producer.poll(0)

    def _remote(self, topic: str) -> str:
        return self._policy.format_remote_topic(self._flow.source.alias, topic)

    def _tell(self, problem: str) -> None:
        if problem and problem != self._problem:
            logger.warning("heartbeats not copied flow=%s error=%s", self._flow.name, problem)
        self._problem = problem
