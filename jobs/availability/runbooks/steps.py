"""The steps of the runbooks as data: for each cause, and for each severity, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.availability.runbooks.commands import CheckKind, CommandKind
from jobs.availability.runbooks.model import Trouble, TroubleCause

_ANY = frozenset(Trouble)


@dataclass(frozen=True, slots=True)
class StepTemplate:
    """A step before it is filled in.

    `sentence` may name what `commands.known` knows. `otherwise` is said, without a command, where a
    fact is missing that the sentence or the command needs; empty: the step is left out then. `troubles`: only
    for those.
    """

    sentence: str
    ask: CommandKind
    see: CheckKind
    otherwise: str = ""
    troubles: frozenset[Trouble] = _ANY
    is_dangerous: bool = False


_BAD = frozenset({Trouble.AT_MIN_ISR, Trouble.UNDER_MIN_ISR, Trouble.OFFLINE})
_ONLINE = frozenset(Trouble) - {Trouble.OFFLINE}

LOOK = StepTemplate(
    "Look at {place}: who leads, who is in the ISR, who is in the ELR.",
    CommandKind.DESCRIBE,
    CheckKind.STATE,
)
_WHO_LIVES = StepTemplate(
    "See which brokers are registered, and which of them are fenced.",
    CommandKind.BROKERS,
    CheckKind.UNFENCED,
)
_START = StepTemplate(
    "Read the end of the log of broker {broker} on its machine, mend what it names, and start it there.",
    CommandKind.START_BROKER,
    CheckKind.IN_ISR,
    "Find the broker that is missing in the list above, read the end of its log, and start it.",
)
_REPLACE = StepTemplate(
    "If broker {broker} will not come back soon, give its replica to broker {spare}; everything is copied.",
    CommandKind.REPLACE_REPLICA,
    CheckKind.NO_REASSIGNMENT,
    "If it will not come back soon, reassign its replica to another broker. No live broker without a "
    "replica is known, or there is no leader to copy from.",
    troubles=frozenset({Trouble.UNDER_REPLICATED, Trouble.AT_MIN_ISR, Trouble.UNDER_MIN_ISR}),
)
_LAGS = StepTemplate(
    "See how far each replica is behind, and whether a disk is dead.",
    CommandKind.LOG_DIRS,
    CheckKind.LAG,
)
_QUORUM = StepTemplate(
    "See whether the quorum has a leader: without one nothing of this can be changed.",
    CommandKind.QUORUM_STATUS,
    CheckKind.QUORUM,
)

_SITE = (
    _QUORUM,
    StepTemplate(
        "Decide with the people of the site whether it comes back, and when: everything below depends on it.",
        CommandKind.BROKERS,
        CheckKind.UNFENCED,
    ),
    StepTemplate(
        "If the site can come back: start its brokers, those of the ELR ({elr}) first; they have every "
        "acked record.",
        CommandKind.NONE,
        CheckKind.LEADER,
        "If the site can come back: start its brokers, first those that were in the ISR last; they "
        "have every acked record.",
    ),
)

OF_CAUSE: Mapping[TroubleCause, tuple[StepTemplate, ...]] = {
    TroubleCause.BROKER_DEAD: (_WHO_LIVES, _START, _REPLACE),
    TroubleCause.BROKER_FENCED: (
        StepTemplate(
            "Broker {broker} is fenced: the active controller has had no heartbeat of it for "
            "broker.session.timeout.ms. See whether its process runs (start it if not), and whether the "
            "quorum has a leader that it can reach.",
            CommandKind.QUORUM_STATUS,
            CheckKind.QUORUM,
            "A broker is fenced: the active controller has had no heartbeat of it for "
            "broker.session.timeout.ms. See whether the quorum has a leader that it can reach.",
        ),
        StepTemplate(
            "Look in the log of broker {broker} for heartbeats that failed, long pauses of the JVM and "
            "a full disk; try the controllers' listener from its machine. A broker with "
            "broker.heartbeat.interval.ms=86400000 is a fenced standby, and fenced on purpose.",
            CommandKind.BROKERS,
            CheckKind.UNFENCED,
            "Look in the log of the fenced broker for heartbeats that failed and long pauses of the JVM.",
        ),
        StepTemplate(
            "If it stays fenced, restart broker {broker} on its machine.",
            CommandKind.RESTART_BROKER,
            CheckKind.IN_ISR,
            "If it stays fenced, restart it on its machine.",
        ),
    ),
    TroubleCause.CONTROLLED_SHUTDOWN: (
        StepTemplate(
            "Broker {broker} was shut down in order. Ask whether somebody is at work on it (a rolling "
            "restart, an upgrade) before you do anything.",
            CommandKind.BROKERS,
            CheckKind.UNFENCED,
            "A broker was shut down in order. Ask whether somebody is at work on it before you do anything.",
        ),
        StepTemplate(
            "If nobody is, or it takes too long, start broker {broker} on its machine.",
            CommandKind.START_BROKER,
            CheckKind.IN_ISR,
            "If nobody is, or it takes too long, start it on its machine.",
        ),
        StepTemplate(
            "Do not restart a further broker before {place} is in sync again.",
            CommandKind.NONE,
            CheckKind.FULL_ISR,
            troubles=_BAD,
        ),
    ),
    TroubleCause.LAGGING_FOLLOWER: (
        _LAGS,
        StepTemplate(
            "See whether a throttle holds broker {broker} back.",
            CommandKind.BROKER_SETTINGS,
            CheckKind.NO_THROTTLE,
            "See whether a throttle holds the follower back.",
        ),
        StepTemplate(
            "Look at broker {broker}: its disk, its network to the leader ({leader}), pauses of its "
            "JVM, and whether num.replica.fetchers is enough. A follower that flaps in and out is "
            "slow, not dead.",
            CommandKind.NONE,
            CheckKind.LAG,
            "Look at the follower: its disk, its network to the leader, pauses of its JVM.",
        ),
        StepTemplate(
            "If it does not catch up, restart broker {broker} on its machine.",
            CommandKind.RESTART_BROKER,
            CheckKind.IN_ISR,
            "If it does not catch up, restart it on its machine.",
            troubles=_ONLINE,
        ),
    ),
    TroubleCause.LOG_DIR_OFFLINE: (
        StepTemplate(
            "See which log directory of which broker is offline: its error is not null.",
            CommandKind.LOG_DIRS,
            CheckKind.DISKS,
        ),
        StepTemplate(
            "Mend or replace the disk on the machine of broker {broker}, then restart it; a new disk "
            "is filled by copying.",
            CommandKind.RESTART_BROKER,
            CheckKind.IN_ISR,
            "Mend or replace the disk, then restart the broker; a new disk is filled by copying.",
        ),
        _REPLACE,
    ),
    TroubleCause.REPLICA_THROTTLED: (
        StepTemplate(
            "See the throttles: the topic's throttled replicas, and the rates of broker {broker}.",
            CommandKind.BROKER_SETTINGS,
            CheckKind.NO_THROTTLE,
            "See the topic's throttled replicas among its settings, and the rates of its brokers.",
        ),
        StepTemplate(
            "See whether a reassignment is still running that needs the throttle.",
            CommandKind.LIST_REASSIGNMENTS,
            CheckKind.NO_REASSIGNMENT,
        ),
        StepTemplate(
            "If none is, lift it: the rates of broker {broker} and of the leader, and the topic's "
            "lists. Invalid config(s) means that one was not set.",
            CommandKind.LIFT_THROTTLE,
            CheckKind.LAG,
            "If none is, delete the rates of its brokers and the topic's list of throttled replicas.",
        ),
    ),
    TroubleCause.REASSIGNMENT_IN_PROGRESS: (
        StepTemplate(
            "See what is being reassigned: replicas that are added count as out of sync until they "
            "have copied everything.",
            CommandKind.LIST_REASSIGNMENTS,
            CheckKind.NO_REASSIGNMENT,
        ),
        _LAGS,
        StepTemplate(
            "If it does not move, look for a throttle that is too low, or a target that is dead.",
            CommandKind.TOPIC_SETTINGS,
            CheckKind.NO_THROTTLE,
        ),
        StepTemplate(
            "If it should not go on, take it back: the replicas are again those of before.",
            CommandKind.CANCEL_REASSIGNMENT,
            CheckKind.NO_REASSIGNMENT,
        ),
    ),
    TroubleCause.UNCLEAN_ELECTION: (
        StepTemplate(
            "A replica without all records was elected: acked records may be gone. Keep the disks of "
            "the replicas that did not lead ({missing}) as they are, and do not start those brokers: "
            "on their return they are cut to the new leader's log.",
            CommandKind.END_OFFSETS,
            CheckKind.OFFSETS,
            "A replica without all records was elected: acked records may be gone. Replicas that come "
            "back are cut to the new leader's log.",
        ),
        StepTemplate(
            "Find what is gone: compare the end offset with that of before in the partition's history, "
            "with committed offsets of groups (they may lie beyond the end now), and with a copy in "
            "another cluster.",
            CommandKind.END_OFFSETS,
            CheckKind.OFFSETS,
        ),
        StepTemplate(
            "When the records are saved or given up, let the other replicas come back.",
            CommandKind.BROKERS,
            CheckKind.FULL_ISR,
        ),
        StepTemplate(
            "Forbid it for the future, unless it was wanted.",
            CommandKind.FORBID_UNCLEAN,
            CheckKind.UNCLEAN_OFF,
        ),
    ),
    TroubleCause.LAST_SITE_LOST: _SITE,
    TroubleCause.QUORUM_LOST: (
        StepTemplate(
            "The quorum has no majority: no ISR changes, no leader is elected, nothing can be promoted "
            "or reassigned. Brokers go on with the leaders that they know. See which voters are left.",
            CommandKind.QUORUM_REPLICATION,
            CheckKind.QUORUM,
        ),
        StepTemplate(
            "Start controllers until a majority of the voters is alive; nothing else helps. If their "
            "disks are lost, stop here and read about the recovery of a quorum: it cannot be repaired "
            "by a command.",
            CommandKind.NONE,
            CheckKind.QUORUM,
        ),
        StepTemplate(
            "With the quorum back, look at all partitions anew.",
            CommandKind.UNHEALTHY,
            CheckKind.STATE,
        ),
    ),
    TroubleCause.STANDBY_PROMOTED_TOO_LONG: (
        StepTemplate(
            "Observer {promoted_observer} is in the ISR for long: every write waits for it, and its "
            "site has no further reserve. See which sync replicas are missing ({missing}) and bring "
            "them back.",
            CommandKind.BROKERS,
            CheckKind.FULL_ISR,
            "An observer is in the ISR for long: every write waits for it. See whether sync replicas "
            "are missing.",
        ),
        StepTemplate(
            "When the sync replicas are in the ISR again, demote observer {promoted_observer}; brokers "
            "that promote by themselves do it alone.",
            CommandKind.DEMOTE,
            CheckKind.OUT_OF_ISR,
            "No observer is in the ISR now: it was demoted.",
        ),
    ),
    TroubleCause.UNKNOWN: (_WHO_LIVES, _LAGS, _QUORUM),
}

_PROMOTE = StepTemplate(
    "Writes with acks=all are refused now. Promote observer {waiting_observer}: if it has caught up it "
    "is in the ISR within a second, and nothing is lost.",
    CommandKind.PROMOTE,
    CheckKind.ENOUGH_ISR,
)
_RELAX = StepTemplate(
    "Only if writes must go on before the replicas are back: let {place} take writes with the replicas "
    "that it has. What is acked meanwhile is on fewer copies. Pending writes stall for up to 30 s; one "
    "record from another producer ends that. With ELR on, the topic's ELR is cleared.",
    CommandKind.RELAX_MIN_ISR,
    CheckKind.MIN_ISR,
    is_dangerous=True,
)
_RESTORE = StepTemplate(
    "If you lowered it: set min.insync.replicas back to {min_insync_replicas} as soon as the ISR is "
    "large enough.",
    CommandKind.RESTORE_MIN_ISR,
    CheckKind.MIN_ISR,
)
_COMPLETE = StepTemplate(
    "Bring back a replica that has everything: the ELR is {elr}. The controller elects it by itself, "
    "and nothing is lost.",
    CommandKind.NONE,
    CheckKind.LEADER,
    "Bring back a replica that was in the ISR last. The controller elects it by itself, and nothing is lost.",
)
_UNCLEAN = StepTemplate(
    "Only if none of them will ever come back, and somebody who may decide it gives up the records "
    "that the living replicas do not have: elect one of those. This cannot be taken back.",
    CommandKind.UNCLEAN_ELECTION,
    CheckKind.LEADER,
    is_dangerous=True,
)

OF_TROUBLE: Mapping[Trouble, tuple[StepTemplate, ...]] = {
    Trouble.UNDER_REPLICATED: (),
    Trouble.AT_MIN_ISR: (
        StepTemplate(
            "The next loss stops writes: stop all rolling restarts and reassignments of its brokers ({isr}).",
            CommandKind.LIST_REASSIGNMENTS,
            CheckKind.STATE,
            "The next loss stops writes: stop all rolling restarts and reassignments of its brokers.",
        ),
    ),
    Trouble.UNDER_MIN_ISR: (_PROMOTE, _RELAX, _RESTORE),
    Trouble.OFFLINE: (_COMPLETE, _UNCLEAN),
    Trouble.RF_BELOW_MIN_ISR: (
        StepTemplate(
            "{place} has {rf} replicas and min.insync.replicas {min_insync_replicas}: brokers then ask "
            "for all of them, so that the loss of any one stops writes (before Kafka 3.7 all writes "
            "were refused). Add a replica on broker {spare}.",
            CommandKind.ADD_REPLICA,
            CheckKind.NO_REASSIGNMENT,
            "It has fewer replicas than min.insync.replicas asks for: the loss of any one stops "
            "writes. Add a replica; no live broker without one is known.",
        ),
        StepTemplate(
            "Or ask for one less than there are replicas.",
            CommandKind.FIT_MIN_ISR,
            CheckKind.MIN_ISR,
            "Or set min.insync.replicas to one less than there are replicas.",
        ),
    ),
}

LEAD_AGAIN = StepTemplate(
    "When all are in sync, give the leadership back to the preferred replica, {preferred}.",
    CommandKind.PREFERRED_ELECTION,
    CheckKind.PREFERRED,
    "When all are in sync, give the leadership back to the preferred replica.",
)
DONE = StepTemplate(
    "Look once more: nothing else may be left that is not in sync.",
    CommandKind.UNHEALTHY,
    CheckKind.FULL_ISR,
)
