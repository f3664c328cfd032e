"""Reasons of the values of a design, and of the rejected alternatives. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobs.availability.designer.cluster import standbys_of, voters_of
from jobs.availability.designer.model import Alternative, Reason, SiteLayout
from jobs.availability.designer.requirements import (
    DesignRequirements,
    LossAllowed,
    ObserverSupport,
    WritableAfter,
    count,
)
from jobs.availability.designer.split import (
    Split,
    faults,
    fits,
    needs_promotion_for_a_broker,
    required_losses,
)
from jobs.availability.promotion.expected_times import detection_span, seconds


def layout_of(split: Split, requirements: DesignRequirements) -> tuple[SiteLayout, ...]:
    """Return what each site has, witnesses too, in their order; no standbys where brokers are too few."""
    voters = voters_of(requirements)
    standbys = standbys_of(split, requirements) if fits(split, requirements) else ()
    by_name = {
        site.name: (sync, observers)
        for site, sync, observers in zip(
            requirements.data_sites, split.sync, split.observers, strict=True
        )
    }
    return tuple(
        SiteLayout(
            site.name,
            *by_name.get(site.name, (0, 0)),
            voters=voters[site.name],
            standbys=tuple(one for one in site.brokers if one in standbys),
        )
        for site in requirements.sites
    )


def reasons(split: Split, requirements: DesignRequirements) -> Iterator[Reason]:
    """Yield a sentence for each number: copies, min.insync.replicas, observers, policy, voters, time."""
    sync = count(sum(split.sync), "sync replica")
    yield Reason(
        "replicas",
        f"{sync}, {_per_site(split.sync, requirements)}: {_why_sync(split, requirements)}",
    )
    yield Reason("min_insync_replicas", f"{split.least}: {_why_least(split, requirements)}")
    yield Reason("observers", _why_observers(split, requirements))
    if any(split.observers):
        yield Reason(
            "promotion_policy",
            "under-min-isr: an observer is needed only when fewer than min.insync.replicas are in sync; an "
            "earlier promotion slows writes down.",
        )
    yield Reason("voters", _why_voters(requirements))
    yield Reason("rto_s", _why_time(requirements))


def _per_site(numbers: tuple[int, ...], requirements: DesignRequirements) -> str:
    sites = zip(requirements.data_sites, numbers, strict=True)
    return ", ".join(f"{number} in {site.name}" for site, number in sites if number)


def _why_sync(split: Split, requirements: DesignRequirements) -> str:
    if requirements.writable_after is WritableAfter.NOTHING:
        return f"as few as min.insync.replicas {split.least} allows."
    if needs_promotion_for_a_broker(split):
        return (
            "the sites have no brokers for more; the loss of one broker already needs an observer."
        )
    left = sum(split.sync) - 1
    return (
        f"after the loss of one broker {left} remain, enough for min.insync.replicas {split.least}."
    )


def _why_least(split: Split, requirements: DesignRequirements) -> str:
    most = max(split.sync)
    name = requirements.data_sites[split.sync.index(most)].name
    if requirements.rpo is LossAllowed.ZERO:
        first = (
            f"more than the {count(most, 'sync replica')} of {name}, the maximum of one site, so that every "
            "acknowledged record is in at least two sites (RPO 0)"
        )
    else:
        first = "the minimum number of brokers with an acknowledged record"
    losses = required_losses(requirements)
    if not losses:
        return f"{first}."
    fewest = min(losses, key=lambda index: sum(split.without(index)))
    sync, observers = split.without(fewest)
    lost = requirements.data_sites[fewest].name
    with_observers = f" and {count(observers, 'observer')}" if observers else ""
    return f"{first}; at most the {count(sync, 'sync replica')}{with_observers} that remain without {lost}."


def _why_observers(split: Split, requirements: DesignRequirements) -> str:
    if not any(split.observers):
        return "none: the sync replicas alone meet the requirements."
    losses = required_losses(requirements)
    short = [index for index in losses if split.without(index)[0] < split.least]
    why = "the sync replicas that remain after a loss are too few for writes; observers replace the rest."
    if short:
        lost = requirements.data_sites[short[0]].name
        sync = split.without(short[0])[0]
        why = (
            f"without {lost} only {count(sync, 'sync replica')} can be in sync of the {split.least} that "
            "writes need; observers replace the rest. Outside the ISR they do not slow writes down."
        )
    return f"{sum(split.observers)}, {_per_site(split.observers, requirements)}: {why}"


def _why_voters(requirements: DesignRequirements) -> str:
    voters = voters_of(requirements)
    told = " + ".join(f"{number} in {name}" for name, number in voters.items())
    total = sum(voters.values())
    majority = total // 2 + 1
    deadly = [name for name, number in voters.items() if total - number < majority]
    if not deadly:
        return (
            f"{total} controllers, {told}: {majority} are a majority, which survives the loss of any one "
            "site."
        )
    if len(requirements.sites) == 1:
        return f"{total} controllers in the only site: {total - majority} may fail."
    return (
        f"{total} controllers, {told}: with two sites one must hold the majority. After the loss of "
        f"{deadly[0]} there is no election and no promotion until an operator restores voters. Only a "
        "third site for one controller avoids that."
    )


def _why_time(requirements: DesignRequirements) -> str:
    span = detection_span(requirements.session_timeout_ms)
    return (
        f"A failed broker is detected after {span} ({span.source}; broker.session.timeout.ms is "
        f"{requirements.session_timeout_ms}); the following elections take less than a second, that of a "
        "quorum leader up to 3.3 s."
    )


def alternatives(split: Split, requirements: DesignRequirements) -> Iterator[Alternative]:
    """Yield the usual other placements and why each was not chosen."""
    seen = {split}
    for title, other in _usual(requirements):
        if other in seen or not any(other.sync):
            continue
        seen.add(other)
        found = list(faults(other, requirements))
        why = found[0] if found else _why_not(other, split)
        layout = layout_of(other, requirements)
        yield Alternative(title, layout, other.least, why, is_possible=not found)


def _why_not(other: Split, chosen: Split) -> str:
    if needs_promotion_for_a_broker(other) and not needs_promotion_for_a_broker(chosen):
        return (
            "It meets the requirements, but each restart of a broker needs a promotion, and writes wait for "
            "it."
        )
    if other.copies > chosen.copies:
        return f"It meets the requirements with {other.copies} copies instead of {chosen.copies}."
    return (
        "It meets the requirements; the chosen one has fewer observers or a more even distribution."
    )


def _usual(requirements: DesignRequirements) -> Iterator[tuple[str, Split]]:
    sites = len(requirements.data_sites)
    none, one, two = ((number,) * sites for number in range(3))
    yield "One copy per site, min.insync.replicas 2", Split(one, none, 2)
    yield "Two copies per site, min.insync.replicas 2", Split(two, none, 2)
    yield "Two copies per site, min.insync.replicas 3", Split(two, none, 3)
    yield "All three copies in one site, min.insync.replicas 2", Split((3, *none[1:]), none, 2)
    if requirements.observers is ObserverSupport.NONE:
        return
    yield "One copy and one observer per site, min.insync.replicas 2", Split(one, one, 2)
    yield "Two copies and one observer per site, min.insync.replicas 3", Split(two, one, 3)
    first = (2, *none[1:])
    others = (0, *two[1:])
    yield "Two copies in the first site, two observers in each other", Split(first, others, 2)


def relaxations(requirements: DesignRequirements) -> Iterator[tuple[str, DesignRequirements, str]]:
    """Yield the requirements without a single one: the field, the relaxed requirements, and a text."""
    if requirements.writable_after is WritableAfter.SITE:
        less = replace(requirements, writable_after=WritableAfter.BROKER)
        yield "writable_after", less, "writable after the loss of a broker, not of a site"
    if requirements.writable_after is not WritableAfter.NOTHING:
        less = replace(requirements, writable_after=WritableAfter.NOTHING, rto_s=None)
        yield "writable_after", less, "writes may stop after the first loss"
    if requirements.rpo is LossAllowed.ZERO:
        less = replace(requirements, rpo=LossAllowed.BOUNDED)
        yield "rpo", less, "a bounded loss of records with a site (rpo bounded)"
    if requirements.rpo is not LossAllowed.ANY:
        less = replace(requirements, rpo=LossAllowed.ANY)
        yield "rpo", less, "any loss of records with a site (rpo any)"
    if requirements.observers is ObserverSupport.NONE:
        for support, words in _SUPPORTS.items():
            yield "observers", replace(requirements, observers=support), words
    if requirements.most_copies is not None:
        yield "most_copies", replace(requirements, most_copies=None), "more copies"


_SUPPORTS = {
    ObserverSupport.FENCED_STANDBY: "fenced standby brokers as observers",
    ObserverSupport.PROMOTES_ITSELF: "brokers with automatic observer promotion",
}


def least_time(takes_s: float, requirements: DesignRequirements) -> str:
    """Return why writes do not resume before `takes_s`."""
    more = takes_s * 1000 - detection_span(requirements.session_timeout_ms).most_ms
    words = f"It takes up to {takes_s:.1f} s: a failed broker is detected after broker.session.timeout.ms."
    left = (requirements.rto_s or 0) * 1000 - more - 400
    if left < 1_000:  # noqa: PLR2004  below a second brokers would be fenced by every pause
        return f"{words} Possible: {takes_s:.1f} s."
    return f"{words} Possible: {takes_s:.1f} s, or a session timeout of at most {seconds(left)}."
