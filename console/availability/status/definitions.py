"""Help texts of availability columns and tiles, and the text of each cause."""

from __future__ import annotations

from jobs.availability.status.partition_seen import MIN_ISR_CHANGED, OBSERVERS_CHANGED, POLLED

SEVERITY = (
    "Offline: no leader. Under min ISR: writes with acks=all are refused. At min ISR: a replica is out of "
    "sync and the next replica failure stops writes. Under-replicated: a replica is out of sync, another "
    "failure is tolerated. Unknown: a replica is out of sync or being added by a reassignment; listing "
    "reassignments needs DESCRIBE on the cluster."
)
RF_BELOW_MIN = (
    "Replication factor less than min.insync.replicas. From Kafka 3.7 on, writes with acks=all need all "
    "replicas in sync; earlier brokers refuse them. Reported in addition to the state."
)
OUT_OF_SYNC = (
    "Replicas outside the ISR of their partition. Observers and replicas that a reassignment is adding are "
    "not counted."
)
BROKERS_COUNT = (
    "The brokers' metrics compare the ISR with the smaller of min.insync.replicas and the RF; "
    "kafka-topics.sh compares it with min.insync.replicas as configured."
)
UNCLEAN = (
    "Elections of a leader outside the ISR: acknowledged records may be lost. Only the metadata log "
    "records them."
)
MIN_ISR = "min.insync.replicas and its source: topic, cluster default, server.properties, or Kafka's default."
SPARE = "In-sync replicas that may fail before writes with acks=all stop."
ELR = (
    "Eligible leader replicas (KIP-966): outside the ISR, and safe to elect. From the metadata log."
)
SINCE = (
    "Start time by the clock of the controller. For polled partitions: the time of the poll that saw it; "
    "it started after the poll before."
)
BEHIND = (
    "Log end offset of the leader minus that of the replica, queried from both brokers. With a ~ the broker "
    "did not answer: records appended since the replica left the ISR."
)
CHURN = "ISR and leader changes in the time range, counted per broker and hour."
FENCED = "A fenced broker is registered but leads no partition: the controller receives no heartbeat from it."

_CAUSES = {
    POLLED: "Observed by polling",
    MIN_ISR_CHANGED: "min.insync.replicas changed",
    OBSERVERS_CHANGED: "Observers changed",
    "": "Unknown",
}
_OF_BROKER = {
    "isr_shrink": "Broker {} fell behind",
    "isr_expand": "Broker {} caught up",
    "broker_fenced": "Broker {} was fenced",
    "broker_unfenced": "Broker {} was unfenced",
    "controlled_shutdown": "Controlled shutdown of broker {}",
    "broker_unregistered": "Broker {} was unregistered",
    "broker_restarted": "Broker {} was restarted",
    "log_dir_failed": "Log directory of broker {} failed",
    "leader_recovered": "Leader {} recovered",
}


def cause_words(cause: str, broker: int | None = None) -> str:
    """Return a cause as text."""
    if broker is not None and cause in _OF_BROKER:
        return _OF_BROKER[cause].format(broker)
    return _CAUSES.get(cause) or cause.replace("_", " ").capitalize().replace(" isr", " ISR")
