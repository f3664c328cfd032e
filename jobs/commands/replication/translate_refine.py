"""What `crosslog translate --refine FLOW.yaml` adds: the records themselves are asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.replication.flow.file import read_flow_file
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.record_comparison import KafkaFingerprintReader, refine
from jobs.replication.translation.sync_history import Certificate

Refiner = Callable[[TopicPartition, int, Certificate], Certificate]


@contextmanager
def refiner_of(path: Path | None) -> Iterator[Refiner | None]:
    """Open both clusters of a flow file for as long as the block lasts; None without a file.

    The refiner answers with what it was given where a cluster does not answer, and says so. Raises
    ValueError for a file that is no flow.
    """
    if path is None:
        yield None
        return
    try:
        flow = read_flow_file(path)
    except InvalidFields as error:
        raise ValueError(f"{path}: {error}") from None
    with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
        yield _refiner(flow, source, target)


def _refiner(flow: FlowSpec, source: ClusterClient, target: ClusterClient) -> Refiner:
    policy = policy_of(flow)

    def look(where: TopicPartition, upstream: int, found: Certificate) -> Certificate:
        remote = TopicPartition(
            policy.format_remote_topic(flow.source.alias, where.topic), where.partition
        )
        try:
            return refine(
                found,
                upstream,
                KafkaFingerprintReader(source, where),
                KafkaFingerprintReader(target, remote),
            )
        except ClusterFault as fault:
            sys.stderr.write(f"{where} offset {upstream}: {fault} {fault.hint}\n")
            return found

    return look
