"""Heartbeats as MirrorMaker 2 sends and copies them: one record a second that says which flow lives.

The record for a flow from A to B goes to topic `heartbeats` on B, with the key (A, B). Sent to the
source as well, with the key (B, A), it is copied to `A.heartbeats` on B: by that name MirrorMaker 2's
clients know that A is upstream of B (`upstreamClusters`, `replicationHops`), and its newest record shows
that records arrive.
Source: MirrorHeartbeatTask, MirrorHeartbeatConnector and MirrorSourceConnector.isHeartbeatTopic of
org.apache.kafka.connect.mirror.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.records import KafkaException, Producer
from jobs.replication.flow.heartbeat_copy import HeartbeatCopy
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo
from jobs.wire.mirror_records import Heartbeat, encode_heartbeat

logger = logging.getLogger(__name__)

EVERY_S = 1.0
_SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    "message.timeout.ms": 10_000,
}


class Heartbeats:
    """Sends and copies heartbeats while the block runs; a cluster that does not take one gets the next."""

    def __init__(
        self,
        flow: FlowSpec,
        source: ClusterClient,
        target: ClusterClient,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._flow = flow
        self._topic = policy_of(flow).heartbeats_topic()
        self._now_ms = now_ms
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeats", daemon=True)
        self._clients = (source, target)
        if flow.heartbeats is not HeartbeatsTo.NONE:
            self._open()

    def _open(self) -> None:
        """Make producers and the copy, with the secrets of now; raises `ClusterFault`."""
        source, target = self._clients
        there, back = self._flow.source.alias, self._flow.target.alias
        settings = self._client_settings()
        to_target = target.producer(_SETTINGS)
        producers = [(to_target, there, back)]
        if self._flow.heartbeats is HeartbeatsTo.BOTH:
            producers.append((source.producer(_SETTINGS), back, there))
        self._copy = HeartbeatCopy(self._flow, source, target, to_target)
        self._producers, self._settings = producers, settings

    def _client_settings(self) -> list[dict[str, Any]]:
        return [dict(one.connection.client_config()) for one in self._clients]

    def renew(self) -> None:
        """Make the clients again where a secret was replaced: they keep the one that they began with."""
        try:
            if self._client_settings() != self._settings:
                before = self._copy
                self._open()
                before.close()
        except ClusterFault as fault:
            logger.info("no new heartbeats flow=%s error=%s", self._flow.name, fault)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        if self._flow.heartbeats is HeartbeatsTo.NONE:
            return
        while True:
            self.renew()
            for producer, source_alias, target_alias in self._producers:
                self._send(producer, source_alias, target_alias)
            self._copy.copy_new()
            if self._over.wait(EVERY_S):
                self._copy.close()
                return

    def _send(self, producer: Producer, source_alias: str, target_alias: str) -> None:
        now_ms = self._now_ms()
        key, value = encode_heartbeat(Heartbeat(source_alias, target_alias, now_ms))
        try:
            producer.produce(self._topic, value=value, key=key, partition=0, timestamp=now_ms)
            producer.poll(0)
        except (BufferError, KafkaException) as error:
            logger.info("no heartbeat flow=%s error=%s", self._flow.name, error)
