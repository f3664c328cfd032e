"""What is read of topics as wholes: works with what is known of the ends of each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.protocol.data.offsets import LATEST
from jobs.spark.analyses.records.ranges import Span, Work, list_moments, newest, pieces, spans_of
from jobs.spark.analyses.records.running import Reduced
from jobs.tracing.outbox import Horizon

_POLICY = "cleanup.policy"


def whole_works(
    client: ClusterClient,
    topics: Sequence[TopicDescription],
    arguments: Mapping[str, Any],
    extra: Mapping[str, Any],
) -> list[Work]:
    """Return works of one span each; also a partition that has nothing in the range has one.

    Added to `extra`: `is_held` (an open transaction holds back the end of the log) and `is_compacted` (also
    where that cannot be read).
    """
    places = [TopicPartition(one.name, p.partition) for one in topics for p in one.partitions]
    is_committed = arguments["isolation"] == "read_committed"
    latest = dict.fromkeys(places if is_committed else (), LATEST)
    # Asked before the last stable offsets: these can only be behind where a transaction is open.
    ends = list_moments(client, latest, is_committed=False)
    spans = newest(spans_of(client, topics, arguments), arguments["most_records"])
    policies = read_topic_configs(client, [one.name for one in topics], [_POLICY])
    found = []
    for span in spans:
        facts = {
            **extra,
            "is_held": (ends.get(span.where) or 0) > span.log_end,
            "is_compacted": "compact" in policies.get(span.topic, {}).get(_POLICY, "compact"),
        }
        works = pieces([span]) or [Work((span,))]
        found += [Work(one.spans, facts) for one in works]
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """A work that was done, with the record times of its first and last record, -1: none."""

    done: Reduced
    first_ms: int = -1
    last_ms: int = -1

    @property
    def span(self) -> Span:
        return self.done.work.spans[0]

    def fact(self, name: str) -> Any:
        """Return what the plan knew."""
        return self.done.work.extra[name]


def horizon_of(parts: Sequence[Part]) -> Horizon:
    """Return the horizon of one partition, of its parts in their order.

    What is older than the first record that was read, or newer than the last one, is not known where the log
    has, or had, more.
    """
    first, last = parts[0], parts[-1]
    at_ms: int = first.fact("at_ms")
    firsts = [one.first_ms for one in parts if one.first_ms >= 0]
    lasts = [one.last_ms for one in parts if one.last_ms >= 0]
    is_cut = last.span.end < last.span.log_end or last.fact("is_held")
    reason = "compacted" if first.fact("is_compacted") else ""
    if not all(one.is_whole for part in parts for one in part.done.outcomes):
        reason = "unread"
    return Horizon(
        (firsts[0] if firsts else at_ms) if first.span.start > 0 else None,
        min(at_ms, lasts[-1] if lasts else 0) if is_cut else at_ms,
        reason,
    )
