"""What `slips` reads: committed offsets first, then topics up to their ends, all of one moment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.groups import list_groups, read_committed_or_why
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.spark.analyses.records.ranges import Span, Work, newest, pieces, spans_of, topics_named
from jobs.tracing.extractors.extractor import Extractor

_POLICY = "cleanup.policy"
# What commits offsets for records that it reads; of shares and Connect there are none.
_COMMITTING = ("consumer", "streams", "")


@dataclass(frozen=True, slots=True)
class Planned:
    """What was known when reading was planned; JSON values.

    `is_to_end`: the range ends where the logs do. `compacted`: topics. `begun`: partitions with records
    before those read, see `_begin`. `groups`: by step. `committed`: offsets by partition and group. `fault`
    says why groups are not known, `faults` why one is not.
    """

    planned_ms: int
    is_to_end: bool
    compacted: Sequence[str]
    begun: Sequence[Sequence[Any]]
    topics: Sequence[str]
    groups: Mapping[str, str]
    committed: Mapping[str, Mapping[str, int | None]]
    fault: str
    faults: Mapping[str, str]

    def offsets(self, where: TopicPartition, step: str) -> Mapping[str, int | None] | None:
        """Return the offsets of groups on a partition; None: they could not be read."""
        group = self.groups.get(step, "")
        is_unknown = group in self.faults if group else bool(self.fault or self.faults)
        return None if is_unknown else self.committed.get(str(where), {})

    def horizon(self, firsts: Mapping[TopicPartition, int]) -> int:
        """Return from which time on everything was read, Unix ms; 0: nothing is missing before.

        `firsts`: the time of the first record that was read of each partition.
        """
        times = [0]
        for topic, partition, from_ms in self.begun:
            first = firsts.get(TopicPartition(topic, partition), self.planned_ms)
            times.append(first if from_ms is None else from_ms)
        return max(times)

    @property
    def is_holed(self) -> bool:
        """Whether records of slips may be missing."""
        return bool(self.begun or self.compacted)


def plan_slips(
    connection: Connection, extractor: Extractor, arguments: Mapping[str, Any]
) -> list[Work]:
    """Return the works; the extra of the first one has the fields of `Planned`. Raises as `spans_of`."""
    with ClusterClient(connection, timeout_s=30) as client:
        named = topics_named(client, arguments["topics"] or extractor.topics)
        topics = [one for one in named if one.name != extractor.lookup_topic]
        if not topics:
            raise InvalidFields({"topics": "Only the lookup topic matches."})
        names = [one.name for one in topics]
        committed, fault, faults = _committed(client, extractor, set(names))
        planned_ms = time.time_ns() // 1_000_000
        spans = newest(spans_of(client, topics, arguments), arguments["most_records"])
        policies = read_topic_configs(client, names, [_POLICY])
        looked_up = []
        if extractor.lookup_topic:
            found = topics_named(client, extractor.lookup_topic, "extractor")
            whole = dict.fromkeys(("from", "to", "from_offset", "to_offset"))
            looked_up = spans_of(client, found, {**arguments, **whole})
    looked_up = newest(looked_up, arguments["most_records"])
    known = Planned(
        planned_ms=planned_ms,
        is_to_end=all(one.end >= one.log_end for one in spans),
        compacted=[n for n in names if "compact" in policies.get(n, {}).get(_POLICY, "compact")],
        begun=[_begin(one, arguments) for one in spans if one.start > 0],
        topics=names,
        groups=extractor.groups,
        committed=committed,
        fault=fault,
        faults=faults,
    )
    works = pieces([*spans, *looked_up]) or [Work(tuple(spans[:1]))]
    return [replace(works[0], extra=asdict(known)), *works[1:]]


def _begin(span: Span, arguments: Mapping[str, Any]) -> list[Any]:
    """Return topic, partition and the time from which on it is read; None: that of its first record."""
    is_by_time = arguments["from"] is not None and span.start > span.log_start and not span.is_cut
    return [span.topic, span.partition, arguments["from"] if is_by_time else None]


def _committed(
    client: ClusterClient, extractor: Extractor, topics: set[str]
) -> tuple[dict[str, dict[str, int | None]], str, dict[str, str]]:
    """Return the fields `committed`, `fault` and `faults` of `Planned`."""
    try:
        listed = list_groups(client, every_type=True)
        groups = {
            one.group_id
            for one in listed.groups
            if one.protocol in _COMMITTING and one.type != "share"
        }
        read = read_committed_or_why(client, sorted(groups | set(extractor.groups.values())))
    except ClusterFault as fault:
        return {}, fault.message, {}
    found: dict[str, dict[str, int | None]] = {}
    for group, offsets in read.committed.items():
        for where, one in offsets.items():
            if where.topic in topics:
                found.setdefault(str(where), {})[group] = one.offset
    return found, next(iter(listed.errors), ""), dict(read.errors)
