"""The commands and checks that steps of runbooks name, filled in from what is known. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from jobs.availability.runbooks.kafka_commands import ids, standby_order
from jobs.availability.runbooks.model import Check, RunbookFacts


class CommandKind(StrEnum):
    """A command of a step; which facts it needs stands in `NEEDS`."""

    NONE = "none"
    DESCRIBE = "describe"
    UNHEALTHY = "unhealthy"
    BROKERS = "brokers"
    LOG_DIRS = "log_dirs"
    TOPIC_SETTINGS = "topic_settings"
    BROKER_SETTINGS = "broker_settings"
    END_OFFSETS = "end_offsets"
    START_BROKER = "start_broker"
    RESTART_BROKER = "restart_broker"
    PREFERRED_ELECTION = "preferred_election"
    UNCLEAN_ELECTION = "unclean_election"
    REPLACE_REPLICA = "replace_replica"
    ADD_REPLICA = "add_replica"
    LIST_REASSIGNMENTS = "list_reassignments"
    CANCEL_REASSIGNMENT = "cancel_reassignment"
    LIFT_THROTTLE = "lift_throttle"
    QUORUM_STATUS = "quorum_status"
    QUORUM_REPLICATION = "quorum_replication"
    RELAX_MIN_ISR = "relax_min_isr"
    RESTORE_MIN_ISR = "restore_min_isr"
    FIT_MIN_ISR = "fit_min_isr"
    FORBID_UNCLEAN = "forbid_unclean"
    PROMOTE = "promote"
    DEMOTE = "demote"


class CheckKind(StrEnum):
    """A check of a step."""

    STATE = "state"
    IN_ISR = "in_isr"
    FULL_ISR = "full_isr"
    ENOUGH_ISR = "enough_isr"
    LEADER = "leader"
    PREFERRED = "preferred"
    UNFENCED = "unfenced"
    LAG = "lag"
    DISKS = "disks"
    NO_REASSIGNMENT = "no_reassignment"
    NO_THROTTLE = "no_throttle"
    QUORUM = "quorum"
    MIN_ISR = "min_isr"
    OFFSETS = "offsets"
    UNCLEAN_OFF = "unclean_off"
    OUT_OF_ISR = "out_of_isr"


NEEDS: Mapping[CommandKind, tuple[str, ...]] = {
    CommandKind.BROKER_SETTINGS: ("broker",),
    CommandKind.START_BROKER: ("broker",),
    CommandKind.RESTART_BROKER: ("broker",),
    CommandKind.UNCLEAN_ELECTION: ("no_leader",),
    CommandKind.REPLACE_REPLICA: ("broker", "spare", "leader"),
    CommandKind.ADD_REPLICA: ("spare", "leader"),
    CommandKind.LIFT_THROTTLE: ("broker",),
    CommandKind.RELAX_MIN_ISR: ("min_insync_replicas", "isr"),
    CommandKind.RESTORE_MIN_ISR: ("min_insync_replicas",),
    CommandKind.FIT_MIN_ISR: ("replicas",),
    CommandKind.PROMOTE: ("waiting_observer",),
    CommandKind.DEMOTE: ("promoted_observer",),
}
_LEADER, _FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"


def known(facts: RunbookFacts) -> dict[str, object]:
    """Return everything that sentences and commands may name; None where it is not known."""
    spare = next(iter(facts.spares), None)
    waiting = next((one for one in facts.observers if one not in facts.isr), None)
    promoted = next((one for one in facts.observers if one in facts.isr), None)
    return {
        "topic": facts.topic,
        "partition": facts.partition,
        "place": f"{facts.topic}-{facts.partition}",
        "replicas": ids(facts.replicas) or None,
        "sync": ids(r for r in facts.replicas if r not in facts.observers) or None,
        "isr": ids(facts.isr) or None,
        "elr": ids(facts.elr) or None,
        "missing": ids(facts.missing) or None,
        "leader": facts.leader,
        "no_leader": "none" if facts.leader is None else None,
        "broker": facts.subject,
        "rack": facts.rack,
        "spare": spare,
        "waiting_observer": waiting,
        "promoted_observer": promoted,
        "preferred": next(iter(facts.replicas), None),
        "min_insync_replicas": facts.min_insync_replicas,
        "rf": len(facts.replicas) or None,
    }


def commands(ask: CommandKind, facts: RunbookFacts) -> tuple[str, ...]:
    """Return the lines of a command; empty where a fact that it needs is missing, or there is none."""
    told = known(facts)
    if any(told[name] is None for name in NEEDS.get(ask, ())):
        return ()
    return _COMMANDS[ask](facts)


def _replace(facts: RunbookFacts) -> tuple[str, ...]:
    spare = facts.spares[0]
    wanted = tuple(spare if one == facts.subject else one for one in facts.replicas)
    return _reassign(facts, wanted)


def _add(facts: RunbookFacts) -> tuple[str, ...]:
    return _reassign(facts, (*facts.replicas, facts.spares[0]))


def _reassign(facts: RunbookFacts, wanted: tuple[int, ...]) -> tuple[str, ...]:
    return facts.tools.reassign({(facts.topic, facts.partition): wanted})


def _cancel(facts: RunbookFacts) -> tuple[str, ...]:
    # The tool takes a reassignment back whatever the file says that the replicas shall be.
    wanted = {(facts.topic, facts.partition): facts.replicas}
    write, _ = facts.tools.reassign(wanted, "cancel.json")
    return (write, facts.tools.cancel_reassignment("cancel.json"))


def _lift(facts: RunbookFacts) -> tuple[str, ...]:
    # One at a time: the tool refuses a whole command when one of its settings is not set.
    tools, follower, leader = facts.tools, facts.subject, facts.leader
    of_follower = () if follower is None else (tools.unset_broker(follower, f"{_FOLLOWER}.rate"),)
    of_leader = () if leader is None else (tools.unset_broker(leader, f"{_LEADER}.rate"),)
    of_topic = (tools.unset_topic(facts.topic, f"{one}.replicas") for one in (_FOLLOWER, _LEADER))
    return (*of_follower, *of_leader, *of_topic)


def _standby(what: str, facts: RunbookFacts) -> tuple[str, ...]:
    name = "waiting_observer" if what == "promote" else "promoted_observer"
    return (standby_order(what, known(facts)[name]),)


def _set_min(facts: RunbookFacts, least: int) -> tuple[str, ...]:
    return (facts.tools.set_topic(facts.topic, min_insync_replicas=str(least)),)


_COMMANDS: Mapping[CommandKind, Callable[[RunbookFacts], tuple[str, ...]]] = {
    CommandKind.NONE: lambda _: (),
    CommandKind.DESCRIBE: lambda f: (f.tools.describe_topic(f.topic),),
    CommandKind.UNHEALTHY: lambda f: (
        f.tools.tool("kafka-topics", "--describe", "--unavailable-partitions"),
        f.tools.tool("kafka-topics", "--describe", "--under-min-isr-partitions"),
        f.tools.tool("kafka-topics", "--describe", "--at-min-isr-partitions"),
    ),
    CommandKind.BROKERS: lambda f: (f.tools.brokers(),),
    CommandKind.LOG_DIRS: lambda f: (f.tools.log_dirs(f.topic, ()),),
    CommandKind.TOPIC_SETTINGS: lambda f: (f.tools.topic_settings(f.topic),),
    CommandKind.BROKER_SETTINGS: lambda f: (f.tools.broker_settings(f.subject or 0),),
    CommandKind.END_OFFSETS: lambda f: (f.tools.end_offsets(f.topic, f.partition),),
    CommandKind.START_BROKER: lambda f: (f.tools.start_server(f.subject or 0),),
    CommandKind.RESTART_BROKER: lambda f: (
        f.tools.stop_server(f.subject or 0),
        f.tools.start_server(f.subject or 0),
    ),
    CommandKind.PREFERRED_ELECTION: lambda f: (f.tools.elect(f.topic, f.partition),),
    CommandKind.UNCLEAN_ELECTION: lambda f: (f.tools.elect(f.topic, f.partition, is_unclean=True),),
    CommandKind.REPLACE_REPLICA: _replace,
    CommandKind.ADD_REPLICA: _add,
    CommandKind.LIST_REASSIGNMENTS: lambda f: (f.tools.list_reassignments(),),
    CommandKind.CANCEL_REASSIGNMENT: _cancel,
    CommandKind.LIFT_THROTTLE: _lift,
    CommandKind.QUORUM_STATUS: lambda f: (f.tools.quorum("--status"),),
    CommandKind.QUORUM_REPLICATION: lambda f: (f.tools.quorum("--replication"),),
    CommandKind.RELAX_MIN_ISR: lambda f: _set_min(f, max(1, len(f.isr))),
    CommandKind.RESTORE_MIN_ISR: lambda f: _set_min(f, f.min_insync_replicas or 1),
    CommandKind.FIT_MIN_ISR: lambda f: _set_min(f, max(1, len(f.replicas) - 1)),
    CommandKind.FORBID_UNCLEAN: lambda f: (
        f.tools.set_topic(f.topic, unclean_leader_election_enable="false"),
    ),
    CommandKind.PROMOTE: lambda f: _standby("promote", f),
    CommandKind.DEMOTE: lambda f: _standby("demote", f),
}

_DESCRIBES: Mapping[CheckKind, str] = {
    CheckKind.STATE: "The line of partition {partition} with Leader, Replicas, Isr and Elr.",
    CheckKind.IN_ISR: "Isr of partition {partition} contains {broker}.",
    CheckKind.FULL_ISR: "Isr of partition {partition} lists {sync}.",
    CheckKind.ENOUGH_ISR: "Isr of partition {partition} lists at least {min_insync_replicas} brokers.",
    CheckKind.LEADER: "Leader of partition {partition} is the id of a broker, not none.",
    CheckKind.PREFERRED: "Leader of partition {partition} is {preferred}.",
    CheckKind.OUT_OF_ISR: "Isr of partition {partition} no longer contains {promoted_observer}.",
}


def check(see: CheckKind, facts: RunbookFacts) -> Check:
    """Return how to see that a step worked; what is not known is told in general words."""
    command, expect, page = _check(see, facts)
    words = {name: _any(name) if value is None else value for name, value in known(facts).items()}
    return Check(command, expect.format(**words), page)


def _any(name: str) -> str:
    return {
        "broker": "the broker",
        "sync": "all replicas",
        "preferred": "the first of Replicas",
        "promoted_observer": "the observer",
        "min_insync_replicas": "min.insync.replicas",
    }.get(name, name)


def _check(see: CheckKind, facts: RunbookFacts) -> tuple[str, str, str]:
    if see in _DESCRIBES:
        return facts.tools.describe_topic(facts.topic), _DESCRIBES[see], facts.page
    return _CHECKS[see](facts)


_CHECKS: Mapping[CheckKind, Callable[[RunbookFacts], tuple[str, str, str]]] = {
    CheckKind.UNFENCED: lambda f: (
        f.tools.brokers(),
        "Broker {broker} is listed with the state unfenced.",
        f.brokers_page or f.page,
    ),
    CheckKind.LAG: lambda f: (
        f.tools.log_dirs(f.topic, ()),
        "offsetLag of {place} falls to 0 on broker {broker}.",
        f.page,
    ),
    CheckKind.DISKS: lambda f: (
        f.tools.log_dirs(f.topic, ()),
        "error is null for every log directory of broker {broker}.",
        f.brokers_page or f.page,
    ),
    CheckKind.NO_REASSIGNMENT: lambda f: (
        f.tools.list_reassignments(),
        "{place} is not listed.",
        f.page,
    ),
    CheckKind.NO_THROTTLE: lambda f: (
        f.tools.topic_settings(f.topic),
        "Neither leader.replication.throttled.replicas nor follower.replication.throttled.replicas has "
        "a value.",
        f.page,
    ),
    CheckKind.QUORUM: lambda f: (
        f.tools.quorum("--status"),
        "LeaderId is the id of a controller, and MaxFollowerLag is near 0.",
        f.quorum_page or f.page,
    ),
    CheckKind.MIN_ISR: lambda f: (
        f.tools.topic_settings(f.topic),
        "min.insync.replicas has the wanted value.",
        f.page,
    ),
    CheckKind.OFFSETS: lambda f: (
        f.tools.end_offsets(f.topic, f.partition),
        "The end offset of {place}; compare it with what producers and the other copies say.",
        f.page,
    ),
    CheckKind.UNCLEAN_OFF: lambda f: (
        f.tools.topic_settings(f.topic),
        "unclean.leader.election.enable is false.",
        f.page,
    ),
}
