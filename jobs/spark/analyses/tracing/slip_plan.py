"""What `slips` reads: committed offsets first, then topics up to their ends, all of one moment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.groups import list_groups, read_committed_or_why
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.spark.analyses.records.ranges import Span, Work, newest, pieces, spans_of, topics_named
from jobs.spark.analyses.records.running import Reduced
from jobs.tracing.extractors.extractor import Extractor

_POLICY = "cleanup.policy"
# What commits offsets for records that it reads; of shares and Connect there are none.
_COMMITTING = ("consumer", "streams", "")


def plan_slips(
    connection: Connection, extractor: Extractor, arguments: Mapping[str, Any]
) -> list[Work]:
    """Return the works; the extra of the first one is what `Planned` has. Raises as `spans_of`."""
    with ClusterClient(connection, timeout_s=30) as client:
        named = arguments["topics"] or extractor.topics
        if not named:
            raise InvalidFields({"topics": "The extractor has no topics: name some."})
        topics = [one for one in topics_named(client, named) if one.name != extractor.lookup_topic]
        names = [one.name for one in topics]
        committed, fault, faults = _committed(client, extractor, set(names))
        planned_ms = time.time_ns() // 1_000_000
        spans = newest(spans_of(client, topics, arguments), arguments["most_records"])
        policies = read_topic_configs(client, names, [_POLICY])
        if extractor.lookup_topic:
            found = topics_named(client, extractor.lookup_topic, "extractor")
            whole = dict.fromkeys(("from", "to", "from_offset", "to_offset"))
            looked_up = spans_of(client, found, {**arguments, **whole})
            looked_up = newest(looked_up, arguments["most_records"])
        else:
            looked_up = []
    extra = {
        "planned_ms": planned_ms,
        "committed": committed,
        "fault": fault,
        "faults": faults,
        "is_to_end": all(one.end >= one.log_end for one in spans),
        "compacted": [n for n in names if "compact" in policies.get(n, {}).get(_POLICY, "compact")],
        "begun": [_begin(one, arguments) for one in spans if one.start > 0],
        "topics": names,
    }
    works = pieces([*spans, *looked_up]) or [Work(tuple(spans[:1]))]
    return [replace(works[0], extra=extra), *works[1:]]


def _begin(span: Span, arguments: Mapping[str, Any]) -> list[Any]:
    """Return topic, partition, whether there is a record, and the time from which on it is read, if known."""
    is_by_time = arguments["from"] is not None and span.start > span.log_start and not span.is_cut
    return [span.topic, span.partition, span.offsets > 0, arguments["from"] if is_by_time else None]


def _committed(
    client: ClusterClient, extractor: Extractor, topics: set[str]
) -> tuple[list[Any], str, dict[str, str]]:
    """Return group, topic, partition and offset, why groups are not known, and why one is not."""
    try:
        listed = list_groups(client, every_type=True)
        groups = {
            one.group_id
            for one in listed.groups
            if one.protocol in _COMMITTING and one.type != "share"
        }
        read = read_committed_or_why(client, sorted(groups | set(extractor.groups.values())))
    except ClusterFault as fault:
        return [], fault.message, {}
    found = [
        [group, where.topic, where.partition, one.offset]
        for group, offsets in read.committed.items()
        for where, one in offsets.items()
        if where.topic in topics and one.offset is not None
    ]
    return found, next(iter(listed.errors), ""), dict(read.errors)


class Planned:
    """What was known when reading was planned, and the horizon that follows from what was read."""

    def __init__(self, extra: Mapping[str, Any], extractor: Extractor) -> None:
        self.planned_ms: int = extra["planned_ms"]
        self.is_to_end: bool = extra["is_to_end"]
        self.compacted: list[str] = extra["compacted"]
        self.topics: list[str] = extra["topics"]
        self.fault: str = extra["fault"]
        self.faults: Mapping[str, str] = extra["faults"]
        self.groups = extractor.groups
        self._begun = extra["begun"]
        self._committed: dict[TopicPartition, dict[str, int | None]] = {}
        for group, topic, partition, offset in extra["committed"]:
            where = TopicPartition(topic, partition)
            self._committed.setdefault(where, {})[group] = offset

    def committed(self, where: TopicPartition, step: str) -> dict[str, int | None] | None:
        """Return the offsets of groups on a partition; None: they could not be read."""
        group = self.groups.get(step, "")
        if (group in self.faults) if group else (self.fault or self.faults):
            return None
        return self._committed.get(where, {})

    def horizon(self, reduced: Sequence[Reduced]) -> int:
        """Return from which time on everything was read, Unix ms; 0: nothing is missing before."""
        firsts: dict[tuple[str, int], int] = {}
        for one in reduced:
            span, first = one.work.spans[0], one.tables["span"]["first_ms"][0].as_py()
            if first >= 0:
                firsts.setdefault((span.topic, span.partition), first)
        times = [0]
        for topic, partition, has_records, from_ms in self._begun:
            first = firsts.get((topic, partition)) if has_records else None
            known = first if from_ms is None else from_ms
            times.append(self.planned_ms if known is None else known)
        return max(times)

    @property
    def is_holed(self) -> bool:
        return bool(self._begun or self.compacted)
