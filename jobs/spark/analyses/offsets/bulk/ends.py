"""Which partitions there are on the side that offsets are asked from, and where they end, as of now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition


@dataclass(frozen=True, slots=True)
class Ends:
    """Partitions by topic (0: there is no such topic) and their log end offsets; absent: not known.

    The end is the high watermark: some groups read what is not committed, too.
    """

    alias: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def end_of(self, where: TopicPartition) -> int:
        """Return the log end offset; -1: not known."""
        return self.ends.get(where, -1)

    def end_text(self, where: TopicPartition) -> str:
        """Return what is to be said of an offset behind the end."""
        return f"The log end offset of {where} on {self.alias} is {self.ends[where]}."

    def missing_text(self, where: TopicPartition) -> str | None:
        """Return why there is no such partition; None where there is one, or nothing is known."""
        count = self.counts.get(where.topic)
        if count == 0:
            return f"There is no topic {where.topic} on {self.alias}."
        if count is not None and where.partition >= count:
            return f"The highest partition of {where.topic} on {self.alias} is {count - 1}."
        return None


NO_ENDS = Ends()


def read_ends(client: ClusterClient, topics: Collection[str]) -> Ends:
    """Ask a cluster for all partitions of topics; raises `ClusterFault`."""
    described = describe_topics(client, sorted(topics)) if topics else []
    counts = {one.name: len(one.partitions) for one in described if not one.error}
    wanted = [
        TopicPartition(name, number) for name, size in counts.items() for number in range(size)
    ]
    ranges = read_offset_ranges(client, wanted, with_timestamps=False) if wanted else {}
    ends = {w: one.high_watermark for w, one in ranges.items() if one.high_watermark is not None}
    missing = {one.name: 0 for one in described if is_missing(one)}
    return Ends(client.connection.alias, counts | missing, ends)
