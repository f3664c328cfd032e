"""Which partitions there are on the side that an offset is asked from, and where they end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.offsets import read_offset_ranges
from jobs.cluster.topics import describe_topics, is_missing


@dataclass(frozen=True, slots=True)
class Limits:
    """Partitions by topic (0: there is no such topic) and their log end offsets; absent: not known."""

    alias: str = ""
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def fault(self, where: TopicPartition, offset: int) -> tuple[str, str] | None:
        """Return the part of a question that is wrong, and why; None where nothing is, or not known."""
        count, end = self.partition_counts.get(where.topic), self.ends.get(where)
        if count == 0:
            return "topic", f"There is no topic {where.topic} on {self.alias}."
        if count is not None and where.partition >= count:
            text = f"The highest partition of {where.topic} on {self.alias} is {count - 1}."
            return "partition", text
        if end is not None and offset > end:
            return "offset", f"The log end offset of {where} on {self.alias} is {end}."
        return None


NO_LIMITS = Limits()


def read_limits(
    connection: Connection, partitions: Collection[TopicPartition], *, timeout_s: float
) -> Limits:
    """Ask a cluster; raises `ClusterFault`."""
    topics = sorted({where.topic for where in partitions})
    with ClusterClient(connection, timeout_s=timeout_s) as client:
        described = describe_topics(client, topics)
        counts = {one.name: len(one.partitions) for one in described if not one.error}
        counts |= {one.name: 0 for one in described if is_missing(one)}
        wanted = {where for where in partitions if where.partition < counts.get(where.topic, 0)}
        ranges = read_offset_ranges(client, wanted, with_timestamps=False) if wanted else {}
    ends = {where: one.end_offset for where, one in ranges.items() if one.end_offset is not None}
    return Limits(connection.alias, counts, ends)
