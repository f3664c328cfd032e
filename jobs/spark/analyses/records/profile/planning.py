"""What is read for a profile: which spans of topics are counted together."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.offsets import LATEST
from jobs.spark.analyses.records import ranges
from jobs.spark.analyses.records.profile.counting import count_records
from jobs.spark.analyses.records.ranges import PIECE_OFFSETS, Span, Work, pieces
from jobs.spark.analyses.records.reading import Reading
from jobs.spark.analyses.records.running import Reduced, connections_of, reduce_records
from jobs.spark.analyses.task import AnalysisTask

_POLICY = "cleanup.policy"
# A task is not given more spans at once: each of them is one request at least.
_MOST_SPANS = 500


def counted(
    task: AnalysisTask, kind: str, arguments: Mapping[str, Any], width_ms: int
) -> Iterator[Reduced]:
    """Yield the works of a profile when they are counted (`count_records`), topic by topic."""
    connections = connections_of(task, "cluster")
    is_committed = arguments["isolation"] == "read_committed"
    return reduce_records(
        task,
        {"kind": kind, "arguments": dict(arguments)},
        Reading(connections, read_committed=is_committed, hash_keys=True),
        lambda: _plan(connections["cluster"], arguments, is_committed=is_committed),
        count_records,
        {"width_ms": width_ms},
    )


def _plan(
    connection: Connection, arguments: Mapping[str, Any], *, is_committed: bool
) -> list[Work]:
    with ClusterClient(connection, timeout_s=30) as client:
        topics = ranges.topics_named(client, arguments["topics"])
        now_ms = time.time_ns() // 1_000_000
        places = [TopicPartition(one.name, p.partition) for one in topics for p in one.partitions]
        latest = dict.fromkeys(places if is_committed else (), LATEST)
        # Asked before the last stable offsets: these can only be behind where a transaction is open.
        ends = ranges.list_moments(client, latest, is_committed=False)
        spans = ranges.spans_of(client, topics, arguments)
        configs = read_topic_configs(client, [one.name for one in topics], [_POLICY])
    policies = {name: values.get(_POLICY) for name, values in configs.items()}
    held = {one.where for one in spans if (ends.get(one.where) or 0) > one.log_end}
    spans = ranges.newest(spans, arguments["most_records"])
    return list(works_of(spans, arguments, now_ms, policies, held))


def works_of(
    spans: Sequence[Span],
    arguments: Mapping[str, Any],
    planned_ms: int,
    policies: Mapping[str, str | None],
    held: Collection[TopicPartition] = (),
) -> Iterator[Work]:
    """Yield works of spans of one topic each, topic by topic; a topic without records has one, too.

    `policies`: `cleanup.policy` by topic, None where it is not known. `held`: partitions whose end is held
    back by an open transaction. Extra of a work: whether there are or were records before each of its spans,
    of unknown times (`are_begun`), and behind it (`are_ended`).
    """
    for topic, group in groupby(spans, key=lambda span: span.topic):
        facts = {"planned_ms": planned_ms, "policy": policies.get(topic)}
        kept: list[tuple[Span, bool, bool]] = []
        for piece in (one for span in group for one in _pieces(span, arguments, held)):
            full = sum(one.offsets for one, _, _ in kept) + piece[0].offsets > PIECE_OFFSETS
            if kept and (full or len(kept) >= _MOST_SPANS):
                yield _work(kept, facts)
                kept = []
            kept.append(piece)
        yield _work(kept, facts)


def _work(kept: Sequence[tuple[Span, bool, bool]], facts: Mapping[str, Any]) -> Work:
    parts, are_begun, are_ended = zip(*kept, strict=True)
    return Work(parts, {**facts, "are_begun": list(are_begun), "are_ended": list(are_ended)})


def _pieces(
    span: Span, arguments: Mapping[str, Any], held: Collection[TopicPartition]
) -> Iterator[tuple[Span, bool, bool]]:
    is_removed = span.start == span.log_start > 0 and span.offsets > 0
    by_offset = arguments["from_offset"] is not None and span.log_start < arguments["from_offset"]
    is_begun = span.is_cut or is_removed or by_offset
    is_ended = (arguments["to_offset"] is not None and span.end < span.log_end) or (
        span.end == span.log_end and span.where in held
    )
    for one in [work.spans[0] for work in pieces([span])] or [span]:
        yield one, is_begun and one.start == span.start, is_ended and one.end == span.end
