"""The queries of a flow check on both clusters; tests use a fake."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.group_reading import read_groups
from jobs.replication.findings.reading import WireAnswers, read_wire
from jobs.replication.findings.snapshot import GroupSnapshot
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.drift import DriftReport, read_drift

TIMEOUT_S = 10.0


class FindingDoor(Protocol):
    """Questions to the clusters of a flow; every one may raise `ClusterFault`."""

    def wire(
        self,
        flow: FlowSpec,
        partitions: Collection[TopicPartition],
        known: Mapping[str, Any],
        budget_s: float,
    ) -> WireAnswers:
        """Return what the topics of MirrorMaker 2 say, and where remote partitions end."""
        ...

    def groups(self, flow: FlowSpec, groups: Collection[str]) -> list[GroupSnapshot]:
        """Return where groups stand on both sides, the target asked before the source."""
        ...

    def drift(self, flow: FlowSpec) -> DriftReport:
        """Return how the topics of both sides differ."""
        ...


class KafkaFindingDoor:
    """The real clusters; every question opens its own clients and closes them."""

    def wire(
        self,
        flow: FlowSpec,
        partitions: Collection[TopicPartition],
        known: Mapping[str, Any],
        budget_s: float,
    ) -> WireAnswers:
        """Read the internal topics, each part for itself."""
        with (
            ClusterClient(flow.source, timeout_s=TIMEOUT_S) as source,
            ClusterClient(flow.target, timeout_s=TIMEOUT_S) as target,
        ):
            return read_wire(source, target, flow, partitions, known, budget_s=budget_s)

    def groups(self, flow: FlowSpec, groups: Collection[str]) -> list[GroupSnapshot]:
        """Ask for the committed offsets of these groups."""
        with (
            ClusterClient(flow.source, timeout_s=TIMEOUT_S) as source,
            ClusterClient(flow.target, timeout_s=TIMEOUT_S) as target,
        ):
            return read_groups(source, target, flow, groups)

    def drift(self, flow: FlowSpec) -> DriftReport:
        """Compare topics, settings and ACLs."""
        with (
            ClusterClient(flow.source, timeout_s=TIMEOUT_S) as source,
            ClusterClient(flow.target, timeout_s=TIMEOUT_S) as target,
        ):
            return read_drift(source, target, flow)


KAFKA: FindingDoor = KafkaFindingDoor()
