"""What the cluster is at one moment, as plain tables (Kafka's `MetadataImage`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from jobs.quorum.image.partition_registration import PartitionRegistration
from jobs.quorum.image.registrations import (
    Acl,
    BrokerRegistration,
    ControllerRegistration,
    DelegationToken,
    Topic,
)

Entity = tuple[tuple[str, str | None], ...]
_K = TypeVar("_K")
_L = TypeVar("_L")
_V = TypeVar("_V")


class ProducerIds(NamedTuple):
    """The next producer id to be given out, and the broker that got the last block."""

    next_producer_id: int
    broker_id: int


class ImageTables:
    """Everything the metadata log registers, by its own key.

    `topics` and `partitions` are by topic id (22 characters); `topic_ids` finds the living topic of a name.
    `configs` are by (type, name) of the resource; `quotas` by entity. `features` leaves kraft.version out:
    that comes from control records alone. `producer_ids` None: none were given out yet.
    """

    __slots__ = (
        "acls",
        "brokers",
        "configs",
        "controllers",
        "features",
        "partitions",
        "producer_ids",
        "quotas",
        "scram",
        "tokens",
        "topic_ids",
        "topics",
        "zk_migration_state",
    )

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerRegistration] = {}
        self.controllers: dict[int, ControllerRegistration] = {}
        self.topics: dict[str, Topic] = {}
        self.topic_ids: dict[str, str] = {}
        self.partitions: dict[str, dict[int, PartitionRegistration]] = {}
        self.configs: dict[tuple[str, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.quotas: dict[Entity, dict[str, float]] = {}
        self.acls: dict[str, Acl] = {}
        self.producer_ids: ProducerIds | None = None
        self.scram: set[tuple[str, int]] = set()
        self.tokens: dict[str, DelegationToken] = {}
        self.zk_migration_state: int | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ImageTables):
            return NotImplemented
        # The names of topics stand in `topics`; `topic_ids` only finds them.
        names = (name for name in ImageTables.__slots__ if name != "topic_ids")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is registered at all."""
        return self == ImageTables()

    def take(self, other: ImageTables) -> None:
        """Become what other tables are; they are not to be used any more."""
        for name in ImageTables.__slots__:
            setattr(self, name, getattr(other, name))

    def copy(self) -> ImageTables:
        """Return tables of their own with the same content; the content never changes."""
        found = ImageTables()
        found.overlay(self)
        return found

    def overlay(self, newer: ImageTables) -> None:
        """Take over what other tables hold; what they do not hold stays."""
        self.brokers.update(newer.brokers)
        self.controllers.update(newer.controllers)
        self.topics.update(newer.topics)
        self.topic_ids.update(newer.topic_ids)
        _overlay(self.partitions, newer.partitions)
        _overlay(self.configs, newer.configs)
        self.features.update(newer.features)
        _overlay(self.quotas, newer.quotas)
        self.acls.update(newer.acls)
        self.producer_ids = newer.producer_ids or self.producer_ids
        self.scram |= newer.scram
        self.tokens.update(newer.tokens)
        if newer.zk_migration_state is not None:
            self.zk_migration_state = newer.zk_migration_state

    def partition_rows(self) -> Iterator[tuple[Topic, int, PartitionRegistration]]:
        """Yield every partition, by the topic's name and the partition."""
        for topic in sorted(self.topics.values(), key=lambda one: (one.name, one.topic_id)):
            for partition, state in sorted(self.partitions.get(topic.topic_id, {}).items()):
                yield topic, partition, state

    def partition(self, topic: str, partition: int) -> PartitionRegistration | None:
        """Return the state of a partition of the living topic of this name; None where there is none."""
        topic_id = self.topic_ids.get(topic)
        return None if topic_id is None else self.partitions[topic_id].get(partition)


def _overlay(mine: dict[_K, dict[_L, _V]], newer: dict[_K, dict[_L, _V]]) -> None:
    for key, values in newer.items():
        mine[key] = {**mine.get(key, {}), **values}
