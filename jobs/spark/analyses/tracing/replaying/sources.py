"""The topics that dead letters name, and the ends of their logs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.spark.analyses.tracing.tier_reading import read_ends
from jobs.tracing.tiers import KEYS, Ends, tier_settings


def existing(client: ClusterClient, names: Iterable[str | None]) -> dict[str, TopicDescription]:
    """Return those of the named topics that exist and may be described."""
    wanted = sorted({name for name in names if name})
    found = describe_topics(client, wanted) if wanted else []
    return {one.name: one for one in found if one.error is None}


def logs_of(
    client: ClusterClient, topics: Collection[TopicDescription]
) -> tuple[dict[TopicPartition, Ends], list[str]]:
    """Return the offsets of each partition now, and sentences about those that are not known."""
    configs = read_topic_configs(client, [one.name for one in topics], KEYS)
    settings = {one.name: tier_settings(configs.get(one.name)) for one in topics}
    places = [TopicPartition(one.name, part.partition) for one in topics for part in one.partitions]
    ends = read_ends(client, places, settings)
    return ends, [f"{where}: {one.reason}" for where, one in ends.items() if one.end is None]
