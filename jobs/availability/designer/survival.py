"""Simulated failures of a design: each site and each broker alone. Pure.

Data loss is judged from the worst ISR that accepts writes: min.insync.replicas members, those of the lost
site first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jobs.availability.designer.model import Survival
from jobs.availability.designer.requirements import (
    DesignRequirements,
    ObserverSupport,
    WritableAfter,
    count,
)
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.expected_times import ACT, CONTROLLER_ELECTION_MS, detection_span
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.availability.what_if.outcome import PartitionOutcome, StepOutcome
from jobs.availability.what_if.simulation import simulate
from jobs.availability.what_if.steps import Loss


def survivals(cluster: ClusterModel, requirements: DesignRequirements) -> tuple[Survival, ...]:
    """Return the effect of the loss of each site and of the worst broker; sites first."""
    sites = [_site(site.name, cluster, requirements) for site in requirements.sites]
    brokers = [_broker(one, cluster, requirements) for one in sorted(cluster.brokers)]
    return (*sites, *_worst_broker(brokers))


def _site(name: str, cluster: ClusterModel, requirements: DesignRequirements) -> Survival:
    loss = Loss(
        brokers=frozenset(id_ for id_, one in cluster.brokers.items() if one.rack == name),
        controllers=frozenset(one.node_id for one in cluster.voters if one.rack == name),
        name=f"site {name}",
    )
    is_required = (
        requirements.writable_after is WritableAfter.SITE and name != requirements.majority_site
    )
    return _survival(loss, cluster, requirements, is_required=is_required)


def _broker(broker: int, cluster: ClusterModel, requirements: DesignRequirements) -> Survival:
    loss = Loss(brokers=frozenset({broker}), name=f"broker {broker}")
    is_required = requirements.writable_after is not WritableAfter.NOTHING
    return _survival(loss, cluster, requirements, is_required=is_required)


def _worst_broker(brokers: Sequence[Survival]) -> Iterator[Survival]:
    """Yield the broker with the worst loss, as the representative of all."""
    if brokers:
        worst = max(
            brokers, key=lambda one: (one.data_at_risk, not one.is_writable, one.takes_s or 0)
        )
        yield replace(worst, loss="any one broker", sentence=f"Worst case: {worst.sentence}")


def _survival(
    loss: Loss, cluster: ClusterModel, requirements: DesignRequirements, *, is_required: bool
) -> Survival:
    after = simulate(cluster, [loss]).steps[0]
    # Lost records depend on the replicas alone: voters can return later.
    worst = replace(worst_start(cluster, loss.brokers), voters=())
    at_worst = simulate(worst, [replace(loss, controllers=frozenset())]).steps[0]
    found = Survival(
        loss=loss.name,
        is_required=is_required,
        is_writable=all(one.after.is_writable for one in after.partitions),
        data_at_risk=any(_is_at_risk(one) for one in at_worst.partitions),
        needs_unclean=any(one.needs_unclean for one in after.partitions),
        has_quorum=after.quorum.has_majority,
        promoted=sum(len(one.promoted) for one in after.partitions),
        takes_s=None,
        sentence="",
    )
    takes = _takes_s(found, cluster, loss, requirements)
    found = replace(found, takes_s=takes)
    return replace(found, sentence=_sentence(found, after, requirements))


def _is_at_risk(one: PartitionOutcome) -> bool:
    return one.needs_unclean or one.is_lost


def worst_start(cluster: ClusterModel, lost: frozenset[int]) -> ClusterModel:
    """Return the cluster with each ISR at its smallest that takes writes, lost brokers first in it."""
    return replace(cluster, partitions=tuple(_shrunk(one, lost) for one in cluster.partitions))


def _shrunk(partition: PartitionModel, lost: frozenset[int]) -> PartitionModel:
    order = sorted(partition.isr, key=lambda one: one not in lost)
    kept = set(order[: max(1, partition.min_insync_replicas or 1)])
    isr = tuple(one for one in partition.replicas if one in kept)
    return replace(partition, isr=isr, leader=isr[0])


def _takes_s(
    found: Survival, cluster: ClusterModel, loss: Loss, requirements: DesignRequirements
) -> float | None:
    if not found.is_writable:
        return None
    if not any(loss.brokers & set(one.isr) for one in cluster.partitions):
        return 0.0
    if found.promoted and requirements.observers is ObserverSupport.PROMOTES_ITSELF:
        return None
    ms = detection_span(requirements.session_timeout_ms).most_ms
    if loss.controllers:
        # The leader of the quorum may be lost as well; the next one waits for another session timeout.
        ms += CONTROLLER_ELECTION_MS
    if found.promoted:
        ms += ACT[ActorKind.FENCED_STANDBY].most_ms
    return ms / 1000


def _sentence(found: Survival, after: StepOutcome, requirements: DesignRequirements) -> str:
    return " ".join(_words(found, after, requirements))


def _words(found: Survival, after: StepOutcome, requirements: DesignRequirements) -> Iterator[str]:
    yield f"{found.loss}:"
    if not found.has_quorum:
        yield (
            "the majority of the voters is lost: no election and no promotion until an operator restores "
            "voters."
        )
    if found.is_writable:
        yield _of_writable(found, requirements)
    elif found.needs_unclean:
        yield "no leader: writes stop until the site is restored, or until an unclean election."
    elif found.has_quorum:
        stopped = sum(not one.after.is_writable for one in after.partitions)
        yield (
            f"writes with acks=all stop in {stopped} of {len(after.partitions)} partitions until an "
            "operator acts."
        )
    else:
        yield "Partitions with a live leader serve reads until then."
    if found.data_at_risk:
        yield "Acknowledged records may be lost."
    else:
        yield "No acknowledged record is lost."


def _of_writable(found: Survival, requirements: DesignRequirements) -> str:
    who = (
        "crosslog promotes"
        if requirements.observers is ObserverSupport.FENCED_STANDBY
        else "brokers promote"
    )
    promoted = f"; {who} {count(found.promoted, 'observer')}" if found.promoted else ""
    if found.takes_s is None:
        return f"writes resume{promoted}; the time was not measured on such brokers."
    if not found.takes_s:
        return "all partitions stay writable."
    return f"writes resume within about {found.takes_s:.1f} s{promoted}."
