"""Observers: those of placements, and the replicas of fenced standby brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from console.availability.placements.placements import Origin, PlacementRules
from console.availability.status.models import OutOfSyncSpan
from console.availability.what_if.cluster_models import (
    PlacedClasses,
    TopicClasses,
    classes_of,
)
from console.availability.what_if.cluster_snapshots import ClusterSnapshot, Recent
from console.clusters.models import Cluster
from console.quorum import queries as quorum
from jobs.availability.what_if.model.cluster import BrokerModel, PartitionModel

# What the list of observers can be narrowed down to.
STATES = ("all", "in_isr", "leading", "waiting", "dead")


@dataclass(frozen=True, slots=True)
class Observer:
    """One observer replica: a partition and its broker.

    `policy` None: nothing promotes it. `since` is when it joined or left the ISR, None when unknown;
    `since_before`: it was earlier than that. `lag` counts records, None: not known.
    """

    topic: str
    partition: int
    broker: int
    rack: str | None
    policy: str | None
    origin: str
    is_alive: bool
    is_standby: bool
    is_in_isr: bool
    is_leader: bool
    since: datetime | None = None
    since_before: bool = False
    lag: int | None = None

    @property
    def state(self) -> str:
        """Its state: leading, in_isr, waiting (outside the ISR) or dead."""
        if self.is_leader:
            return "leading"
        if self.is_in_isr:
            return "in_isr"
        return "waiting" if self.is_alive else "dead"

    @property
    def is_caught_up(self) -> bool | None:
        """Whether its lag is 0; None when unknown."""
        if self.is_in_isr:
            return True
        return None if self.lag is None else self.lag == 0


@dataclass(frozen=True, slots=True)
class StandbyBroker:
    """A fenced broker that is alive and follows the metadata log, with how many partitions it holds."""

    broker: BrokerModel
    partitions: int
    in_isr: int


@dataclass(frozen=True, slots=True)
class ObserverCounts:
    """How many observers there are, by state; `partitions` are those with any."""

    partitions: int = 0
    total: int = 0
    in_isr: int = 0
    leading: int = 0
    waiting: int = 0
    dead: int = 0


@dataclass(slots=True)
class ObserverList:
    """The observers of a cluster: counted over units, listed page by page."""

    units: PlacedClasses
    brokers: Mapping[int, BrokerModel]
    by_unit: dict[int, list[Observer]] = field(default_factory=dict)

    @property
    def counts(self) -> ObserverCounts:
        """How many there are, by state."""
        found: dict[str, int] = dict.fromkeys(("in_isr", "leading", "waiting", "dead"), 0)
        partitions = 0
        for unit, size in enumerate(self.units.sizes.tolist()):
            observers = self._of(unit)
            partitions += size * bool(observers)
            for one in observers:
                found[one.state] += size
        return ObserverCounts(partitions, sum(found.values()), **found)

    def count(self, state: str = "all", topic: str = "", broker: int | None = None) -> int:
        """Return how many observers there are of a state, a topic, on a broker."""
        return sum(len(kept) for _, _, kept in self._places(state, topic, broker))

    def rows(
        self, state: str = "all", topic: str = "", broker: int | None = None, *, first: int = 0
    ) -> Iterator[Observer]:
        """Yield the observers of a state, of topics whose name holds a text, on one broker."""
        left = first
        for where, number, kept in self._places(state, topic, broker):
            origin = where.resolved.origin
            told = "standby" if origin is Origin.NONE else origin.value
            for one in kept[left:]:
                yield replace(one, topic=where.name, partition=number, origin=told)
            left = max(left - len(kept), 0)

    def _places(
        self, state: str, topic: str, broker: int | None
    ) -> Iterator[tuple[TopicClasses, int, list[Observer]]]:
        units = range(len(self.units.model.partitions))
        kept = [
            [
                one
                for one in self._of(unit)
                if state in {"all", one.state} and broker in {None, one.broker}
            ]
            for unit in units
        ]
        text, topics = topic.lower(), self.units.topics
        order = [n for n, each in enumerate(topics) if text in each.name.lower()]
        for where, number, unit in self.units.places([bool(one) for one in kept], order):
            yield where, number, kept[unit]

    def _of(self, unit: int) -> list[Observer]:
        """The observers of a placement, and fenced standby brokers whatever a placement says."""
        if unit not in self.by_unit:
            partition = self.units.model.partitions[unit]
            watching = self._standbys.union(partition.observers)
            found = [one for one in partition.replicas if one in watching]
            self.by_unit[unit] = [_observer(partition, one, self.brokers) for one in found]
        return self.by_unit[unit]

    @property
    def _standbys(self) -> frozenset[int]:
        return frozenset(number for number, one in self.brokers.items() if one.is_standby)


def observers_of(picture: ClusterSnapshot, rules: PlacementRules) -> ObserverList:
    """Return the observers of a picture; those of a kept one are remembered."""
    key = (picture.digest, rules.key) if picture.digest else None
    brokers = {one.broker_id: one for one in picture.brokers}
    return _LISTS.get(key, lambda: ObserverList(classes_of(picture, rules), brokers))


_LISTS: Recent[ObserverList] = Recent(4)


def standby_brokers(found: ObserverList) -> list[StandbyBroker]:
    """Return the fenced standby brokers, with what they hold."""
    held: dict[int, list[int]] = {
        number: [0, 0] for number, one in found.brokers.items() if one.is_standby
    }
    for one, size in zip(found.units.model.partitions, found.units.sizes.tolist(), strict=True):
        for number in one.replicas:
            if number in held:
                held[number][0] += size
                held[number][1] += size * (number in one.isr)
    return [StandbyBroker(found.brokers[n], *counts) for n, counts in sorted(held.items())]


def with_history(cluster: Cluster, rows: Sequence[Observer]) -> list[Observer]:
    """Return observers with since when they are in the ISR or out of it, and their lag; a few queries."""
    keys = {(one.topic, one.partition) for one in rows}
    since = _since(cluster, keys)
    spans = OutOfSyncSpan.objects.filter(
        cluster=cluster, ended_at=None, topic__in={topic for topic, _ in keys}
    )
    lags = {(s.topic, s.partition, s.broker): s for s in spans}
    found = []
    for one in rows:
        at, is_before = _when(since.get((one.topic, one.partition), ()), one.broker, one.is_in_isr)
        span = lags.get((one.topic, one.partition, one.broker))
        if at is None and span is not None:
            at = span.began_at
        lag = span.lag if span is not None else None
        found.append(replace(one, since=at, since_before=is_before, lag=lag))
    return found


def _since(cluster: Cluster, keys: set[tuple[str, int]]) -> Mapping[tuple[str, int], Any]:
    log = quorum.log_of(cluster)
    return {} if log is None or not keys else quorum.newest_changes(log, keys)


def _when(changes: Sequence[Any], broker: int, is_in_isr: bool) -> tuple[datetime | None, bool]:  # noqa: FBT001 - the state asked about
    """Return when a broker's membership of the ISR became what it is; `changes` are the newest first."""
    at: datetime | None = None
    for change in changes:
        if (broker in (change.state.get("isr") or ())) != is_in_isr:
            return at, False
        at = change.at
    return at, at is not None


def _observer(one: PartitionModel, broker: int, brokers: Mapping[int, BrokerModel]) -> Observer:
    known = brokers.get(broker, BrokerModel(broker, None, is_alive=False))
    return Observer(
        topic=one.topic,
        partition=one.partition,
        broker=broker,
        rack=known.rack,
        policy=one.policy.value if one.policy is not None else None,
        origin="",
        is_alive=known.is_alive,
        is_standby=known.is_standby,
        is_in_isr=broker in one.isr,
        is_leader=broker == one.leader,
    )
