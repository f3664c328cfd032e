"""Where the log of every partition ends on the side that offsets are asked from, as of now."""

from __future__ import annotations

from collections.abc import Collection

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.limits import Limits


def read_ends(client: ClusterClient, topics: Collection[str]) -> Limits:
    """Ask a cluster for all partitions of topics; raises `ClusterFault`.

    The end is the high watermark: some groups read what is not committed, too.
    """
    described = describe_topics(client, sorted(topics)) if topics else []
    counts = {one.name: len(one.partitions) for one in described if not one.error}
    wanted = [
        TopicPartition(name, number) for name, size in counts.items() for number in range(size)
    ]
    ranges = read_offset_ranges(client, wanted, with_timestamps=False) if wanted else {}
    ends = {w: one.high_watermark for w, one in ranges.items() if one.high_watermark is not None}
    missing = {one.name: 0 for one in described if is_missing(one)}
    return Limits(client.connection.alias, counts | missing, ends)
