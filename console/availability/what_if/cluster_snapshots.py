"""A cluster snapshot for failure simulation: the replicas of each partition, small and fast to read.

Partitions with the same replicas, ISR, leader and ELR are one class: clusters of 50,000 partitions have few.
"""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

from jobs.availability.status.severity import BEFORE_LIMIT
from jobs.availability.what_if.model.cluster import BrokerModel, ControllerModel

# Written into every snapshot: one of another version is not read.
FORMAT = 3
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PartitionClass:
    """What partitions have in common; `leader` None: no leader, `adding` None: not known."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    adding: tuple[int, ...] | None = ()
    removing: tuple[int, ...] = ()

    def to_row(self) -> list[Any]:
        """Return it as JSON can hold it."""
        held = [self.replicas, self.isr, self.leader, self.elr, self.last_known_elr]
        return [*held, self.adding, self.removing]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> PartitionClass:
        replicas, isr, leader, elr, last, adding, removing = row
        lists = [tuple(one) for one in (replicas, isr, elr, last, removing)]
        added = None if adding is None else tuple(adding)
        return cls(lists[0], lists[1], leader, lists[2], lists[3], added, lists[4])


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic: its settings, and the class of each partition in the order of `numbers`.

    `config` is the text of its own placement, empty for none; of both settings None: not known.
    """

    name: str
    min_insync_replicas: int | None
    is_unclean_allowed: bool | None
    config: str
    numbers: Sequence[int]
    classes: Sequence[int]

    def to_row(self) -> list[Any]:
        """Return JSON values; consecutive partition numbers are stored as their count."""
        usual = list(self.numbers) == list(range(len(self.numbers)))
        numbers = len(self.numbers) if usual else list(self.numbers)
        settings = [self.min_insync_replicas, self.is_unclean_allowed, self.config]
        return [self.name, *settings, numbers, list(self.classes)]

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> TopicFacts:
        name, least, is_unclean, config, numbers, classes = row
        counted = range(numbers) if isinstance(numbers, int) else numbers
        return cls(name, least, is_unclean, config, counted, classes)


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """A cluster at one moment; `gaps` are sentences: what could not be known.

    `digest` names the content of a snapshot that is kept, empty for one that was made just now.
    """

    brokers: Sequence[BrokerModel]
    voters: Sequence[ControllerModel]
    has_elr: bool
    classes: Sequence[PartitionClass]
    topics: Sequence[TopicFacts]
    gaps: Sequence[str] = ()
    seen_at: datetime | None = None
    digest: str = ""
    limits_min_isr: bool | None = None

    @property
    def partition_count(self) -> int:
        """How many partitions there are."""
        return sum(len(topic.classes) for topic in self.topics)

    @property
    def racks(self) -> dict[int, str | None]:
        """The rack of each broker."""
        return {one.broker_id: one.rack for one in self.brokers}

    @property
    def promotes_itself(self) -> bool:
        """Whether the brokers promote observers: only those that take placements as topic configs do."""
        return any(topic.config for topic in self.topics)


