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
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.tracing.replaying.letters import letters_in, told_table, with_originals
from jobs.spark.analyses.tracing.tier_reading import read_ends
from jobs.tracing.replay.planning import Log, is_topic_name
from jobs.tracing.tiers import KEYS, tier_settings

# A selection has at most so many dead letters.
MOST_PLANNED = 100_000


def reduce_chosen(
    readers: Sequence[SpanReader], _work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return the tables `letters` (all that were chosen, of too many the first ones) and `told`."""
    told, parts = Counter[str](), list[pa.Table]()
    for reader in readers:
        for letters, only in letters_in(reader, options, told):
            told["chosen"] += len(letters)
            if len(letters) and told["chosen"] - len(letters) <= MOST_PLANNED:
                parts.append(with_originals(letters, only(letters)))
    return {**({"letters": pa.concat_tables(parts)} if parts else {}), "told": told_table(told)}


def existing(client: ClusterClient, names: Iterable[str | None]) -> dict[str, TopicDescription]:
    """Return those of the named topics that exist and may be described."""
    wanted = sorted({name for name in names if name is not None and is_topic_name(name)})
    found = describe_topics(client, wanted) if wanted else []
    return {one.name: one for one in found if one.error is None}


def logs_of(
    client: ClusterClient, topics: Collection[TopicDescription]
) -> tuple[dict[TopicPartition, Log], list[str]]:
    """Return the offsets of each partition now, and sentences about those that are not known."""
    configs = read_topic_configs(client, [one.name for one in topics], KEYS)
    settings = {one.name: tier_settings(configs.get(one.name)) for one in topics}
    places = [TopicPartition(one.name, part.partition) for one in topics for part in one.partitions]
    ends = read_ends(client, places, settings)
    logs = {
        where: Log(one.log_start, one.end, one.local_start)
        for where, one in ends.items()
        if one.log_start is not None and one.end is not None
    }
    return logs, [f"{where}: {ends[where].reason}" for where in places if where not in logs]
