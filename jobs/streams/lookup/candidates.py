"""Where a key of a store may be: producers take its hash modulo the partitions of the topic they write to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.limits import some
from jobs.streams.application import Application, Store
from jobs.wire.batches.hashes import Partitioner, partition_for_key

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """The partition of a key in those topics that have as many partitions."""

    partition: int
    partitions: int
    topics: tuple[str, ...]
    partitioner: Partitioner = Partitioner.MURMUR2

    def __str__(self) -> str:
        return f"{self.partition} ({names_of(self.topics)}: {self.partitions} partitions)"


@dataclass(frozen=True, slots=True)
class SeenPlaces:
    """Which partitions of a changelog have a key with a value, and which were not read."""

    partitions: tuple[int, ...] = ()
    unread: tuple[int, ...] = ()

    def possible(self, candidates: Iterable[Candidate]) -> tuple[int, ...]:
        """Return where a key is or may be: where it was seen, and what was not read."""
        places = places_of(candidates)
        if not self.partitions:
            return places
        return tuple(
            dict.fromkeys((*self.partitions, *(one for one in places if one in self.unread)))
        )


NOT_SEEN = SeenPlaces()


def candidates_of(
    application: Application, store: Store, key: bytes, partitioner: Partitioner
) -> tuple[Candidate, ...]:
    """Return the places of a key by all topics that feed its store, the largest topics first.

    Topics of merged streams may differ in size. Empty: of no topic, or not of all, the size is known.
    """
    topics: dict[int, list[str]] = defaultdict(list)
    for topic in store.source_topics:
        topics[application.topic_partitions.get(topic, 0)].append(topic)
    if 0 in topics:
        return ()
    return tuple(
        Candidate(
            partition_for_key(key, count, partitioner), count, tuple(sorted(own)), partitioner
        )
        for count, own in sorted(topics.items(), reverse=True)
    )


def places_of(candidates: Iterable[Candidate]) -> tuple[int, ...]:
    """Return the partitions, each once, in the order of the candidates."""
    return tuple(dict.fromkeys(one.partition for one in candidates))


def names_of(topics: Iterable[str]) -> str:
    """Return the first topics, and how many more there are."""
    return some(tuple(topics), _MOST_NAMES)


def either(partitions: Iterable[object], word: str = "or") -> str:
    """Return partitions as a text: 3 or 1."""
    return f" {word} ".join(map(str, partitions))
