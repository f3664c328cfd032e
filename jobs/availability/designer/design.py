"""Designs a placement: replicas, observers, min.insync.replicas and controllers per site. Pure.

Failures are simulated by `what_if.simulation.simulate`; a design that does not meet the requirements there is
rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jobs.availability.designer.cluster import assignment_of, cluster_of, placement_of
from jobs.availability.designer.commands import command_groups
from jobs.availability.designer.explanations import (
    alternatives,
    layout_of,
    least_time,
    reasons,
    relaxations,
)
from jobs.availability.designer.model import Design, Survival
from jobs.availability.designer.requirements import (
    DesignRequirements,
    ImpossibleRequirements,
    InvalidRequirements,
    LossAllowed,
    ObserverSupport,
    WritableAfter,
    check_requirements,
    count,
)
from jobs.availability.designer.split import Split, cheapest, needs_promotion_for_a_broker
from jobs.availability.designer.survival import survivals
from jobs.availability.runbooks.kafka_commands import KafkaTools

# The layout of partitions repeats: so many are simulated.
_SIMULATED = 60


def design(requirements: DesignRequirements, tools: KafkaTools | None = None) -> Design:
    """Return the cheapest placement that fulfils the requirements; raises `ImpossibleRequirements`."""
    problems = check_requirements(requirements)
    if problems:
        raise InvalidRequirements(problems)
    split = cheapest(requirements)
    if split is None:
        raise ImpossibleRequirements(dict(_possible(requirements)))
    survives = survivals(
        cluster_of(
            split, replace(requirements, partitions=min(requirements.partitions, _SIMULATED))
        ),
        requirements,
    )
    _check_survival(requirements, survives)
    placement, assignment = placement_of(split, requirements), assignment_of(split, requirements)
    return Design(
        requirements=requirements,
        layout=layout_of(split, requirements),
        placement=placement,
        min_insync_replicas=split.least,
        assignment=assignment,
        cluster=cluster_of(split, requirements),
        reasons=tuple(reasons(split, requirements)),
        survives=survives,
        alternatives=tuple(alternatives(split, requirements)),
        commands=command_groups(split, requirements, placement, assignment, tools or KafkaTools()),
        warnings=tuple(_warnings(split, requirements, survives)),
    )


def _check_survival(requirements: DesignRequirements, survives: Sequence[Survival]) -> None:
    """Raise `ImpossibleRequirements` where the simulation says that a wish is not fulfilled."""
    problems: dict[str, str] = {}
    for one in survives:
        if one.is_required and not one.is_writable:
            problems.setdefault("writable_after", one.sentence)
        if requirements.rpo is LossAllowed.ZERO and one.data_at_risk:
            problems.setdefault("rpo", one.sentence)
    slowest = max((one.takes_s or 0 for one in survives if one.is_required), default=0)
    if requirements.rto_s is not None and slowest > requirements.rto_s:
        problems["rto_s"] = least_time(slowest, requirements)
    if problems:
        raise ImpossibleRequirements(problems)


def _possible(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    """Yield, field by field, which single other wish would make the rest possible."""
    told: set[str] = set()
    for name, lesser, words in relaxations(requirements):
        split = None if name in told or check_requirements(lesser) else cheapest(lesser)
        if split is not None:
            told.add(name)
            yield (
                name,
                f"Impossible with these sites and the other requirements. Possible: {words} "
                f"({_short(split, requirements)}).",
            )
    if told:
        return
    if len(requirements.data_sites) == 1:
        yield (
            "sites",
            "One site with brokers cannot survive its loss: add a site, or use writable_after broker and "
            "rpo any.",
        )
        return
    brokers = sum(len(site.brokers) for site in requirements.sites)
    yield (
        "sites",
        f"{len(requirements.data_sites)} sites with {count(brokers, 'broker')} are too few, even without any "
        "single requirement: add brokers, or a site with brokers.",
    )


def _short(split: Split, requirements: DesignRequirements) -> str:
    parts = [
        f"{site.name} {sync}" + (f" and {count(observers, 'observer')}" if observers else "")
        for site, sync, observers in zip(
            requirements.data_sites, split.sync, split.observers, strict=True
        )
    ]
    return f"{', '.join(parts)}, min.insync.replicas {split.least}"


def _warnings(
    split: Split, requirements: DesignRequirements, survives: Sequence[Survival]
) -> Iterator[str]:
    if requirements.majority_site is not None:
        yield (
            f"The loss of {requirements.majority_site} needs an operator: it holds the majority of the "
            "voters."
        )
    if (
        needs_promotion_for_a_broker(split)
        and requirements.writable_after is not WritableAfter.NOTHING
    ):
        yield (
            "Each restart of a broker needs a promotion: without one, writes with acks=all stop until its "
            "replicas are in sync."
        )
    if requirements.observers is ObserverSupport.FENCED_STANDBY and any(split.observers):
        yield (
            "crosslog has to promote: run two `manage.py promote` processes in different sites, and enable "
            "automatic mode for the topic. Fenced standby brokers are experimental."
        )
        yield "Fenced standbys have no leaders and no client reads, and are listed as under-replicated."
    if requirements.rto_s is not None and any(
        one.is_required and one.is_writable and one.takes_s is None for one in survives
    ):
        yield "The promotion time of such brokers was not measured: measure it in a drill."
    at_risk = [one.loss for one in survives if one.data_at_risk]
    if at_risk:
        yield (
            f"Acknowledged records may be lost with {', '.join(at_risk)}: if only it had the ISR, or if the "
            "other sites do not have them yet."
        )
