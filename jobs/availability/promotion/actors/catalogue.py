"""The four methods to add a replica to the ISR on Apache Kafka: requirements and cost. Pure.

Times were measured on Kafka 4.3.1 (`expected_times`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from jobs.availability.promotion.actors.commands import ActorCommands, commands_of
from jobs.availability.promotion.actors.facts import ActorFacts, Usability
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.expected_times import OUTAGE, REVERT, act_span
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.what_if.model.cluster import PartitionModel


@dataclass(frozen=True, slots=True)
class _Story:
    summary: str
    cost: str
    how_to_revert: str
    traps: tuple[str, ...]
    is_revertible: bool = True


_STORIES: Mapping[ActorKind, _Story] = {
    ActorKind.FENCED_STANDBY: _Story(
        "A broker that is fenced on purpose and keeps replicating: all its replicas are observers. crosslog "
        "sends heartbeats for it, which unfence it into the ISR; a fence or missing heartbeats remove it.",
        "A dedicated broker with disks and a replica of each partition; no leaders and no client reads; "
        "listed as under-replicated while fenced. A promotion copies nothing.",
        "A heartbeat with wantFence=true removes it from the ISR; missing heartbeats do so after the "
        "session timeout.",
        (
            "The whole broker is promoted: all its partitions get another in-sync replica.",
            "It needs a heartbeat every 2 s while promoted; after 9 s without one it leaves the ISR. Run two "
            "loops, outside the site that may fail.",
            "A promoted standby can become leader: start it with a listener that clients can reach.",
            "The broker's own heartbeats (at its start, then every broker.heartbeat.interval.ms) unfence it "
            "for 9 s: for that time it is in the ISR.",
            "Heartbeats need CLUSTER_ACTION, a powerful permission, and the controllers' listener. They go "
            "to the active controller only; the other controllers log errors.",
            "Experimental: an unusual use of the public protocol.",
        ),
    ),
    ActorKind.HELD_BACK_REPLICA: _Story(
        "A replica that a replication throttle keeps outside the ISR. Removing the throttle lets it catch up "
        "and join.",
        "A replica that lags on purpose, and a throttled helper partition with one record/s between the same "
        "two brokers at rate 0, without which the throttle has no effect.",
        "Only by reassigning the partition without the replica and back, which copies all records.",
        (
            "A throttle does not affect a replica in sync, nor a new one.",
            "If all other replicas fail, its lag is lost: unsuitable for RPO 0.",
            "The rate is per broker: removing it releases all throttled replicas of that broker.",
            "Other methods to leave the ISR stall producers for 11 to 33 s.",
        ),
        is_revertible=False,
    ),
    ActorKind.REASSIGN_TO_SPARE: _Story(
        "A reassignment adds a replica on a spare broker; it joins the ISR when all records are copied.",
        "A full copy over the network while the cluster is degraded; the time grows with the data.",
        "Reassign the partition to its previous brokers; the replica on the spare is deleted.",
        (
            "It needs a live leader as the source of the copy.",
            "It can run for hours, and conflicts with other reassignments (Cruise Control).",
            "Cancelling it leaves the partition unchanged.",
        ),
    ),
    ActorKind.RELAX_MIN_ISR: _Story(
        "Lowers min.insync.replicas of the topic to the size of the ISR; writes continue with fewer "
        "replicas until it is restored.",
        "No copy and no broker, but records acknowledged meanwhile are on fewer replicas.",
        "Restore min.insync.replicas as soon as the ISR is large enough.",
        (
            "Pending writes stall until their request timeout, 30 s by default: the high watermark does not "
            "advance. One record from a second connection ends the stall.",
            "With eligible leader replicas on, every change of min.insync.replicas clears the ELR of the "
            "topic: a leaderless partition loses the list of its complete replicas.",
            "Without automatic mode an operator has to restore it.",
        ),
    ),
}


def catalogue(
    facts: ActorFacts, partition: PartitionModel | None = None, tools: KafkaTools | None = None
) -> tuple[Usability, ...]:
    """Return all four methods for a cluster (or for one of its partitions), the available ones first.

    The order is that of their cost: standby, held-back replica, spare, relaxed min ISR.
    """
    found = [usability(kind, facts, partition, tools) for kind in ActorKind]
    return tuple(sorted(found, key=lambda one: not one.is_usable))


def usability(
    kind: ActorKind,
    facts: ActorFacts,
    partition: PartitionModel | None = None,
    tools: KafkaTools | None = None,
) -> Usability:
    """Return whether one actor can be used, what it costs, how long it takes and how it is reverted."""
    story = _STORIES[kind]
    problems = problems_of(kind, facts, partition)
    commands: ActorCommands = commands_of(kind, facts, partition, tools or KafkaTools())
    return Usability(
        kind=kind,
        title=kind.words,
        summary=story.summary,
        is_usable=not problems,
        problems=problems,
        unknown=unknown_of(kind, facts),
        cost=story.cost,
        act=act_span(kind, facts.partition_bytes, facts.bytes_per_s),
        outage=OUTAGE.get(kind),
        revert=REVERT.get(kind),
        is_revertible=story.is_revertible,
        act_commands=commands.act,
        revert_commands=commands.revert,
        how_to_revert=story.how_to_revert,
        traps=story.traps,
        brokers=commands.brokers,
    )


Problem = tuple[str, str]

_RIGHTS: Mapping[ActorKind, Mapping[str, tuple[str, str]]] = {
    ActorKind.FENCED_STANDBY: {
        "can_reach_controllers": (
            "The controllers' listener, which receives the heartbeats, is not reachable.",
            "Unknown: connection to the controllers' listener.",
        ),
        "can_cluster_action": (
            "crosslog's principal lacks CLUSTER_ACTION on the cluster, which heartbeats need.",
            "Unknown: CLUSTER_ACTION of crosslog's principal.",
        ),
    },
    ActorKind.HELD_BACK_REPLICA: {
        "can_alter_configs": (
            "crosslog's principal lacks ALTER_CONFIGS on brokers, which hold the throttle's rate.",
            "Unknown: ALTER_CONFIGS of crosslog's principal on brokers.",
        ),
    },
    ActorKind.REASSIGN_TO_SPARE: {
        "can_alter_cluster": (
            "crosslog's principal lacks ALTER on the cluster, which reassignments need.",
            "Unknown: ALTER of crosslog's principal on the cluster.",
        ),
    },
    ActorKind.RELAX_MIN_ISR: {
        "can_alter_configs": (
            "crosslog's principal lacks ALTER_CONFIGS on the topic.",
            "Unknown: ALTER_CONFIGS of crosslog's principal on the topic.",
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
                f"{partition.topic}-{partition.partition} has no leader: only an unclean election by an "
                "operator helps.",
            )
        )
    problems: dict[str, str] = {}
    for name, sentence in found:
        problems[name] = f"{problems[name]} {sentence}" if name in problems else sentence
    return problems


def unknown_of(kind: ActorKind, facts: ActorFacts) -> dict[str, str]:
    """Return the unknown requirements: field -> sentence."""
    found = {
        name: unknown
        for name, (_, unknown) in _RIGHTS[kind].items()
        if getattr(facts, name) is None
    }
    if facts.has_quorum is None:
        found["has_quorum"] = "Unknown: majority of the KRaft quorum."
    return found


def _of_cluster(facts: ActorFacts) -> Iterator[Problem]:
    if facts.promotes_itself:
        yield (
            "promotes_itself",
            "The brokers promote observers automatically: crosslog would conflict with them.",
        )
    if facts.is_read_only:
        yield "is_read_only", "crosslog is read-only. Run the commands manually."
    if facts.has_quorum is False:
        yield "has_quorum", "The KRaft quorum has no majority: no change is possible."


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
            f"{partition.topic}-{partition.partition} has no held-back replica.",
        )


def _spare(facts: ActorFacts, partition: PartitionModel | None) -> Iterator[Problem]:
    used = set() if partition is None else set(partition.replicas)
    if not [one for one in facts.spares if one not in used]:
        yield "spares", "No live broker without a replica is available."


def _relax(facts: ActorFacts, partition: PartitionModel | None) -> Iterator[Problem]:
    if partition is not None and partition.min_insync_replicas is None:
        yield "partition", f"min.insync.replicas of {partition.topic} is unknown."
    elif partition is not None and (partition.min_insync_replicas or 1) <= 1:
        yield "partition", f"min.insync.replicas of {partition.topic} is 1 already."


_CHECKS: Mapping[ActorKind, Callable[[ActorFacts, PartitionModel | None], Iterator[Problem]]] = {
    ActorKind.FENCED_STANDBY: _standby,
    ActorKind.HELD_BACK_REPLICA: _held_back,
    ActorKind.REASSIGN_TO_SPARE: _spare,
    ActorKind.RELAX_MIN_ISR: _relax,
}
