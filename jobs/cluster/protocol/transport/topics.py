"""Partitions in the order of Kafka's requests: topic by topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from kio.schema.types import TopicName

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.transport.primitives import topic_name


def by_topic(
    partitions: Iterable[TopicPartition],
) -> Iterator[tuple[TopicName, list[TopicPartition]]]:
    """Return each topic once, with its partitions in order."""
    for topic, group in groupby(sorted(partitions), key=lambda where: where.topic):
        yield topic_name(topic), list(group)
