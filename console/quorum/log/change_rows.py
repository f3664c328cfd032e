"""From a change of the metadata log to what is stored of it: its subject, and what that is afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.quorum.labels import Kind
from jobs.cluster.network_addresses import host_text
from jobs.quorum.history.changes import (
    AclChange,
    Anomaly,
    AnyChange,
    BrokerChange,
    ConfigChange,
    ControllerChange,
    DelegationTokenChange,
    Endpoint,
    FeatureChange,
    PartitionChange,
    ProducerIdsChange,
    QuotaChange,
    ScramChange,
    TopicChange,
)

LONGEST_NAME = 600
# Record types of changes that are known from a snapshot only.
_TYPES = {
    Kind.PARTITION: "PARTITION_RECORD",
    Kind.TOPIC: "TOPIC_RECORD",
    Kind.BROKER: "REGISTER_BROKER_RECORD",
    Kind.CONTROLLER: "REGISTER_CONTROLLER_RECORD",
    Kind.CONFIG: "CONFIG_RECORD",
    Kind.FEATURE: "FEATURE_LEVEL_RECORD",
    Kind.QUOTA: "CLIENT_QUOTA_RECORD",
    Kind.ACL: "ACCESS_CONTROL_ENTRY_RECORD",
    Kind.PRODUCER_IDS: "PRODUCER_IDS_RECORD",
    Kind.SCRAM: "USER_SCRAM_CREDENTIAL_RECORD",
    Kind.DELEGATION_TOKEN: "DELEGATION_TOKEN_RECORD",
    Kind.ANOMALY: "",
}


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """What a change says of its subject; `broker` is the one it is about, or that caused it."""

    key: str
    name: str
    state: Mapping[str, Any]
    topic: str = ""
    topic_id: str = ""
    partition: int | None = None
    broker: int | None = None
    is_removed: bool = False
    election: str = ""
    is_unclean: bool = False
    # Of the subject for ever, unlike the broker that caused one change of a partition.
    subject_broker: int | None = field(default=None)


def row_of(change: AnyChange) -> ChangeRow:
    """Return what is stored of a change."""
    return _TOLD[type(change)](change)


def type_of(change: AnyChange, record_type: str | None) -> str:
    """Return the record's type; of a change from a snapshot, the type of the record that made it."""
    return record_type or _TYPES.get(Kind(change.kind.value), "")


def _partition(change: PartitionChange) -> ChangeRow:
    topic = change.topic or ""
    state: dict[str, Any] = {
        "leader": change.leader,
        "leader_epoch": change.leader_epoch,
        "partition_epoch": change.partition_epoch,
        "isr": list(change.isr),
        "elr": list(change.elr),
        "replicas": list(change.replicas),
    }
    rare = {
        "last_known_elr": list(change.last_known_elr),
        "adding": list(change.adding),
        "removing": list(change.removing),
        "recovery_state": change.recovery_state,
    }
    state |= {name: value for name, value in rare.items() if value}
    return ChangeRow(
        f"{change.topic_id}:{change.partition}",
        f"{topic or change.topic_id}-{change.partition}",
        state,
        topic,
        change.topic_id,
        change.partition,
        change.cause_broker,
        change.is_removed,
        "" if change.election is None else change.election.value,
        change.is_unclean,
    )


def _topic(change: TopicChange) -> ChangeRow:
    state = {"topic_id": change.topic_id}
    if change.previous_topic_id:
        state["previous_topic_id"] = change.previous_topic_id
    return ChangeRow(
        change.topic_id,
        change.topic,
        state,
        change.topic,
        change.topic_id,
        is_removed=change.is_removed,
    )


def _broker(change: BrokerChange) -> ChangeRow:
    state: dict[str, Any] = {
        "is_fenced": change.is_fenced,
        "in_controlled_shutdown": change.in_controlled_shutdown,
        "incarnation_id": change.incarnation_id,
        "broker_epoch": change.broker_epoch,
        "rack": change.rack,
        "endpoints": _endpoints(change.endpoints),
        "log_dirs": list(change.log_dirs),
    }
    if change.cordoned_log_dirs:
        state["cordoned_log_dirs"] = list(change.cordoned_log_dirs)
    number = change.broker_id
    return ChangeRow(
        str(number),
        f"broker {number}",
        state,
        broker=number,
        subject_broker=number,
        is_removed=change.is_removed,
    )


def _controller(change: ControllerChange) -> ChangeRow:
    state = {
        "incarnation_id": change.incarnation_id,
        "endpoints": _endpoints(change.endpoints),
    }
    number = change.controller_id
    return ChangeRow(str(number), f"controller {number}", state, is_removed=change.is_removed)


def _config(change: ConfigChange) -> ChangeRow:
    kind = change.resource_type.lower().replace("_", " ")
    resource = f"{kind} {change.resource_name}".strip()
    is_broker = change.resource_type == "BROKER" and change.resource_name.isdecimal()
    broker = int(change.resource_name) if is_broker else None
    return ChangeRow(
        f"{change.resource_type}:{change.resource_name}:{change.name}",
        f"{resource}: {change.name}",
        {"value": change.value},
        topic=change.resource_name if change.resource_type == "TOPIC" else "",
        broker=broker,
        subject_broker=broker,
        is_removed=change.value is None,
    )


def _feature(change: FeatureChange) -> ChangeRow:
    return ChangeRow(
        change.name, change.name, {"level": change.level}, is_removed=change.level is None
    )


def _quota(change: QuotaChange) -> ChangeRow:
    entity = ", ".join(f"{kind} {name or '(default)'}" for kind, name in change.entity)
    return ChangeRow(
        json.dumps([change.entity, change.key]),
        f"{entity}: {change.key}",
        {"value": change.value},
        is_removed=change.value is None,
    )


def _acl(change: AclChange) -> ChangeRow:
    names = (
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    state = {name: getattr(change, name) for name in names}
    name = f"{change.principal} on {change.resource_name}"
    return ChangeRow(change.acl_id, name, state, is_removed=change.is_removed)


def _producer_ids(change: ProducerIdsChange) -> ChangeRow:
    state = {"broker": change.broker_id, "next_producer_id": change.next_producer_id}
    return ChangeRow("producer ids", "producer ids", state, broker=change.broker_id)


def _scram(change: ScramChange) -> ChangeRow:
    state = {"mechanism": change.mechanism}
    key = f"{change.user}:{change.mechanism}"
    return ChangeRow(key, f"user {change.user}", state, is_removed=change.is_removed)


def _token(change: DelegationTokenChange) -> ChangeRow:
    state = {"owner": change.owner, "expires_at_ms": change.expires_at_ms}
    return ChangeRow(
        change.token_id, f"token {change.token_id}", state, is_removed=change.is_removed
    )


def _anomaly(change: Anomaly) -> ChangeRow:
    state = {"anomaly": change.anomaly.value, "problem": change.problem}
    return ChangeRow(change.anomaly.value, change.anomaly.value.replace("_", " "), state)


def _endpoints(endpoints: tuple[Endpoint, ...]) -> list[str]:
    return [f"{one.name}://{host_text(one.host)}:{one.port}" for one in endpoints]


_TOLD: dict[type[Any], Callable[[Any], ChangeRow]] = {
    PartitionChange: _partition,
    TopicChange: _topic,
    BrokerChange: _broker,
    ControllerChange: _controller,
    ConfigChange: _config,
    FeatureChange: _feature,
    QuotaChange: _quota,
    AclChange: _acl,
    ProducerIdsChange: _producer_ids,
    ScramChange: _scram,
    DelegationTokenChange: _token,
    Anomaly: _anomaly,
}
