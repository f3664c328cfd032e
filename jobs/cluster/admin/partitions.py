"""More partitions for topics (KIP-195)."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.cimpl import NewPartitions

from jobs.cluster.admin.topics import CONFIGS_PER_REQUEST, chunks
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.read_only import refuse_when_read_only


def create_partitions(
    client: ClusterClient, wanted: Mapping[str, int]
) -> dict[str, ClusterFault | None]:
    """Grow topics to a total number of partitions; return why not per topic, None for those that grew.

    Kafka never takes partitions away: a topic that has as many already is a fault
    (INVALID_PARTITIONS), also when somebody else has just grown it.
    """
    refuse_when_read_only(client.connection.alias, "Adding partitions")
    answers = client.ask_all(
        chunks(list(wanted.items()), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: admin.create_partitions(
            [NewPartitions(name, total) for name, total in chunk],
            request_timeout=left,
            operation_timeout=left,
        ),
        "Adding partitions",
        any_broker=True,
    )
    missing = TimedOut("Adding partitions: no time was left.", cluster=client.connection.alias)
    found = {name: answers.get(name, missing) for name in wanted}
    return {n: a if isinstance(a, ClusterFault) else None for n, a in found.items()}
