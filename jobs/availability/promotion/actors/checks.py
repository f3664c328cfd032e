"""Why an actor cannot be used on a cluster or partition, and what must be asked first; by field. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jobs.availability.promotion.actors.facts import ActorFacts
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.what_if.model.cluster import PartitionModel

Problem = tuple[str, str]

_RIGHTS: Mapping[ActorKind, Mapping[str, tuple[str, str]]] = {
    ActorKind.FENCED_STANDBY: {
        "can_reach_controllers": (
            "The controllers' listener cannot be reached, and heartbeats go there.",
            "Whether the controllers' listener can be reached is not known.",
        ),
        "can_cluster_action": (
            "crosslog's principal lacks CLUSTER_ACTION on the cluster, which heartbeats need.",
            "Whether crosslog's principal has CLUSTER_ACTION is not known.",
        ),
    },
    ActorKind.HELD_BACK_REPLICA: {
        "can_alter_configs": (
            "crosslog's principal may not alter broker settings, where the throttle's rate is.",
            "Whether crosslog's principal may alter broker settings is not known.",
        ),
    },
    ActorKind.REASSIGN_TO_SPARE: {
        "can_alter_cluster": (
            "crosslog's principal lacks ALTER on the cluster, which reassignments need.",
            "Whether crosslog's principal has ALTER on the cluster is not known.",
        ),
    },
    ActorKind.RELAX_MIN_ISR: {
        "can_alter_configs": (
            "crosslog's principal may not alter settings of the topic.",
            "Whether crosslog's principal may alter settings of the topic is not known.",
        ),
    },
}


def problems_of(
    kind: ActorKind, facts: ActorFacts, partition: PartitionModel | None
) -> dict[str, str]:
    """Return why an actor cannot be used: field -> sentence; empty when it can."""
    found = [*_of_cluster(facts), *_of_rights(kind, facts), *_CHECKS[kind](facts, partition)]
    if partition is not None and partition.leader is None:
        found.append(
            (
                "partition",
                f"{partition.topic}-{partition.partition} has no leader: only an unclean election by a "
                "person helps.",
            )
        )
    problems: dict[str, str] = {}
    for name, sentence in found:
        problems[name] = f"{problems[name]} {sentence}" if name in problems else sentence
    return problems


def unknown_of(kind: ActorKind, facts: ActorFacts) -> dict[str, str]:
    """Return what nobody knows and acting would find out: field -> sentence."""
    found = {
        name: unknown
        for name, (_, unknown) in _RIGHTS[kind].items()
        if getattr(facts, name) is None
    }
    if facts.has_quorum is None:
        found["has_quorum"] = "Whether the KRaft quorum has a majority is not known."
    return found


def _of_cluster(facts: ActorFacts) -> Iterator[Problem]:
    if facts.promotes_itself:
        yield (
            "promotes_itself",
            "The brokers promote observers by themselves: a second hand would work against them.",
        )
    if facts.is_read_only:
        yield "is_read_only", "crosslog is read-only; the commands can be used by hand."
    if facts.has_quorum is False:
        yield "has_quorum", "The KRaft quorum has no majority: nothing can be changed."


def _of_rights(kind: ActorKind, facts: ActorFacts) -> Iterator[Problem]:
    for name, (problem, _) in _RIGHTS[kind].items():
        if getattr(facts, name) is False:
            yield name, problem


def _standby(facts: ActorFacts, partition: PartitionModel | None) -> Iterator[Problem]:
    if not facts.standbys:
        yield (
            "standbys",
            "No broker is set up as a fenced standby: start a dedicated one with "
            "broker.heartbeat.interval.ms=86400000.",
        )
    elif partition is not None and not facts.standbys & set(partition.replicas):
        which = ", ".join(map(str, sorted(facts.standbys)))
        yield (
            "partition",
            f"{partition.topic}-{partition.partition} has no replica on a standby broker ({which}): add "
            "one by a reassignment first.",
        )


def _held_back(facts: ActorFacts, partition: PartitionModel | None) -> Iterator[Problem]:
    if not facts.held_back:
        yield "held_back", "No replica is held back by a throttle."
    elif partition is not None and not facts.held_back.get((partition.topic, partition.partition)):
        yield (
            "partition",
            f"{partition.topic}-{partition.partition} has no replica that a throttle holds back.",
        )


def _spare(facts: ActorFacts, partition: PartitionModel | None) -> Iterator[Problem]:
    used = set() if partition is None else set(partition.replicas)
    if not [one for one in facts.spares if one not in used]:
        yield "spares", "There is no live broker without a replica that could take a copy."


def _relax(facts: ActorFacts, partition: PartitionModel | None) -> Iterator[Problem]:
    if partition is not None and partition.min_insync_replicas is None:
        yield "partition", f"min.insync.replicas of {partition.topic} is not known."
    elif partition is not None and (partition.min_insync_replicas or 1) <= 1:
        yield "partition", f"min.insync.replicas of {partition.topic} is 1 already."


_CHECKS: Mapping[ActorKind, Callable[[ActorFacts, PartitionModel | None], Iterator[Problem]]] = {
    ActorKind.FENCED_STANDBY: _standby,
    ActorKind.HELD_BACK_REPLICA: _held_back,
    ActorKind.REASSIGN_TO_SPARE: _spare,
    ActorKind.RELAX_MIN_ISR: _relax,
}
