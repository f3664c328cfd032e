"""A split made concrete: which broker holds what, where controllers stand, as a cluster model. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.availability.designer.requirements import DesignRequirements, ObserverSupport, Site
from jobs.availability.designer.split import Split
from jobs.availability.placements.placement import Placement, PromotionPolicy, RackCount
from jobs.availability.what_if.model.cluster import (
    BrokerModel,
    ClusterModel,
    ControllerModel,
    PartitionModel,
)

_FEW, _MANY = 3, 5
_TWO_SITES, _THREE_SITES = 2, 3


def placement_of(split: Split, requirements: DesignRequirements) -> Placement:
    """Return the split as placement constraints, version 2."""
    return Placement(
        version=2,
        replicas=tuple(_counts(requirements, split.sync)),
        observers=tuple(_counts(requirements, split.observers)),
        policy=PromotionPolicy.UNDER_MIN_ISR,
    )


def _counts(requirements: DesignRequirements, counts: Sequence[int]) -> Iterator[RackCount]:
    for site, count in zip(requirements.data_sites, counts, strict=True):
        if count:
            yield RackCount(site.name, count)


def voters_of(requirements: DesignRequirements) -> dict[str, int]:
    """Return how many controllers vote at each site.

    Five where there is a witness (2+2+1) or only two sites (3+2), three in three sites with brokers; from
    three sites on none holds the majority.
    """
    count = requirements.voters or _how_many(requirements)
    order = sorted(
        requirements.sites,
        key=lambda site: (site.name != requirements.majority_site, site.is_witness),
    )
    voters = dict.fromkeys((site.name for site in requirements.sites), 0)
    for number in range(count):
        voters[order[number % len(order)].name] += 1
    return voters


def _how_many(requirements: DesignRequirements) -> int:
    has_witness = any(site.is_witness for site in requirements.sites)
    if (
        has_witness
        or len(requirements.sites) in {_TWO_SITES, _THREE_SITES + 1}
        or len(requirements.sites) >= _MANY
    ):
        return _MANY
    return _FEW


def standbys_of(split: Split, requirements: DesignRequirements) -> frozenset[int]:
    """Return the brokers that are to be fenced standbys: those named, else the last of each site."""
    if requirements.observers is not ObserverSupport.FENCED_STANDBY:
        return frozenset()
    if requirements.names_standbys:
        return frozenset(one for site in requirements.sites for one in site.standbys)
    return frozenset(
        broker
        for site, count in zip(requirements.data_sites, split.observers, strict=True)
        for broker in site.brokers[len(site.brokers) - count :]
    )


def assignment_of(split: Split, requirements: DesignRequirements) -> tuple[tuple[int, ...], ...]:
    """Return the brokers of each partition: the leader first, then sync replicas, observers last.

    Leaders go round the preferred site, or round all sites with sync replicas; brokers go round in each site.
    """
    standbys = standbys_of(split, requirements)
    leading = [
        index
        for index, site in enumerate(requirements.data_sites)
        if split.sync[index] and requirements.preferred_site in {None, site.name}
    ] or [index for index, count in enumerate(split.sync) if count]
    return tuple(
        # Each site's own turn: else a site of two brokers that leads every second partition would use one.
        _partition(
            number // len(leading), leading[number % len(leading)], split, requirements, standbys
        )
        for number in range(requirements.partitions)
    )


def _partition(
    turn: int, leads: int, split: Split, requirements: DesignRequirements, standbys: frozenset[int]
) -> tuple[int, ...]:
    order = sorted(range(len(split.sync)), key=lambda index: index != leads)
    sync: list[int] = []
    observers: list[int] = []
    for index in order:
        site = requirements.data_sites[index]
        chosen = _round(_own(site, standbys, requirements), turn, split.sync[index])
        sync += chosen
        able = [one for one in _able(site, standbys, requirements) if one not in chosen]
        observers += _round(able, turn, split.observers[index])
    return (*sync, *observers)


def _own(site: Site, standbys: frozenset[int], requirements: DesignRequirements) -> list[int]:
    if requirements.observers is ObserverSupport.FENCED_STANDBY:
        return [one for one in site.brokers if one not in standbys]
    return list(site.brokers)


def _able(site: Site, standbys: frozenset[int], requirements: DesignRequirements) -> list[int]:
    if requirements.observers is ObserverSupport.FENCED_STANDBY:
        return [one for one in site.brokers if one in standbys]
    return list(site.brokers)


def _round(brokers: Sequence[int], start: int, count: int) -> list[int]:
    return [brokers[(start + step) % len(brokers)] for step in range(count)]


def cluster_of(split: Split, requirements: DesignRequirements) -> ClusterModel:
    """Return the designed cluster, all of it alive and in sync, for `simulate`."""
    standbys = standbys_of(split, requirements)
    brokers = {
        broker: BrokerModel(broker, site.name, is_standby=broker in standbys)
        for site in requirements.data_sites
        for broker in site.brokers
    }
    has_observers = any(split.observers)
    partitions = tuple(
        _model(number, replicas, split, requirements, has_observers=has_observers)
        for number, replicas in enumerate(assignment_of(split, requirements))
    )
    return ClusterModel(
        brokers=brokers,
        partitions=partitions,
        voters=tuple(_controllers(requirements, max(brokers))),
        has_elr=True,
        promotes_itself=requirements.observers is ObserverSupport.PROMOTES_ITSELF,
    )


def _model(
    number: int,
    replicas: tuple[int, ...],
    split: Split,
    requirements: DesignRequirements,
    *,
    has_observers: bool,
) -> PartitionModel:
    sync = sum(split.sync)
    return PartitionModel(
        topic=requirements.topic,
        partition=number,
        replicas=replicas,
        isr=replicas[:sync],
        leader=replicas[0],
        observers=replicas[sync:],
        min_insync_replicas=split.least,
        policy=PromotionPolicy.UNDER_MIN_ISR if has_observers else None,
        sync_count=sync,
        is_acted_on=requirements.observers is ObserverSupport.FENCED_STANDBY,
    )


def _controllers(requirements: DesignRequirements, highest: int) -> Iterator[ControllerModel]:
    """Yield controllers with ids of their own, above those of all brokers: 101, 102 for brokers below 100."""
    node = (highest // 100 + 1) * 100
    for site, count in voters_of(requirements).items():
        for _ in range(count):
            node += 1
            yield ControllerModel(node, site)