def pack(snapshot: ClusterSnapshot) -> tuple[bytes, str]:
    """Return a snapshot as bytes, and the digest of its content."""
    content = {
        "format": FORMAT,
        "brokers": [[b.broker_id, b.rack, b.is_alive, b.is_standby] for b in snapshot.brokers],
        "voters": [[one.node_id, one.rack, one.is_alive] for one in snapshot.voters],
        "has_elr": snapshot.has_elr,
        "limits_min_isr": snapshot.limits_min_isr,
        "classes": [one.to_row() for one in snapshot.classes],
        "topics": [topic.to_row() for topic in snapshot.topics],
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    return zlib.compress(text, 1), sha256(text).hexdigest()


def unpack(packed: bytes, gaps: Sequence[str], seen_at: datetime | None) -> ClusterSnapshot | None:
    """Return the snapshot of bytes; None for one of another version."""
    content: Mapping[str, Any] = json.loads(zlib.decompress(packed))
    if content.get("format") != FORMAT:
        return None
    return ClusterSnapshot(
        [BrokerModel(*row) for row in content["brokers"]],
        [ControllerModel(*row) for row in content["voters"]],
        content["has_elr"],
        [PartitionClass.from_row(row) for row in content["classes"]],
        [TopicFacts.from_row(row) for row in content["topics"]],
        tuple(gaps),
        seen_at,
        limits_min_isr=content["limits_min_isr"],
    )


@dataclass(slots=True)
class ClassNumbering:
    """Numbers the classes of partitions as they come."""

    found: dict[Any, int] = field(default_factory=dict)
    classes: list[PartitionClass] = field(default_factory=list)

    def number(self, key: Any, make: Any) -> int:
        """Return the number of the class of a key; `make` is called once per key."""
        known = self.found.get(key)
        if known is None:
            known = self.found[key] = len(self.classes)
            self.classes.append(make())
        return known


class Recent(Generic[V]):
    """The newest few results of a pure function, in this process; a result is never changed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return what is kept for a key, else make it; without a key (None) nothing is kept."""
        if key is None:
            return make()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


def gaps_now(
    topics: list[TopicFacts],
    brokers: list[BrokerModel],
    voters: list[ControllerModel],
    *,
    is_followed: bool,
    why_unjudged: str,
    of_one: int = 0,
) -> Iterable[str]:
    """`of_one`: topics whose min.insync.replicas is that of one broker.

    `is_followed`: the metadata log; `why_unjudged` is why it is not known which voters answer.
    """
    if not is_followed:
        yield (
            "The metadata log is not followed: eligible leader replicas (ELR) and fenced brokers are "
            "unknown."
        )
    if why_unjudged:
        yield (
            "The live voters are unknown, so the effect of a loss on the quorum is unknown. "
            f"{why_unjudged}"
        )
    elif not voters:
        yield "The quorum is not collected: the effect of a loss on it is unknown."
    yield from gaps_of_racks(voters)
    yield from gaps_of_topics(topics)
    if of_one:
        yield (
            f"min.insync.replicas of {of_one:,} topics is from server.properties or the dynamic config of "
            "one broker; leaders on brokers with another value use theirs."
        )
    bare = [str(one.broker_id) for one in brokers if one.rack is None]
    if bare:
        yield f"The rack of broker{'s' * (len(bare) > 1)} {', '.join(bare[:10])} is unknown."


def gaps_of_racks(voters: Iterable[ControllerModel]) -> Iterable[str]:
    bare = [str(one.node_id) for one in voters if one.rack is None]
    if bare:
        yield (
            f"The site of controller{'s' * (len(bare) > 1)} {', '.join(bare[:10])} is unknown: the loss of a "
            "site does not include them. Enter it on the page Controller sites."
        )


def gaps_of_topics(topics: Sequence[TopicFacts]) -> Iterable[str]:
    unknown = [topic.name for topic in topics if topic.min_insync_replicas is None]
    if unknown:
        yield (
            f"min.insync.replicas of {len(unknown):,} topics is not known, such as {unknown[0]}: "
            "where fewer replicas than all are in sync, it is not known whether they take writes."
        )
    unclean = [topic.name for topic in topics if topic.is_unclean_allowed is None]
    if unclean:
        yield (
            f"unclean.leader.election.enable of {len(unclean):,} topics is not known, such as {unclean[0]}: "
            "where no replica in sync is left, there is no leader, as with false."
        )


def gaps_of_limit(classes: Sequence[PartitionClass], topics: Iterable[TopicFacts]) -> Iterable[str]:
    """What leaders make of more min.insync.replicas than there are replicas, where that is not known."""
    count = sum(
        len(classes[number].replicas) < (topic.min_insync_replicas or 1)
        for topic in topics
        for number in topic.classes
    )
    if count:
        yield (
            f"min.insync.replicas of {count:,} partitions is more than their replicas. Not known if they "
            f"take writes, {BEFORE_LIMIT}."
        )


def gaps_of_moves(classes: Sequence[PartitionClass], topics: Iterable[TopicFacts]) -> Iterable[str]:
    unknown = {number for number, one in enumerate(classes) if one.adding is None}
    count = sum(number in unknown for topic in topics for number in topic.classes)
    if count:
        yield (
            f"{count:,} partitions are under-replicated, or being reassigned: not known. Their replicas out "
            "of the ISR count as being added. To list reassignments needs DESCRIBE on the cluster."
        )
