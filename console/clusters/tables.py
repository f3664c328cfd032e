"""The tables of the clusters room: which columns, how they sort, what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from console.clusters.counted import COUNTED, COUNTED_FILTER, UNKNOWN, on_step
from console.clusters.models import Group, GroupOffset, Partition, Topic
from console.clusters.queries import freshness_of, status_of
from console.frame.pages.addresses import address_of
from console.frame.pages.freshness import oldest
from console.frame.pages.states import spoken
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from jobs.availability.status.severity import Counted, Severity
from jobs.limits import short
from jobs.numbers import format_count, format_percent, format_span_ms

LAG = (
    "End offset minus committed offset, without transaction markers. The committed offset is read first. "
    "Empty: no committed offset."
)
LAG_TO_HIGH = (
    "As kafka-consumer-groups.sh reports it: with records of open and aborted transactions and transaction "
    "markers."
)
LAG_MS = (
    "Timestamp of the newest record minus that of the first record that the group has not committed. "
    "It does not grow while no record is written."
)
RECORDS = (
    "End offset minus log start offset. Compaction and transaction markers leave gaps: the "
    "number of records may be smaller."
)
NO_NUMBER = (
    "Partitions with unknown lag: assigned without a committed offset (auto.offset.reset applies), or with "
    "an unknown end offset."
)
PROTOCOL = (
    "Protocol type of the members: consumer, share, streams, connect. Empty: no member ever joined."
)
START = (
    "The first offset that the share group may still deliver; later records may be acknowledged."
)
ISR = "In-sync replicas of all replicas."
MIN_ISR = "min.insync.replicas: with fewer in-sync replicas, writes with acks=all are refused."
END = "Last stable offset: the end for consumers with isolation.level=read_committed."
SEVERITY = (
    "offline: no leader. under min ISR: writes with acks=all are refused. at min ISR: a replica is "
    "out of sync, and the next loss refuses writes with acks=all. under-replicated: a replica is out of "
    "sync. unknown: a replica is out of sync or being added by a reassignment; listing reassignments needs "
    "DESCRIBE on the cluster."
)
FREE = "Smallest free share among the volumes of the log directories (Kafka 3.3 or later)."
TIMESTAMP = "The largest timestamp among the records of the partition."

STEPS = [(s.word, spoken(s.word)) for s in sorted(Severity, reverse=True)]
STEPS.append((UNKNOWN, "unknown"))


def _on_step(rows: QuerySet[Any], word: str) -> QuerySet[Any]:
    return rows.filter(on_step(word))


def _topic_on_step(rows: QuerySet[Any], word: str) -> QuerySet[Any]:
    return rows.filter(on_step(word, Q(unsure_count__gt=0)))


def _internal(topics: QuerySet[Topic], word: str) -> QuerySet[Topic]:
    return topics.filter(is_internal=word == "internal")


def _on_broker(partitions: QuerySet[Partition], broker_id: str) -> QuerySet[Partition]:
    """Keep partitions that a broker leads; nonsense leaves the rows as they are."""
    return partitions.filter(leader=int(broker_id)) if broker_id.isdecimal() else partitions


def _seen_at(cluster: Any) -> datetime | None:
    seen = oldest(freshness_of(cluster))
    return seen.succeeded_at if seen else None


def _severity_word(row: Any) -> str:
    return UNKNOWN if row.is_unsure else Severity(row.severity).word


def _joined(field: str) -> Any:
    return lambda row: " ".join(map(str, getattr(row, field)))


def topic_link(topic: Topic) -> str:
    return reverse("clusters:topic", args=[topic.cluster.alias, topic.name])


def _topic_link_of_partition(partition: Partition) -> str:
    return reverse("clusters:topic", args=[partition.cluster.alias, partition.topic.name])


def _topic_link_of_offset(offset: GroupOffset) -> str:
    return reverse("clusters:topic", args=[offset.group.cluster.alias, offset.topic])


def group_link(group: Group) -> str:
    """Return the page of a group."""
    return address_of("clusters:group", group.cluster.alias, group.group_id)


def _count(key: str, label: str, definition: str = "", *, is_hidden: bool = False) -> Column:
    return Column(
        key,
        label,
        key.replace(".", "__"),
        numeric=True,
        definition=definition,
        format=format_count,
        is_hidden=is_hidden,
    )


def _offset(key: str, label: str, definition: str = "", *, is_hidden: bool = False) -> Column:
    return Column(
        key, label, key, numeric=True, definition=definition,
        is_id=key in _IDS, is_hidden=is_hidden,
    )  # fmt: skip


_IDS = {"broker_id", "port", "partition", "leader", "coordinator"}


_STATE = Column(
    "severity",
    "State",
    "severity",
    definition=SEVERITY,
    csv=_severity_word,
    template="clusters/cells/severity.html",
)
_LAGS = (
    _count("lag", "Lag (records)", LAG),
    Column(
        "lag_ms", "Lag (time)", "lag_ms", numeric=True, definition=LAG_MS, format=format_span_ms
    ),
)
_LAG_TO_HIGH = _count("lag_to_high_watermark", "Lag to high watermark", LAG_TO_HIGH, is_hidden=True)
_CHANGED = Column(
    "changed_at", "Changed", "changed_at", template="clusters/cells/ago.html", is_hidden=True
)

CLUSTERS = Table(
    (
        Column(
            "status.state",
            "State",
            template="clusters/cells/status.html",
            csv=lambda cluster: str(status_of(cluster, timezone.now()).state),
        ),
        Column("alias", "Cluster", "alias", template="clusters/cells/alias.html"),
        Column("bootstrap_servers", "Bootstrap servers", is_hidden=True),
        Column("cluster_id", "Cluster ID", "cluster_id", is_hidden=True),
        _count("live_count", "Brokers", "Live brokers."),
        _count("topic_count", "Topics"),
        _count("partition_count", "Partitions"),
        _count("under_replicated_count", "Under-replicated", COUNTED[Counted.UNDER_REPLICATED]),
        _count("offline_count", "Offline", "Partitions without a leader."),
        _count("group_count", "Consumer groups"),
        Column("seen", "Last collected", template="clusters/cells/seen.html", csv=_seen_at),
    ),
    search=("alias", "bootstrap_servers", "cluster_id"),
    default_sort="alias",
)
BROKERS = Table(
    (
        Column("is_live", "State", "is_live", template="clusters/cells/broker.html", csv="is_live"),
        _offset("broker_id", "Broker"),
        Column("host", "Host", "host"),
        _offset("port", "Port"),
        Column("rack", "Rack", "rack"),
        _count("leader_count", "Leaders", "Partitions that this broker leads."),
        _count("replica_count", "Replicas", "Partitions with a replica on this broker."),
        Column("free_share", "Free disk", format=format_percent, numeric=True, definition=FREE),
        Column("seen_at", "Last seen", "seen_at", template="clusters/cells/ago.html"),
    ),
    search=("broker_id", "host", "rack"),
    default_sort="broker_id",
)
TOPICS = Table(
    (
        _STATE,
        Column("name", "Topic", "name", link=topic_link),
        _count("partition_count", "Partitions"),
        _count("replication_factor", "Replicas", "Replication factor."),
        _count("min_insync_replicas", "Min ISR", MIN_ISR),
        _count("under_replicated_count", "Under-replicated", COUNTED[Counted.UNDER_REPLICATED]),
        _count("offline_count", "Offline", "Partitions without a leader."),
        _count("record_count", "Records (estimate)", RECORDS),
        Column("topic_id", "Topic ID", "topic_id", is_hidden=True),
        Column("error", "Error", "error", is_hidden=True),
        _CHANGED,
    ),
    search=("name",),
    filters={
        "state": Choice("State", STEPS, _topic_on_step),
        "kind": Choice("Kind", [("own", "not internal"), ("internal", "internal")], _internal),
    },
    default_sort="name",
)
_PARTITION_COLUMNS = (
    _STATE,
    Column("topic.name", "Topic", "topic__name", link=_topic_link_of_partition),
    _offset("partition", "Partition"),
    _offset("leader", "Leader", "Broker that serves reads and writes. Empty: offline."),
    Column("replicas", "Replicas", csv=_joined("replicas"), template="clusters/cells/ids.html"),
    Column(
        "isr",
        "ISR",
        "isr_count",
        definition=ISR,
        csv=_joined("isr"),
        template="clusters/cells/isr.html",
    ),
    _count("topic.min_insync_replicas", "Min ISR", MIN_ISR),
    _offset("log_start_offset", "Log start offset"),
    _offset("end_offset", "Log end offset", END),
    _offset(
        "high_watermark", "High watermark", "Replicated to all in-sync replicas.", is_hidden=True
    ),
    Column(
        "max_timestamp_ms",
        "Newest record",
        "max_timestamp_ms",
        definition=TIMESTAMP,
        template="clusters/cells/timestamp.html",
    ),
    Column("error", "Error", "error", is_hidden=True),
    _CHANGED,
)
_PARTITION_FILTERS: dict[str, Callable[[QuerySet[Any], str], QuerySet[Any]]] = {
    "state": Choice("State", STEPS, _on_step),
    "counted_as": COUNTED_FILTER,
    "leader": _on_broker,
}
PARTITIONS = Table(
    _PARTITION_COLUMNS,
    search=("topic__name",),
    filters=_PARTITION_FILTERS,
    default_sort="topic.name",
)
PARTITIONS_OF_TOPIC = Table(
    tuple(c for c in _PARTITION_COLUMNS if not c.key.startswith("topic.")),
    filters=_PARTITION_FILTERS,
    default_sort="partition",
    name="partitions",
)
GROUP_STATES = (
    "Stable",
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
    "Dead",
    "Unknown",
)
GROUP_TYPES = ("classic", "consumer", "share", "streams")
GROUPS = Table(
    (
        Column("state", "State", "state", template="clusters/cells/group_state.html"),
        Column(
            "group_id",
            "Group",
            "group_id",
            link=group_link,
            format=lambda name: short(name) or "(no id)",
        ),
        Column("type", "Type", "type"),
        Column("protocol", "Protocol", "protocol", definition=PROTOCOL, is_hidden=True),
        _count("member_count", "Members"),
        *(
            replace(one, unknown=name)
            for one, name in zip(_LAGS, ("unknown_count", "unknown_ms_count"), strict=True)
        ),
        replace(_LAG_TO_HIGH, unknown="unknown_count"),
        _count("topic_count", "Topics"),
        _count("partition_count", "Partitions", "With a committed offset or an assigned member."),
        _count("unknown_count", "Lag unknown", NO_NUMBER),
        _offset("coordinator", "Coordinator", is_hidden=True),
        Column("assignor", "Assignor", "assignor", is_hidden=True),
        Column("error", "Error", "error", is_hidden=True),
        _CHANGED,
    ),
    search=("group_id",),
    filters={
        "state": Choice("State", [(s, s) for s in GROUP_STATES], equals("state")),
        "type": Choice("Type", [(t, t) for t in GROUP_TYPES], equals("type")),
    },
    default_sort="-lag",
)
# The second table of a topic's page: its parameters begin with its name.
GROUPS_OF_TOPIC = replace(GROUPS, name="groups")
LAG_STATUSES = [(value, spoken(label)) for value, label in GroupOffset.LAG_STATUSES]
OFFSETS = Table(
    (
        Column("lag_status", "State", "lag_status", template="clusters/cells/lag_status.html"),
        Column("topic", "Topic", "topic", link=_topic_link_of_offset),
        _offset("partition", "Partition"),
        _offset("committed_offset", "Committed offset", "The next offset that the group reads."),
        _offset("end_offset", "Log end offset", END),
        *_LAGS,
        _LAG_TO_HIGH,
        Column("is_assigned", "Assigned", "is_assigned", template="clusters/cells/assigned.html"),
        _offset("log_start_offset", "Log start offset", is_hidden=True),
        Column("error", "Error", "error", is_hidden=True),
        _CHANGED,
    ),
    search=("topic",),
    filters={"state": Choice("State", LAG_STATUSES, equals("lag_status"))},
    default_sort="-lag",
    name="offsets",
)
OFFSETS_OF_SHARES = replace(
    OFFSETS,
    columns=tuple(
        _offset("start_offset", "Start offset", START) if one.key == "committed_offset" else one
        for one in OFFSETS.columns
    ),
)
