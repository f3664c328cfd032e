"""The four ways to get another replica into the ISR of plain Apache Kafka: who can use which, and its
price. Pure.

Times are those of Kafka 4.3.1 measured for this project (`expected_times`); a guess is never shown as
measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.availability.promotion.actors.checks import problems_of, unknown_of
from jobs.availability.promotion.actors.commands import ActorCommands, commands_of
from jobs.availability.promotion.actors.facts import ActorFacts, Usability
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.expected_times import OUTAGE, REVERT, Span, act_span
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.what_if.model.cluster import PartitionModel

__all__ = ["ActorFacts", "ActorKind", "Span", "Usability", "catalogue", "usability"]


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
