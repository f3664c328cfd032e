"""Pictures of a flow from east to west, for the rules of silent failures."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.findings.memory import FlowMemory
from jobs.replication.findings.silent_failures import Judgement, evaluate_snapshot
from jobs.replication.findings.snapshot import ConnectorStatus, FlowSnapshot, PartitionSnapshot
from jobs.wire.topics.connect_records import ConnectStatus, StatusKey

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def picture(at: datetime = NOW, **parts: Any) -> FlowSnapshot:
    return FlowSnapshot("orders to west", "east", "west", at, **{"is_watched": True, **parts})


def partition(number: int = 0, position: int | None = 100, end: int | None = 100, **more: Any):
    where = TopicPartition("orders", number)
    return PartitionSnapshot(where, position, more.pop("start", 0), end, **more)


def said(state: str, *, at: datetime = NOW, trace: str = "") -> ConnectorStatus:
    return ConnectorStatus(ConnectStatus(state, trace, "worker"), at)


def task(number: int = 0, connector: str = "MirrorSourceConnector") -> StatusKey:
    return StatusKey(connector, number)


def look(*pictures: FlowSnapshot, memory: FlowMemory | None = None) -> Judgement:
    """Judge pictures one after the other; returns the last judgement."""
    known = memory or FlowMemory()
    for one in pictures:
        # What is remembered goes through the form in which it is stored.
        known = FlowMemory.from_mapping(known.to_mapping())
        judgement = evaluate_snapshot(one, known)
        known = judgement.memory
    return judgement


def codes(judgement: Judgement) -> list[str]:
    return [finding.code.value for finding in judgement.findings]
