"""What is read of topics as wholes: works with what is known of the ends of each partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.protocol.data.offsets import LATEST
from jobs.spark.analyses.records.ranges import Work, list_moments, newest, pieces, spans_of
from jobs.spark.analyses.records.running import Reduced
from jobs.tracing.outbox import Horizon, common

_POLICY = "cleanup.policy"


def whole_works(
    client: ClusterClient,
    topics: Sequence[TopicDescription],
    arguments: Mapping[str, Any],
    extra: Mapping[str, Any],
) -> list[Work]:
    """Return works of one span each; also a partition that has nothing in the range has one.

    Added to `extra`: `is_held` (an open transaction holds back the end of the log), `is_compacted` (also
    where that cannot be read) and `from_ms` (all since then is read; None where the range does not say it).
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
            "from_ms": arguments["from"]
            if span.start > span.log_start and not span.is_cut
            else None,
            "is_compacted": "compact" in policies.get(span.topic, {}).get(_POLICY, "compact"),
        }
        works = pieces([span]) or [Work((span,))]
        found += [Work(one.spans, facts) for one in works]
    return found


def horizons_of(done: Sequence[Reduced], name: str) -> dict[str, Horizon]:
    """Return the horizon of each topic; `name` is the table with the times of its records.

    What is older than the first record that was read, or newer than the last one, is not known where the log
    has, or had, more.
    """
    found: dict[str, Horizon] = {}
    for where, group in groupby(done, key=lambda one: one.work.spans[0].where):
        works = list(group)
        times = np.concatenate([one.tables[name]["time"].to_numpy() for one in works])
        times = times[times >= 0]
        first, last, extra = works[0].work.spans[0], works[-1].work.spans[0], works[0].work.extra
        at_ms: int = extra["at_ms"]
        from_ms: int | None = extra.get("from_ms")
        if from_ms is None:
            from_ms = int(times[0]) if len(times) else at_ms
        is_cut = last.end < last.log_end or extra["is_held"]
        is_whole = all(outcome.is_whole for one in works for outcome in one.outcomes)
        own = Horizon(
            from_ms if first.start > 0 else None,
            min(at_ms, int(times[-1]) if len(times) else 0) if is_cut else at_ms,
            "unread" if not is_whole else "compacted" if extra["is_compacted"] else "",
        )
        found[where.topic] = common([found.get(where.topic, own), own])
    return found
