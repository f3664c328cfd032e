"""Every metric: name, labels, meaning. The collector, the documents and the dashboard all read this."""

from __future__ import annotations

from console.metrics.definition import COUNTERS, OF_ALERTS, OF_ENGINES, Definition

_FLOW = ("flow", "source", "target")
_TOPIC = (*_FLOW, "topic")
_PARTITION = (*_TOPIC, "partition")
_NOUN = ("cluster", "noun")
_GROUP = ("cluster", "group")
_FLOW_GROUP = (*_FLOW, "group")

_IN_TIME = (
    "Timestamp of the newest source record minus timestamp of the last copied record, in seconds"
)
_UNKNOWN = "Partitions without a lag: with some, the lag is at least what is shown."
FLOW_WANTED = Definition("crosslog_flow_wanted", _FLOW, "1 when a person wants the flow to run.")
FLOW_UP = Definition(
    "crosslog_flow_up", _FLOW, "1 when the flow's run is alive, reports and copies something."
)
FLOW_LAG = Definition(
    "crosslog_flow_lag_records",
    _FLOW,
    "Records of the source that the target does not have yet, over all partitions of the flow.",
)
FLOW_LAG_UNKNOWN = Definition("crosslog_flow_lag_unknown_partitions", _FLOW, _UNKNOWN)
FLOW_LAG_TIME = Definition(
    "crosslog_flow_lag_seconds", _FLOW, f"{_IN_TIME}: the partition with the largest lag."
)
FLOW_RATE = Definition(
    "crosslog_flow_records_per_second", _FLOW, "Records copied per second over the last 10 s."
)
FLOW_ETA = Definition(
    "crosslog_flow_eta_seconds",
    _FLOW,
    "Time until the flow has caught up at the current rates of replication and of writes to the source, "
    "without paused partitions; absent when unknown.",
)
FLOW_PAUSED = Definition(
    "crosslog_flow_paused_partitions",
    _FLOW,
    "Partitions that are paused by a user, or that wait for a catch-up window.",
)
FLOW_PARTITIONS = Definition(
    "crosslog_flow_partitions", (*_FLOW, "state"), "Partitions of the flow in each state."
)
FLOW_PATHS = Definition(
    "crosslog_flow_partitions_by_path",
    (*_FLOW, "path"),
    "Partitions that travel as whole batches, and those that take the slower record path.",
)
FLOW_BYTES = Definition(
    "crosslog_flow_bytes_per_second",
    _FLOW,
    "Bytes of batches copied per second over the last 10 s, compressed as they are.",
)
FLOW_COMMIT = Definition(
    "crosslog_flow_commit_seconds", _FLOW, "How long the slowest task's last commit took."
)
FLOW_THROTTLED = Definition(
    "crosslog_flow_throttled_seconds",
    _FLOW,
    "How long the flow's limit held its slowest task up since the run began.",
)
FLOW_QUOTAS = Definition(
    "crosslog_flow_quota_throttled_seconds",
    _FLOW,
    "How long quotas of brokers held its slowest task up since the run began.",
)
FLOW_RETRIES = Definition(
    "crosslog_flow_retries", _FLOW, "What was tried again since the run began, over all partitions."
)
FLOW_CHECKPOINTS = Definition(
    "crosslog_flow_checkpoints",
    (*_FLOW, "kind"),
    "Partitions of groups whose place on the target the flow tells: all of them, those that are exact, and "
    "those that are not known.",
)
FLOW_CHECKPOINTS_AT = Definition(
    "crosslog_flow_checkpoints_last_success_timestamp_seconds",
    _FLOW,
    "Unix time at which the flow last asked where groups are, and wrote their checkpoints.",
)
FLOW_FAILURES = Definition(
    "crosslog_flow_failed_runs", _FLOW, "Runs of the flow that ended badly in a row; 0 when well."
)
FLOW_AGE = Definition(
    "crosslog_flow_measurement_age_seconds",
    (*_FLOW, "noun"),
    "Age of the flow's numbers: its positions, and the offsets of its source.",
)
FLOW_STALE = Definition(
    "crosslog_flow_measurement_stale",
    (*_FLOW, "noun"),
    "1 when the flow's numbers are too old to act on: measurements fail, or come later than they should.",
)
FLOW_SUCCESS = Definition(
    "crosslog_flow_measurement_last_success_timestamp_seconds",
    (*_FLOW, "noun"),
    "Unix time at which they were last measured.",
)
FLOW_LOOKED = Definition(
    "crosslog_flow_findings_age_seconds",
    _FLOW,
    "How long ago the flow was last looked at for findings; absent before the first look.",
)
FAILOVER_READY = Definition(
    "crosslog_flow_failover_readiness",
    (*_FLOW, "readiness"),
    "The answer to 'can I fail over now?': 1 for the one of ready, warning, unknown and blocked that holds.",
)
FAILOVER_GROUPS = Definition(
    "crosslog_flow_failover_groups", (*_FLOW, "readiness"), "Groups of the flow with each answer."
)
CHECKPOINT_AGE = Definition(
    "crosslog_flow_checkpoint_age_seconds",
    _FLOW,
    "Age of the oldest checkpoint that its group has left behind; absent when none is.",
)
CHECKPOINT_LAG = Definition(
    "crosslog_flow_checkpoint_lag_records",
    _FLOW,
    "Records between the offsets of groups and their checkpoints, over all groups.",
)
CHECKPOINT_LAG_UNKNOWN = Definition(
    "crosslog_flow_checkpoint_lag_unknown_partitions",
    _FLOW,
    f"{_UNKNOWN} Without a checkpoint, too.",
)
REREAD = Definition(
    "crosslog_flow_failover_reread_records",
    _FLOW,
    "Upper bound of records that groups reprocess if they resume without a failover plan; absent when "
    "unbounded.",
)
AT_RISK = Definition(
    "crosslog_flow_failover_lost_records",
    _FLOW,
    "Records that are lost if the source fails now; absent when a partition is unknown.",
)
AT_RISK_TIME = Definition(
    "crosslog_flow_failover_lost_seconds", _FLOW, "The same in record timestamps: the RPO."
)
CHECKPOINTS_AGE = Definition(
    "crosslog_flow_failover_age_seconds", _FLOW, "Age of the failover readiness."
)
GROUP_READY = Definition(
    "crosslog_flow_group_failover_rank",
    _FLOW_GROUP,
    "1 ready, 2 warning, 3 unknown, 4 blocked. The METRICS_GROUPS groups of each flow that are worst.",
)
GROUP_CHECKPOINT_AGE = Definition(
    "crosslog_flow_group_checkpoint_age_seconds",
    _FLOW_GROUP,
    "Age of the oldest checkpoint that the group has passed, else of its oldest; the same groups.",
)
GROUP_CHECKPOINT_LAG = Definition(
    "crosslog_flow_group_checkpoint_lag_records",
    _FLOW_GROUP,
    "Records between the group's offsets and its checkpoints; the same groups.",
)
GROUP_CHECKPOINT_LAG_UNKNOWN = Definition(
    "crosslog_flow_group_checkpoint_lag_unknown_partitions",
    _FLOW_GROUP,
    f"{_UNKNOWN} Without a checkpoint, too; the same groups.",
)
GROUP_REREAD = Definition(
    "crosslog_flow_group_failover_reread_records",
    _FLOW_GROUP,
    "Upper bound of records that the group reprocesses if it resumes without a failover plan; the same "
    "groups.",
)
TOPIC_LAG = Definition(
    "crosslog_flow_topic_lag_records",
    _TOPIC,
    "Records of a source topic that the target does not have yet. The METRICS_TOPICS topics of "
    "each flow with the largest lag.",
)
TOPIC_LAG_UNKNOWN = Definition("crosslog_flow_topic_lag_unknown_partitions", _TOPIC, _UNKNOWN)
TOPIC_LAG_TIME = Definition(
    "crosslog_flow_topic_lag_seconds", _TOPIC, f"{_IN_TIME}, of the same topics."
)
TOPIC_RATE = Definition(
    "crosslog_flow_topic_records_per_second",
    _TOPIC,
    "Records of the topic copied per second over the last 10 s.",
)
PARTITION_LAG = Definition(
    "crosslog_flow_partition_lag_records",
    _PARTITION,
    "The same per partition, for the METRICS_PARTITIONS partitions of each flow with the largest "
    "lag; by default none.",
)
PARTITION_LAG_TIME = Definition(
    "crosslog_flow_partition_lag_seconds", _PARTITION, f"{_IN_TIME}, of the same partitions."
)
BROKERS = Definition(
    "crosslog_cluster_brokers",
    ("cluster", "state"),
    "Brokers that are live, and brokers that are missing but still have replicas.",
)
TOPICS = Definition("crosslog_cluster_topics", ("cluster",), "Topics.")
GROUPS = Definition("crosslog_cluster_groups", ("cluster",), "Groups.")
PARTITIONS = Definition(
    "crosslog_cluster_partitions",
    ("cluster", "severity"),
    "Partitions on each step of the ladder ok, under_replicated, at_min_isr, under_min_isr, "
    "offline; each partition counts once, on its worst step. unknown: under-replicated, or being reassigned.",
)
UNDER_REPLICATED = Definition(
    "crosslog_cluster_under_replicated_partitions",
    ("cluster",),
    "Partitions with fewer in-sync replicas than replicas, whatever else is wrong with them.",
)
OFFLINE = Definition(
    "crosslog_cluster_offline_partitions", ("cluster",), "Partitions without a leader."
)
COLLECTION_UP = Definition(
    "crosslog_collection_up", _NOUN, "1 when the last round for this noun succeeded."
)
COLLECTION_AGE = Definition(
    "crosslog_collection_age_seconds", _NOUN, "Age of what is known of this noun."
)
COLLECTION_STALE = Definition(
    "crosslog_collection_stale",
    _NOUN,
    "1 when what is known of this noun is too old to act on: rounds fail, or come later than they should.",
)
COLLECTION_SUCCESS = Definition(
    "crosslog_collection_last_success_timestamp_seconds",
    _NOUN,
    "Unix time at which a round for this noun last succeeded.",
)
COLLECTION_TIME = Definition(
    "crosslog_collection_duration_seconds", _NOUN, "How long the last round took."
)
GROUP_LAG = Definition(
    "crosslog_group_lag_records",
    _GROUP,
    "Records between a group's commits and the ends of its partitions, where both are known. The "
    "METRICS_GROUPS groups of each cluster with the largest lag.",
)
GROUP_LAG_UNKNOWN = Definition(
    "crosslog_group_lag_unknown_partitions",
    _GROUP,
    f"{_UNKNOWN} Also without a commit where a member reads.",
)
GROUP_LAG_TIME = Definition(
    "crosslog_group_lag_seconds",
    _GROUP,
    "Time between the first record that is not committed and the newest one, in seconds: the "
    "partition with the largest lag. The same groups.",
)
QUORUM_LEADER = Definition(
    "crosslog_quorum_leader_id", ("cluster",), "The node that leads the KRaft quorum."
)
QUORUM_EPOCH = Definition(
    "crosslog_quorum_leader_epoch",
    ("cluster",),
    "The epoch of the quorum; it grows with elections.",
)
QUORUM_VOTERS = Definition(
    "crosslog_quorum_replicas", ("cluster", "role"), "Voters and observers of the quorum."
)
QUORUM_MARK = Definition(
    "crosslog_quorum_high_watermark", ("cluster",), "The high watermark of the metadata log."
)
QUORUM_LAG = Definition(
    "crosslog_quorum_voter_lag_records",
    ("cluster",),
    "Lag of the voter with the largest lag.",
)
QUORUM_LAG_TIME = Definition(
    "crosslog_quorum_voter_lag_seconds", ("cluster",), "Likewise, in time by the leader's clock."
)
QUORUM_JUDGED = Definition(
    "crosslog_quorum_judged",
    ("cluster",),
    "1 where the quorum was judged with the last description, 0 where its verdict is Unknown: the leader was "
    "just elected, the quorum cannot be described, or the description is old.",
)
QUORUM_AGE = Definition(
    "crosslog_quorum_age_seconds", ("cluster",), "Age of the last description of the quorum."
)
QUORUM_ELECTIONS = Definition(
    "crosslog_quorum_elections",
    ("cluster",),
    "Elections that the followed metadata log tells, since it is known.",
)
AVAILABILITY = Definition(
    "crosslog_availability_partitions",
    ("cluster", "severity"),
    "Partitions in each state: ok, under_replicated, at_min_isr, under_min_isr, offline (no leader); "
    "each counts once, unlike in Kafka's counts, which overlap. unknown: under-replicated, or being "
    "reassigned.",
)
AVAILABILITY_COUNTS = Definition(
    "crosslog_availability_counted_partitions",
    ("cluster", "count"),
    "Kafka's counts, which overlap: under_replicated, at_min_isr, under_min_isr and offline as "
    "kafka-topics.sh counts, by min.insync.replicas as it is set; broker_at_min_isr and "
    "broker_under_min_isr as the brokers' metrics do, by the smaller one of it and the number of replicas.",
)
RF_BELOW_MIN = Definition(
    "crosslog_availability_rf_below_min_isr",
    ("cluster",),
    "Partitions with fewer replicas than min.insync.replicas asks for; beside the steps.",
)
OUT_OF_SYNC = Definition(
    "crosslog_availability_replicas_out_of_sync",
    ("cluster", "broker"),
    "Replicas of the broker that are missing in the ISR of their partition; observers are not.",
)
OUT_OF_SYNC_AGE = Definition(
    "crosslog_availability_out_of_sync_seconds",
    ("cluster",),
    "For how long the replica is missing that has been missing for longest; 0: none is.",
)
UNCLEAN = Definition(
    "crosslog_availability_unclean_elections",
    ("cluster",),
    "Unclean elections that the metadata log told and that are still kept.",
)
AVAILABILITY_AGE = Definition(
    "crosslog_availability_age_seconds",
    ("cluster", "source"),
    "Age of what is known of partitions; `source` says who tells it: log or poll.",
)
METADATA_BEHIND = Definition(
    "crosslog_metadata_log_behind_seconds",
    ("cluster",),
    "How far the follower of the metadata log is behind: the age of the last record when it was read.",
)
METADATA_OFFSET = Definition(
    "crosslog_metadata_log_next_offset", ("cluster",), "The next offset of the log to be read."
)
PROMOTIONS = Definition(
    "crosslog_promotions",
    ("cluster", "state"),
    "Promotions of observers by state: advised and planned wait for somebody, verified ones stand.",
)
PROMOTIONS_HELD = Definition(
    "crosslog_promotions_held",
    ("cluster",),
    "Standby brokers that crosslog keeps in the ISR by heartbeats, or is letting go of.",
)
OBSERVERS_IN_ISR = Definition(
    "crosslog_observers_in_isr",
    ("cluster",),
    "Observers in the ISR of a partition, whatever promoted them; one for each partition.",
)
PROMOTION_STOPPED = Definition(
    "crosslog_promotion_stopped",
    ("cluster",),
    "1 while the stop switch is on for a cluster, by its own or by that of all: nothing is begun.",
)
PROMOTION_PROMOTERS = Definition(
    "crosslog_promotion_loops",
    ("cluster",),
    "Running standby loops: two of them keep a promotion when one dies.",
)
RUNS = Definition(
    "crosslog_runs",
    ("kind", "state"),
    "Runs by state; ended ones are kept for 14 days, analyses longer.",
)
LEFT_OUT = Definition(
    "crosslog_metrics_left_out",
    ("of",),
    "Topics and groups that have no series here because of METRICS_TOPICS and METRICS_GROUPS.",
)
BUILD = Definition("crosslog_build_info", ("version",), "Always 1; the label says which version.")

# All of the above, in their order.
DEFINITIONS = (
    *(one for one in tuple(globals().values()) if isinstance(one, Definition)),
    *OF_ALERTS,
    *OF_ENGINES,
    *COUNTERS,
)


def table_of_definitions() -> str:
    """Return the table of all metrics for the documents."""
    rows = [
        f"| `{known.name}` | {', '.join(known.labels)} | {known.help} |" for known in DEFINITIONS
    ]
    return "\n".join(["| metric | labels | meaning |", "|---|---|---|", *rows])
