"""What is read of topics as wholes: works with what is known of the ends of each partition."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.protocol.data.offsets import LATEST
from jobs.spark.analyses.records.ranges import (
    Work,
    list_moments,
    newest,
    pieces,
    spans_of,
)
from jobs.spark.analyses.records.running import Reduced
from jobs.tracing.outbox import Horizon, common

# A task answers with a row for each record, about 100 bytes.
EVENT_OFFSETS = 250_000
_POLICY = "cleanup.policy"
# What cannot be read of these roles hides no event.
_HARMLESS = ("committed:", "id:")


def whole_works(
    client: ClusterClient,
    topics: Sequence[TopicDescription],
    arguments: Mapping[str, Any],
    **extra: Any,
) -> list[Work]:
    """Return works of one span each; also a partition that has nothing in the range has one.

    Added to `extra`: `at_ms` (when this began, Unix ms, unless it is given), `is_held` (an open transaction
    holds back the end of the log), `is_compacted` (also where that cannot be read), `from` (Unix ms; None:
    the span does not begin there) and `to` (None: it does not end there).
    """
    at_ms = time.time_ns() // 1_000_000
    places = [TopicPartition(one.name, p.partition) for one in topics for p in one.partitions]
    is_committed = arguments["isolation"] == "read_committed"
    latest = dict.fromkeys(places if is_committed else (), LATEST)
    # Asked before the last stable offsets: these can only be behind where a transaction is open.
    ends = list_moments(client, latest, is_committed=False)
    spans = newest(spans_of(client, topics, arguments), arguments["most_records"])
    policies = read_topic_configs(client, [one.name for one in topics], [_POLICY])
    by_time = {
        name: arguments[name] if arguments[f"{name}_offset"] is None else None
        for name in ("from", "to")
    }
    found = []
    for span in spans:
        facts = {
            "at_ms": at_ms,
            **extra,
            "from": None if span.is_cut or span.start <= span.log_start else by_time["from"],
            "to": by_time["to"],
            "is_held": (ends.get(span.where) or 0) > span.log_end,
            "is_compacted": "compact" in policies.get(span.topic, {}).get(_POLICY, "compact"),
        }
        works = pieces([span], EVENT_OFFSETS) or [Work((span,))]
        found += [Work(one.spans, facts) for one in works]
    return found


def problems_table(problems: Mapping[str, int]) -> pa.Table:
    """Return how many records have each problem as the table `problems` of a task."""
    rows = [{"problem": text, "records": count} for text, count in problems.items()]
    return pa.Table.from_pylist(rows, pa.schema({"problem": pa.string(), "records": pa.int64()}))


def notes_of_problems(done: Sequence[Reduced]) -> Iterator[str]:
    """Yield sentences about the problems that most records have."""
    problems: Counter[str] = Counter()
    for one in done:
        for row in one.tables["problems"].to_pylist():
            problems[row["problem"]] += row["records"]
    yield from (f"{count:,} records: {text}" for text, count in problems.most_common(10))


def horizons_of(done: Sequence[Reduced], name: str) -> dict[str, Horizon]:
    """Return the horizon of each topic; `name` is the table with the times of its records.

    What is older than the first record that was read or than the range, or newer than both, is not known
    where the log has, or had, more. A record that could not be read may be each one that is missing.
    """
    found: dict[str, Horizon] = {}
    for where, group in groupby(done, key=lambda one: one.work.spans[0].where):
        works = list(group)
        times = np.concatenate([one.tables[name]["time"].to_numpy() for one in works])
        times = times[times >= 0]
        first, last, extra = works[0].work.spans[0], works[-1].work.spans[0], works[0].work.extra
        at_ms: int = extra["at_ms"]
        # All records before the first offset of a time are older, also where the range has no record.
        begins = int(times[0]) if len(times) else at_ms
        begins = begins if extra["from"] is None else extra["from"]
        ends = int(times[-1]) if len(times) else 0
        ends = ends if extra["to"] is None or extra["is_held"] else extra["to"]
        is_cut = last.end < last.log_end or extra["is_held"]
        is_whole = all(outcome.is_whole for one in works for outcome in one.outcomes)
        is_whole = is_whole and not any(map(_hides_events, works))
        own = Horizon(
            begins if first.start > 0 else None,
            min(at_ms, ends) if is_cut else at_ms,
            "unread" if not is_whole else "compacted" if extra["is_compacted"] else "",
        )
        found[where.topic] = common([found.get(where.topic, own), own])
    return found


def _hides_events(one: Reduced) -> bool:
    """Return whether a work has a problem that may hide an event; a kind without the table has none."""
    texts = one.tables["problems"]["problem"].to_pylist() if "problems" in one.tables else ()
    return not all(text.startswith(_HARMLESS) for text in texts)
