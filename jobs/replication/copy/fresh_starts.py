"""Positions of topics that are copied from their beginning again, written before anybody copies them.

Otherwise a crash before the first commit would leave the position of the old topic in place, and
copying would resume in the middle of the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import TimedOut
from jobs.cluster.records import KafkaException
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.positions import PositionWriter, read_positions

logger = logging.getLogger(__name__)

FLUSH_S = 10.0
_SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    # Keys of positions go where the Java client puts them.
    "partitioner": "murmur2_random",
    "message.timeout.ms": int(FLUSH_S * 1000),
}


def note_fresh_starts(
    target: ClusterClient, source_alias: str, starts: Collection[PartitionStart]
) -> int:
    """Write the positions of those starts that are not where the target says; return how many.

    Only while no copier has these partitions. Raises `ClusterFault`.
    """
    known = read_positions(target, source_alias)
    fresh = [start for start in starts if known.get(start.where, start.position) != start.position]
    if not fresh:
        return 0
    producer = target.producer(_SETTINGS)
    writer = PositionWriter(producer, source_alias, known)
    try:
        for start in fresh:
            writer.write(start.where, start.position, None)
        left = producer.flush(FLUSH_S)
    except KafkaException as error:
        raise target.fault_of(error.args[0], "Writing positions") from None
    if left:
        raise TimedOut(
            f"{left} positions were not acknowledged within {FLUSH_S:.0f} s.",
            cluster=target.connection.alias,
        )
    logger.info("noted fresh starts partitions=%d", len(fresh))
    return len(fresh)
