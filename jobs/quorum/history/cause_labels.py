"""Causes and changes in a few words, for people."""

from __future__ import annotations

from jobs.quorum.history.changes import Cause, Election, PartitionChange

# What the broker of `cause_broker` did; {} is its id.
_OF_BROKER = {
    Cause.BROKER_FENCED: "broker {} was fenced",
    Cause.BROKER_UNFENCED: "broker {} was unfenced",
    Cause.CONTROLLED_SHUTDOWN: "controlled shutdown of broker {}",
    Cause.BROKER_UNREGISTERED: "broker {} was unregistered",
    Cause.BROKER_RESTARTED: "broker {} came back as a new incarnation",
    Cause.LOG_DIR_FAILED: "broker {} lost a log directory",
    Cause.ISR_SHRINK: "broker {} fell behind",
    Cause.ISR_EXPAND: "broker {} caught up",
    Cause.LEADER_RECOVERED: "leader {} recovered",
}
_WORDS = {
    Cause.ISR_SHRINK: "followers fell behind",
    Cause.ISR_EXPAND: "followers caught up",
    Cause.ISR_CHANGED: "one follower fell behind, another caught up",
    Cause.PREFERRED_ELECTION: "preferred leader elected",
    Cause.LEADER_ELECTION: "leader elected",
    Cause.ELR_ELECTION: "eligible leader replica elected",
    Cause.UNCLEAN_ELECTION: "unclean leader election",
    Cause.LEADER_LOST: "leader lost",
    Cause.LEADER_EPOCH_BUMPED: "leader epoch raised",
    Cause.ELR_CHANGED: "eligible leader replicas changed",
    Cause.ELR_CLEARED: "eligible leader replicas cleared",
    Cause.DIRECTORIES_ASSIGNED: "log directories assigned",
    Cause.PARTITION_REPLACED: "registered again",
    Cause.SNAPSHOT: "known from a snapshot",
    Cause.BETWEEN: "changed between what was known and a snapshot",
    Cause.NOTHING: "nothing changed",
}
_ELECTIONS = {
    Election.UNCLEAN: "unclean election",
    Election.ELIGIBLE_LEADER_REPLICA: "an eligible leader replica leads",
    Election.NO_LEADER: "no leader",
}
_ELECTION_CAUSES = frozenset(
    {Cause.UNCLEAN_ELECTION, Cause.ELR_ELECTION, Cause.LEADER_LOST, Cause.SNAPSHOT, Cause.BETWEEN}
)


def cause_words(change: PartitionChange) -> str:
    """Return why a partition changed, with the broker, and how it came by its leader where that matters."""
    text = word_of(change.cause, change.cause_broker)
    election = None if change.election is None else _ELECTIONS.get(change.election)
    if election is None or change.cause in _ELECTION_CAUSES:
        return text
    return f"{text}: {election}"


def word_of(cause: Cause, broker: int | None = None) -> str:
    if broker is not None and cause in _OF_BROKER:
        return _OF_BROKER[cause].format(broker)
    return _WORDS.get(cause, cause.value.replace("_", " "))
