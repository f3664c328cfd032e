"""Shell commands equivalent to each method, and to its revert. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobs.availability.promotion.actors.facts import ActorFacts
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.what_if.model.cluster import PartitionModel

STANDBY_SETTING = "broker.heartbeat.interval.ms=86400000"
_THROTTLE = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")


@dataclass(frozen=True, slots=True)
class ActorCommands:
    """Lines of a shell (those that begin with # are comments), and the brokers that would be used."""

    act: tuple[str, ...] = ()
    revert: tuple[str, ...] = ()
    brokers: tuple[int, ...] = ()


def commands_of(
    kind: ActorKind, facts: ActorFacts, partition: PartitionModel | None, tools: KafkaTools
) -> ActorCommands:
    """Return the commands of an actor; none where the broker or partition that they need is not known."""
    return _COMMANDS[kind](facts, partition, tools)


def _standby(
    facts: ActorFacts, partition: PartitionModel | None, tools: KafkaTools
) -> ActorCommands:
    held = facts.standbys if partition is None else facts.standbys & set(partition.replicas)
    if not held:
        return ActorCommands()
    broker = min(held, key=lambda one: (partition is not None and one in partition.isr, one))
    stop = tools.tool("kafka-server-stop", f"--node-id={broker}")
    start = tools.tool("kafka-server-start", "-daemon", "config/server.properties")
    return ActorCommands(
        act=(
            _order("promote", broker),
            f"# or without heartbeats of crosslog, about 13 s: remove {STANDBY_SETTING} from the "
            f"properties of broker {broker} and restart it",
            stop,
            start,
        ),
        revert=(
            _order("demote", broker),
            f"# or, after a restart: add {STANDBY_SETTING} again and restart broker {broker}",
            stop,
            start,
        ),
        brokers=tuple(sorted(held)),
    )


def _held_back(
    facts: ActorFacts, partition: PartitionModel | None, tools: KafkaTools
) -> ActorCommands:
    if partition is None:
        return ActorCommands()
    held = facts.held_back.get((partition.topic, partition.partition), ())
    if not held:
        return ActorCommands()
    place = (partition.topic, partition.partition)
    without = [one for one in partition.replicas if one != held[0]]
    follower, leader = _THROTTLE
    leads = () if partition.leader is None else (_unset(tools, partition.leader, leader),)
    return ActorCommands(
        act=(_unset(tools, held[0], follower), *leads),
        revert=(
            "# removes the replica and copies it again:",
            *tools.reassign({place: without}, "without.json"),
            tools.verify_reassignment("without.json"),
            *tools.reassign({place: partition.replicas}, "with.json"),
        ),
        brokers=tuple(held),
    )


def _order(order: str, broker: int) -> str:
    """Return where crosslog promotes and demotes a fenced standby broker: Kafka has no tool for it."""
    return f"# on the page Promotion of this cluster: {order} broker {broker}"


def _unset(tools: KafkaTools, broker: int, setting: str) -> str:
    of_broker = ["--entity-type", "brokers", "--entity-name", str(broker)]
    return tools.tool("kafka-configs", *of_broker, "--alter", "--delete-config", setting)


def _spare(facts: ActorFacts, partition: PartitionModel | None, tools: KafkaTools) -> ActorCommands:
    if partition is None:
        return ActorCommands(brokers=facts.spares)
    free = tuple(one for one in facts.spares if one not in partition.replicas)
    if not free:
        return ActorCommands()
    in_isr = {facts.racks.get(one) for one in partition.isr}
    # A rack without an in-sync replica first: it survives more.
    best = min(free, key=lambda one: (facts.racks.get(one) in in_isr, one))
    place = (partition.topic, partition.partition)
    return ActorCommands(
        act=(
            *tools.reassign({place: (*partition.replicas, best)}, "add-spare.json"),
            tools.verify_reassignment("add-spare.json"),
        ),
        revert=(
            *tools.reassign({place: partition.replicas}, "remove-spare.json"),
            tools.verify_reassignment("remove-spare.json"),
        ),
        brokers=(best, *(one for one in free if one != best)),
    )


def _relax(facts: ActorFacts, partition: PartitionModel | None, tools: KafkaTools) -> ActorCommands:
    wanted = None if partition is None else partition.min_insync_replicas
    if partition is None or wanted is None or wanted <= 1:
        return ActorCommands()
    topic = partition.topic
    least = max(1, min(len(partition.isr), wanted - 1))
    return ActorCommands(
        act=(
            "# an automatic policy on the page Promotion does all of this, and restores the value",
            tools.set_topic(topic, min_insync_replicas=str(least)),
            "# one record from a second connection ends the stall of pending writes; consumers will see it:",
            f"printf '%s\\n' end-of-stall | {tools.tool('kafka-console-producer', '--topic', topic)}",
        ),
        revert=(tools.set_topic(topic, min_insync_replicas=str(wanted)),),
    )


_COMMANDS: Mapping[
    ActorKind, Callable[[ActorFacts, PartitionModel | None, KafkaTools], ActorCommands]
] = {
    ActorKind.FENCED_STANDBY: _standby,
    ActorKind.HELD_BACK_REPLICA: _held_back,
    ActorKind.REASSIGN_TO_SPARE: _spare,
    ActorKind.RELAX_MIN_ISR: _relax,
}
