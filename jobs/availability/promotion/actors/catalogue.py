"""The four ways to get another replica into the ISR of plain Apache Kafka: who can use which, and its
price. Pure.

Times are those of Kafka 4.3.1 measured for this project (`expected_times`); a guess is never shown as
measured.
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
        "A broker that is fenced on purpose and keeps replicating: an observer for everything that it "
        "holds. Heartbeats sent for it from outside bring it into the ISR, and silence or a fence "
        "takes it out.",
        "A dedicated broker with its disks and a copy of each partition; no leaders and no client "
        "reads there; it is listed as under-replicated while it is fenced. No copy is made when it is "
        "promoted.",
        "A heartbeat with wantFence=true takes it out of the ISR; silence does after the session timeout.",
        (
            "The whole broker is promoted: every partition that it holds gets another in-sync replica.",
            "Somebody must send a heartbeat every 2 s for as long as it is promoted; after 9 s of "
            "silence it drops out. Run two loops, not in the site that may be lost.",
            "A promoted standby can become leader; start it with a listener that clients can reach.",
            "Each heartbeat of its own (at its start, then every broker.heartbeat.interval.ms) "
            "unfences it for 9 s: for that long it is in the ISR.",
            "Heartbeats need CLUSTER_ACTION and the controllers' listener: a right that can do much "
            "harm. They go to the active controller only; the others log errors.",
            "Experimental: it uses the public protocol in a way that nobody else does.",
        ),
    ),
    ActorKind.HELD_BACK_REPLICA: _Story(
        "A replica that a replication throttle keeps behind and out of the ISR. Lifting the throttle "
        "brings it in.",
        "A copy of the partition that lags on purpose, and a brake: a listed partition with one "
        "record/s between the same two brokers at rate 0, without which a throttle holds nothing back.",
        "There is no good way back: reassign the partition without the replica and back, which copies "
        "everything.",
        (
            "A throttle does not hold a replica back that is in sync, nor one that was just created.",
            "Its lag is what is lost when all others die: it is no copy for an RPO of zero.",
            "The rate is one per broker: lifting it lets every throttled replica of that broker go.",
            "Other ways out of the ISR stall producers for 11 to 33 s.",
        ),
        is_revertible=False,
    ),
    ActorKind.REASSIGN_TO_SPARE: _Story(
        "A reassignment adds a replica on a spare broker; it is in the ISR when it has copied everything.",
        "A full copy over the network while the cluster is weak; it takes as long as the data is large.",
        "Reassign the partition back to its brokers of before; the copy on the spare is deleted.",
        (
            "It needs a live leader: with no ISR member alive there is nobody to copy from.",
            "It can run for hours; other reassignments (Cruise Control) get in its way, and it in theirs.",
            "Cancelled half way it leaves the partition as it was.",
        ),
    ),
    ActorKind.RELAX_MIN_ISR: _Story(
        "min.insync.replicas of the topic comes down to the in-sync replicas that are left; writes go "
        "on with fewer copies, until it is set back.",
        "No copy and no broker, but what is acked meanwhile is on fewer copies: losing them loses it.",
        "Set min.insync.replicas back as soon as the ISR is large enough.",
        (
            "A write that was pending stalls until its request timeout, 30 s by default: nothing moves "
            "the high watermark. One record from a second connection ends it.",
            "With eligible leader replicas on, every change of min.insync.replicas clears the ELR of "
            "the topic: a leaderless partition loses the list of those that have everything.",
            "It is easily forgotten: set back by a person only, it stays weak.",
        ),
    ),
}


def catalogue(
    facts: ActorFacts, partition: PartitionModel | None = None, tools: KafkaTools | None = None
) -> tuple[Usability, ...]:
    """Return all four actors for a cluster (or for one partition of it), the usable ones first.

    Among them the order is that of their price: standby, held-back replica, spare, relaxed min ISR.
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
