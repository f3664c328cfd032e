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
from typing import Self

from jobs.cluster.client import ClusterClient
from jobs.replication.flow.heartbeat_copy import HeartbeatCopy, shared_writer
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo
from jobs.wire.batches.records import PlacedRecord
from jobs.wire.mirror_records import Heartbeat, encode_heartbeat

logger = logging.getLogger(__name__)

EVERY_S = 1.0


class Heartbeats:
    """Sends and copies heartbeats while the block runs; a cluster that does not take one gets the next.

    A cluster that does not answer delays neither the heartbeats of the other one nor those of other flows.
    """

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
        name = f"{flow.name}: heartbeats"
        self._thread = threading.Thread(target=self._beat, name=name, daemon=True)
        self._to_source, self._to_target = shared_writer(source), shared_writer(target)
        self._copy = HeartbeatCopy(flow, source, target)
        self._problem = ""

    def __enter__(self) -> Self:
        if self._flow.heartbeats is not HeartbeatsTo.NONE:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _beat(self) -> None:
        due_at = time.monotonic()
        while True:
            self._send()
            due_at = max(due_at + EVERY_S, time.monotonic())
            if self._over.wait(due_at - time.monotonic()):
                return

    def _send(self) -> None:
        there, back = self._flow.source.alias, self._flow.target.alias
        problems = []
        if self._flow.heartbeats is HeartbeatsTo.BOTH:
            problems.append(self._to_source.write({self._topic: [self._heartbeat(back, there)]}))
        copied = self._copy.copy_new()
        sent = {**copied, self._topic: [self._heartbeat(there, back)]}
        problems.append(self._to_target.write(sent))
        problem = " ".join(filter(None, problems))
        if problem and problem != self._problem:
            logger.info("no heartbeat flow=%s error=%s", self._flow.name, problem)
        self._problem = problem

    def _heartbeat(self, source_alias: str, target_alias: str) -> PlacedRecord:
        now_ms = self._now_ms()
        key, value = encode_heartbeat(Heartbeat(source_alias, target_alias, now_ms))
        return PlacedRecord(0, now_ms, key, value)
