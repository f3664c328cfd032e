"""Replicas and observers per site: the sizing rule, and the cheapest split that meets the requirements. Pure.

With S_d sync replicas and O_d observers in site d: no acked record is lost with d when min.insync.replicas >
S_d; writes continue without d when min.insync.replicas <= the sum of S_x + O_x over the other sites.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from jobs.availability.designer.requirements import (
    MOST_COPIES,
    DesignRequirements,
    LossAllowed,
    ObserverSupport,
    Site,
    WritableAfter,
    count,
)


@dataclass(frozen=True, slots=True)
class Split:
    """Replicas and observers per site with brokers, in the given order; `least`: min.insync.replicas."""

    sync: tuple[int, ...]
    observers: tuple[int, ...]
    least: int

    @property
    def copies(self) -> int:
        """Replicas and observers together."""
        return sum(self.sync) + sum(self.observers)

    def without(self, site: int) -> tuple[int, int]:
        """Return the sync replicas and the observers that are left when a site is lost."""
        sync = sum(self.sync) - self.sync[site]
        return sync, sum(self.observers) - self.observers[site]


def room_of(site: Site, requirements: DesignRequirements) -> tuple[int, int, int]:
    """Return how many sync replicas, how many observers, and how many of both a site can hold."""
    brokers = len(site.brokers)
    if requirements.observers is ObserverSupport.NONE:
        return brokers, 0, brokers
    if requirements.names_standbys:
        return brokers - len(site.standbys), len(site.standbys), brokers
    return brokers, brokers, brokers


def fits(split: Split, requirements: DesignRequirements) -> bool:
    """Return whether the sites have enough brokers."""
    for site, sync, observers in zip(
        requirements.data_sites, split.sync, split.observers, strict=True
    ):
        most_sync, most_observers, most = room_of(site, requirements)
        if sync > most_sync or observers > most_observers or sync + observers > most:
            return False
    return True


def faults(split: Split, requirements: DesignRequirements) -> Iterator[str]:
    """Yield a sentence for each requirement that a split does not meet, by the sizing rule."""
    total = sum(split.sync)
    if not fits(split, requirements):
        yield f"The sites have too few brokers for these {split.copies} copies."
    if requirements.most_copies is not None and split.copies > requirements.most_copies:
        yield f"{split.copies} copies are more than the maximum of {requirements.most_copies}."
    if split.least > total:
        yield (
            f"min.insync.replicas {split.least} is more than {count(total, 'sync replica')}: all "
            "writes would be refused."
        )
    if split.least < 2 <= sum(len(site.brokers) for site in requirements.data_sites):  # noqa: PLR2004
        yield "With min.insync.replicas 1 an acknowledged record may be on one broker only."
    yield from _lost_records(split, requirements)
    yield from _lost_writes(split, requirements)


def _lost_records(split: Split, requirements: DesignRequirements) -> Iterator[str]:
    for index, site in enumerate(requirements.data_sites):
        here = split.sync[index]
        if requirements.rpo is LossAllowed.ZERO and split.least <= here:
            yield (
                f"min.insync.replicas {split.least} is not more than the {count(here, 'sync replica')} "
                f"of {site.name}: with the ISR in {site.name} only, records can be lost with it."
            )
        if (
            requirements.rpo is LossAllowed.BOUNDED
            and split.copies - here == split.observers[index]
        ):
            yield f"No other site has replicas of {site.name}: its loss loses all records."


def _lost_writes(split: Split, requirements: DesignRequirements) -> Iterator[str]:
    if requirements.writable_after is WritableAfter.NOTHING:
        return
    left = sum(split.sync) - 1
    if left < 1 or left + sum(split.observers) < split.least:
        yield (
            f"Without one broker {count(left, 'sync replica')} can be in sync, and {split.least} are "
            "needed to write."
        )
    if requirements.writable_after is not WritableAfter.SITE:
        return
    for index in required_losses(requirements):
        sync, observers = split.without(index)
        name = requirements.data_sites[index].name
        if sync < 1:
            yield f"Without {name} no sync replica remains, and a promotion needs one."
        elif sync + observers < split.least:
            yield (
                f"Without {name} {count(sync, 'sync replica')} and {count(observers, 'observer')} can be "
                f"in sync, and {split.least} are needed to write."
            )


def required_losses(requirements: DesignRequirements) -> tuple[int, ...]:
    """Return the indexes of the sites with brokers whose loss writes must survive."""
    if requirements.writable_after is not WritableAfter.SITE:
        return ()
    return tuple(
        index
        for index, site in enumerate(requirements.data_sites)
        if site.name != requirements.majority_site
    )


def needs_promotion_for_a_broker(split: Split) -> bool:
    """Return whether the loss (or restart) of a single broker already needs an observer."""
    return sum(split.sync) - 1 < split.least


def cheapest(requirements: DesignRequirements) -> Split | None:
    """Return the split with the fewest copies that meets the requirements; None: there is none.

    One that needs a promotion for each restart of a broker is taken only where there is no other. Of equal
    ones those with fewer observers, a smaller min.insync.replicas and more even sites are better.
    """
    most = min(requirements.most_copies or MOST_COPIES, MOST_COPIES)
    second: Split | None = None
    for copies in range(1, most + 1):
        found = [one for one in _splits(copies, requirements) if not any(faults(one, requirements))]
        first = [one for one in found if not needs_promotion_for_a_broker(one)]
        calm = requirements.writable_after is WritableAfter.NOTHING
        if first or (found and calm):
            return min(first or found, key=lambda one: _order(one, requirements))
        if found and second is None:
            second = min(found, key=lambda one: _order(one, requirements))
    return second


def _order(split: Split, requirements: DesignRequirements) -> tuple[int, int, int, tuple[int, ...]]:
    per_site = [a + b for a, b in zip(split.sync, split.observers, strict=True)]
    preferred = [site.name == requirements.preferred_site for site in requirements.data_sites]
    # The preferred site first, then the order in which the sites were named.
    order = sorted(range(len(per_site)), key=lambda index: not preferred[index])
    first = tuple(-split.sync[index] for index in order)
    return (sum(split.observers), split.least, max(per_site) - min(per_site), first)


def _splits(copies: int, requirements: DesignRequirements) -> Iterator[Split]:
    """Yield every way to lay out so many copies, each with every min.insync.replicas."""
    rooms = [room_of(site, requirements) for site in requirements.data_sites]
    for per_site in _shares(copies, [most for _, _, most in rooms]):
        choices = [
            [own for own in range(all_ + 1) if own <= most_observers and all_ - own <= most_sync]
            for all_, (most_sync, most_observers, _) in zip(per_site, rooms, strict=True)
        ]
        for observers in product(*choices):
            sync = tuple(all_ - own for all_, own in zip(per_site, observers, strict=True))
            for least in range(1, sum(sync) + 1):
                yield Split(sync, observers, least)


def _shares(copies: int, rooms: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not rooms:
        if not copies:
            yield ()
        return
    for here in range(min(copies, rooms[0]) + 1):
        for rest in _shares(copies - here, rooms[1:]):
            yield (here, *rest)
