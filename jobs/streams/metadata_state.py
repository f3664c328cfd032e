"""What the application's own processes answer: Kafka Streams' metadata, from the routing that they have.

Source: StreamsMetadataState and KIP-67, KIP-535. The partition of a key is taken modulo the number of
partitions that are *routed* to some endpoint, not of those that exist: KAFKA-20886.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import Application, Protocol
from jobs.wire.batches.hashes import partition_for_key

UNAVAILABLE = "unavailable:-1"
Partitioner = Callable[[bytes, int], Collection[int]]


@dataclass(frozen=True, slots=True)
class HostMetadata:
    """One entry of all metadata."""

    endpoint: str
    partitions: frozenset[TopicPartition]
    stores: frozenset[str]
    standby_partitions: frozenset[TopicPartition]
    standby_stores: frozenset[str]


@dataclass(frozen=True, slots=True)
class KeyMetadata:
    """Where a key is; `active` is `UNAVAILABLE` where no endpoint has its partition."""

    active: str
    standby: frozenset[str]
    partition: int


NOT_AVAILABLE = KeyMetadata(UNAVAILABLE, frozenset(), -1)


@dataclass(frozen=True, slots=True)
class MetadataState:
    """The state of one process: routing by endpoint, and which topics feed which store.

    `counts` is how many partitions of each topic it knows. `this` is its own endpoint, None: not known.
    """

    active: Mapping[str, frozenset[TopicPartition]]
    standby: Mapping[str, frozenset[TopicPartition]]
    counts: Mapping[str, int]
    stores: Mapping[str, tuple[str, ...]]
    global_stores: frozenset[str] = field(default_factory=frozenset)
    this: str | None = None

    def all(self) -> tuple[HostMetadata, ...]:
        """`metadataForAllStreamsClients`."""
        none: frozenset[TopicPartition] = frozenset()
        found = []
        for endpoint in sorted(self.active.keys() | self.standby.keys()):
            active = self.active.get(endpoint, none)
            standby = self.standby.get(endpoint, none)
            found.append(
                HostMetadata(
                    endpoint,
                    active,
                    self._stores_fed_by(active) | self.global_stores,
                    standby,
                    self._stores_fed_by(standby),
                )
            )
        return tuple(found)

    def local(self) -> HostMetadata | None:
        """`localMetadata`."""
        return next((one for one in self.all() if one.endpoint == self.this), None)

    def for_store(self, store: str | None) -> tuple[HostMetadata, ...]:
        """`streamsMetadataForStore`: who has it as active or standby; raises ValueError without a name."""
        if store is None:
            raise ValueError("a store needs a name")
        return tuple(one for one in self.all() if store in one.stores | one.standby_stores)

    def for_key(
        self, store: str | None, key: bytes | None, partitioner: Partitioner | None = None
    ) -> KeyMetadata | None:
        """`queryMetadataForKey`; None for a store that it does not know.

        Raises ValueError without a store or key, and where a partitioner gives other than one partition.
        """
        if store is None or key is None:
            raise ValueError("a store and a key are needed")
        if not self.active and not self.standby:
            return NOT_AVAILABLE
        if store in self.global_stores:
            return KeyMetadata(self.this or min(self.active), frozenset(), -1)
        topics = self.stores.get(store)
        if topics is None:
            return None
        count = max((self.counts.get(topic, 0) for topic in topics), default=0)
        if not count:
            return NOT_AVAILABLE
        chosen = partitioner(key, count) if partitioner else (partition_for_key(key, count),)
        if len(chosen) != 1:
            raise ValueError("a partitioner must give one partition")
        return self.at(topics, next(iter(chosen)))

    def at(self, topics: Iterable[str], partition: int) -> KeyMetadata:
        """Return who has a partition of any of the topics."""
        places = {TopicPartition(topic, partition) for topic in topics}
        holders = [endpoint for endpoint, own in sorted(self.active.items()) if own & places]
        standby = frozenset(endpoint for endpoint, own in self.standby.items() if own & places)
        return KeyMetadata(holders[0] if holders else UNAVAILABLE, standby, partition)

    def holders_of(self, topics: Collection[str]) -> dict[int, str]:
        """Return who is named for each partition number of some topics, as `at` names them."""
        return {
            place.partition: endpoint
            for endpoint, own in sorted(self.active.items(), reverse=True)
            for place in own
            if place.topic in topics
        }

    def _stores_fed_by(self, places: Collection[TopicPartition]) -> frozenset[str]:
        topics = {place.topic for place in places}
        return frozenset(name for name, own in self.stores.items() if topics & set(own))


@dataclass(frozen=True, slots=True)
class NotKnowable:
    """Why the answers of the processes are not known from outside."""

    reason: str


def metadata_state(
    application: Application, this: str | None = None
) -> MetadataState | NotKnowable:
    """Return what a process with an endpoint, which has taken over the newest routing, goes by."""
    if application.left_out:
        return NotKnowable(f"The application is beyond the limits: {application.left_out[0]}")
    if not application.routes:
        return NotKnowable(
            "No process has an application.server: the application routes nothing."
            if application.threads and not any(one.endpoint for one in application.threads)
            else "No member carries a routing now."
        )
    shared = _shared_endpoints(application)
    if application.protocol is Protocol.STREAMS and shared:
        return NotKnowable(
            f"{shared[0]} is the endpoint of several threads: with the streams protocol each process "
            "keeps the partitions of only one thread per endpoint, and which one changes (KAFKA-20782)."
        )
    active = {one.endpoint: one.active for one in application.routes}
    standby = {one.endpoint: one.standby for one in application.routes}
    # Of active partitions only, whatever the standby routing says.
    visible = set().union(*active.values())
    counts: dict[str, int] = {}
    for place in visible:
        counts[place.topic] = counts.get(place.topic, 0) + 1
    fed = {
        one.name: one.source_topics
        for one in application.stores.values()
        if not one.is_global and one.subtopology is not None
    }
    global_stores = frozenset(one.name for one in application.stores.values() if one.is_global)
    return MetadataState(active, standby, counts, fed, global_stores, this)


def _shared_endpoints(application: Application) -> list[str]:
    """Return the endpoints of more than one thread."""
    counts = Counter(one.endpoint for one in application.threads if one.endpoint is not None)
    return sorted(one for one, count in counts.items() if count > 1)
