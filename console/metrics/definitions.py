"""Every metric: name, labels, meaning. The collector, the documents and the dashboard all read this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A gauge; its name ends with its unit where it has one. An unknown value is an absent sample."""

    name: str
    labels: tuple[str, ...]
    help: str


_FLOW = ("flow", "source", "target")
_TOPIC = (*_FLOW, "topic")
_PARTITION = (*_TOPIC, "partition")
_NOUN = ("cluster", "noun")
_GROUP = ("cluster", "group")

_IN_TIME = (
    "Timestamp of the newest source record minus timestamp of the last copied record, in seconds"
)

FLOW_WANTED = Definition("crosslog_flow_wanted", _FLOW, "1 when a person wants the flow to run.")
FLOW_UP = Definition(
    "crosslog_flow_up", _FLOW, "1 when the flow's run is alive, reports and copies something."
)
FLOW_LAG = Definition(
    "crosslog_flow_lag_records",
    _FLOW,
    "Records of the source that the target does not have yet, over all partitions of the flow.",
)
FLOW_LAG_TIME = Definition(
    "crosslog_flow_lag_seconds", _FLOW, f"{_IN_TIME}: the partition that is furthest behind."
)
FLOW_RATE = Definition(
    "crosslog_flow_records_per_second", _FLOW, "Records copied per second over the last 10 s."
)
FLOW_ETA = Definition(
    "crosslog_flow_eta_seconds",
    _FLOW,
    "How long copying goes on at the present rates of copying and of the source's growth, without what "
    "is paused; absent when nobody can tell.",
)
FLOW_PAUSED = Definition(
    "crosslog_flow_paused_partitions",
    _FLOW,
    "Partitions that wait because a person paused them or because bulk copying has its windows.",
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
FLOW_FAILURES = Definition(
    "crosslog_flow_failed_runs", _FLOW, "Runs of the flow that ended badly in a row; 0 when well."
)
FLOW_AGE = Definition(
    "crosslog_flow_measurement_age_seconds",
    (*_FLOW, "noun"),
    "Age of the flow's numbers: its positions, and the offsets of its source.",
)
FLOW_SUCCESS = Definition(
    "crosslog_flow_measurement_last_success_timestamp_seconds",
    (*_FLOW, "noun"),
    "Unix time at which they were last measured.",
)
TOPIC_LAG = Definition(
    "crosslog_flow_topic_lag_records",
    _TOPIC,
    "Records of a source topic that the target does not have yet. The METRICS_TOPICS topics of "
    "each flow that are furthest behind.",
)
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
    "The same per partition, for the METRICS_PARTITIONS partitions of each flow that are furthest "
    "behind; by default none.",
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
    "offline; each partition counts once, on its worst step.",
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
    "METRICS_GROUPS groups of each cluster that are furthest behind.",
)
GROUP_LAG_TIME = Definition(
    "crosslog_group_lag_seconds",
    _GROUP,
    "Time between the first record that is not committed and the newest one, in seconds: the "
    "partition that is furthest behind. The same groups.",
)
RUNS = Definition(
    "crosslog_runs", ("kind", "state"), "Runs by state; ended ones are kept for 14 days."
)
LEFT_OUT = Definition(
    "crosslog_metrics_left_out",
    ("of",),
    "Topics and groups that have no series here because of METRICS_TOPICS and METRICS_GROUPS.",
)
BUILD = Definition("crosslog_build_info", ("version",), "Always 1; the label says which version.")

DEFINITIONS = (
    FLOW_WANTED, FLOW_UP, FLOW_LAG, FLOW_LAG_TIME, FLOW_RATE, FLOW_ETA, FLOW_PAUSED,
    FLOW_PARTITIONS, FLOW_PATHS, FLOW_BYTES, FLOW_COMMIT, FLOW_THROTTLED, FLOW_QUOTAS, FLOW_RETRIES,
    FLOW_FAILURES, FLOW_AGE, FLOW_SUCCESS, TOPIC_LAG, TOPIC_LAG_TIME, TOPIC_RATE, PARTITION_LAG,
    PARTITION_LAG_TIME, BROKERS, TOPICS, GROUPS, PARTITIONS, UNDER_REPLICATED, OFFLINE,
    COLLECTION_UP, COLLECTION_AGE, COLLECTION_SUCCESS, COLLECTION_TIME, GROUP_LAG, GROUP_LAG_TIME,
    RUNS, LEFT_OUT, BUILD,
)  # fmt: skip


def table_of_definitions() -> str:
    """Return the table of all metrics as it stands in the documents."""
    rows = [
        f"| `{known.name}` | {', '.join(known.labels)} | {known.help} |" for known in DEFINITIONS
    ]
    return "\n".join(["| metric | labels | meaning |", "|---|---|---|", *rows])
