"""Which partitions there are on the side that offsets are asked from, and where they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition


@dataclass(frozen=True, slots=True)
class Limits:
    """Partitions by topic (0: there is no such topic) and their log end offsets; absent: not known."""

    alias: str = ""
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def fault(self, where: TopicPartition, offset: int) -> tuple[str, str] | None:
        """Return the part of a question that is wrong, and why; None where nothing is, or not known."""
        missing, end = self.missing(where), self.ends.get(where)
        if missing is None and end is not None and offset > end:
            return "offset", self.end_text(where)
        return missing

    def missing(self, where: TopicPartition) -> tuple[str, str] | None:
        """Return which part of a partition is not there, and why; None where it is, or nothing is known."""
        count = self.partition_counts.get(where.topic)
        if count == 0:
            return "topic", f"There is no topic {where.topic} on {self.alias}."
        if count is not None and where.partition >= count:
            text = f"The highest partition of {where.topic} on {self.alias} is {count - 1}."
            return "partition", text
        return None

    def end_text(self, where: TopicPartition) -> str:
        """Return what is to be said of an offset behind the end, which must be known."""
        return f"The log end offset of {where} on {self.alias} is {self.ends[where]}."


NO_LIMITS = Limits()
