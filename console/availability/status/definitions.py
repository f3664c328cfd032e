"""Definitions of the numbers of this room, and causes in words."""

from __future__ import annotations

from jobs.availability.status.partition_seen import MIN_ISR_CHANGED, OBSERVERS_CHANGED, POLLED

SEVERITY = (
    "Offline: no leader. Under min ISR: writes with acks=all are refused. At min ISR: a replica is missing "
    "and the next loss stops writes. Under-replicated: a replica is missing, and more may be lost. Not "
    "known: a replica is missing, or a reassignment adds it; to list these needs DESCRIBE on the cluster."
)
RF_BELOW_MIN = (
    "Fewer replicas than min.insync.replicas asks for. Brokers from Kafka 3.7 on ask for all replicas "
    "instead; older ones refuse every write with acks=all. Apart of the ladder."
)
OUT_OF_SYNC = (
    "Replicas that are missing in the ISR of their partition. Observers, which stay outside by design, and "
    "replicas that a reassignment is still adding are not counted."
)
BROKERS_COUNT = (
    "What the metrics of the brokers count: they compare with the smaller one of min.insync.replicas and the "
    "number of replicas, kafka-topics.sh with min.insync.replicas as it is set."
)
UNCLEAN = (
    "Elections of a leader that was not in sync: acknowledged records may be lost. Only the metadata log "
    "tells them."
)
MIN_ISR = (
    "min.insync.replicas and who sets it: the topic, the cluster's default, server.properties (static), or "
    "Kafka's own default."
)
SPARE = "So many in-sync replicas may still be lost before writes with acks=all stop."
ELR = "Eligible leader replicas (KIP-966): out of sync, and still safe to elect. Told by the metadata log."
SINCE = (
    "When it began, by the clock of the controller. Where partitions are polled it happened between two "
    "polls: at most so long before."
)
BEHIND = (
    "Records that the replica lacks: the leader's end offset minus the replica's own, asked of both "
    "brokers. With a ~ the broker could not be asked: records that came in since it was last in sync."
)
CHURN = "Changes of the ISR and of leaders in the time range, counted per broker and hour."
FENCED = "Fenced brokers are registered and not used: the controller no longer hears of them."

_CAUSES = {
    POLLED: "Seen by a poll",
    MIN_ISR_CHANGED: "min.insync.replicas changed",
    OBSERVERS_CHANGED: "Observers changed",
    "": "Not known",
}
_OF_BROKER = {
    "isr_shrink": "Broker {} fell behind",
    "isr_expand": "Broker {} caught up",
    "broker_fenced": "Broker {} was fenced",
    "broker_unfenced": "Broker {} came back",
    "controlled_shutdown": "Broker {} was shut down",
    "broker_unregistered": "Broker {} was unregistered",
    "broker_restarted": "Broker {} was restarted",
    "log_dir_failed": "Broker {} lost a log directory",
    "leader_recovered": "Leader {} recovered",
}


def cause_words(cause: str, broker: int | None = None) -> str:
    """Return a cause as a sentence of a few words."""
    if broker is not None and cause in _OF_BROKER:
        return _OF_BROKER[cause].format(broker)
    return _CAUSES.get(cause) or cause.replace("_", " ").capitalize().replace(" isr", " ISR")
