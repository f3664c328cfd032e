"""What a replay plan needs beside dead letters: the chosen letters, and the topics that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.spark.analyses.records.ranges import Span, Work, spans_of
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.tracing.letters import letters_in, told_table
from jobs.tracing.replay.planning import Log, is_topic_name

# A selection has at most so many dead letters.
MOST_PLANNED = 100_000
_REMOTE = "remote.storage.enable"
_WHOLE = {"from": None, "to": None, "from_offset": None, "to_offset": None}


def reduce_chosen(
    readers: Sequence[SpanReader], _work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return the tables `letters` (all that were chosen, of too many the first ones) and `told`."""
    told, parts = Counter[str](), list[pa.Table]()
    for reader in readers:
        for letters, _ in letters_in(reader, options, told):
            told["chosen"] += len(letters)
            if len(letters) and told["chosen"] - len(letters) <= MOST_PLANNED:
                parts.append(letters)
    return {**({"letters": pa.concat_tables(parts)} if parts else {}), "told": told_table(told)}


def existing(client: ClusterClient, names: Iterable[str | None]) -> dict[str, TopicDescription]:
    """Return those of the named topics that exist and may be described."""
    wanted = sorted({name for name in names if name is not None and is_topic_name(name)})
    found = describe_topics(client, wanted) if wanted else []
    return {one.name: one for one in found if one.error is None}


def logs_of(
    client: ClusterClient, topics: Collection[TopicDescription]
) -> tuple[dict[TopicPartition, Log], dict[TopicPartition, ClusterFault]]:
    """Return the committed offsets of each partition now, or why they are not known."""
    faults: dict[TopicPartition, ClusterFault] = {}
    if not topics:
        return {}, faults
    given = {**_WHOLE, "isolation": "read_committed"}
    spans = spans_of(client, list(topics), given, faults=faults)
    configs = read_topic_configs(client, [one.name for one in topics], [_REMOTE])
    return {one.where: Log(one.start, one.end, _local_start(one, configs)) for one in spans}, faults


def _local_start(span: Span, configs: Mapping[str, Mapping[str, str]]) -> int | None:
    """Return where the log on brokers begins; None: with tiered storage, or unread configs, not known."""
    own = configs.get(span.topic)
    return span.start if own is not None and own.get(_REMOTE, "false") == "false" else None
