"""Changes as rows of the index, and back: partitions in columns, everything else as records."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.quorum.changes import (
    AclChange,
    AnyChange,
    BrokerChange,
    Cause,
    ConfigChange,
    ControllerChange,
    DelegationTokenChange,
    Election,
    FeatureChange,
    PartitionChange,
    ProducerIdsChange,
    QuotaChange,
    ScramChange,
    TopicChange,
)
from jobs.quorum.image_records import ImageRecord, endpoint_fields, feature_fields
from jobs.quorum.keyed_rows import Row, schema_of
from jobs.quorum.partition_state import PartitionState
from jobs.quorum.registrations import RESOURCE_TYPES

_IDS = pa.list_(pa.int32())
_NAME = pa.dictionary(pa.int32(), pa.string())

# What a row of a partition holds besides the columns of every keyed row; `offset` is the effective one.
_NUMBERS = {
    "partition": pa.int32(),
    "record_offset": pa.int64(),
    "epoch": pa.int32(),
    "leader": pa.int32(),
    "leader_epoch": pa.int32(),
    "partition_epoch": pa.int32(),
    "recovery_state": pa.int8(),
}
_OPTIONAL = {
    "timestamp_ms": pa.int64(),
    "batch_offset": pa.int64(),
    "applied_offset": pa.int64(),
    "since_offset": pa.int64(),
    "not_after_ms": pa.int64(),
    "previous_leader": pa.int32(),
    "cause_broker": pa.int32(),
}
_LISTS = ("isr", "elr", "last_known_elr", "replicas", "adding", "removing")
_MAYBE_LISTS = ("previous_isr", "previous_elr")
_FLAGS = ("leader_was_outside", "began_recovering")
_SAME = (*_OPTIONAL, *_FLAGS, *(name for name in _NUMBERS if name != "record_offset"), "topic_id")

PARTITIONS = schema_of(
    pa.field("topic_id", _NAME, nullable=False),
    pa.field("topic", _NAME),
    *(pa.field(name, kind, nullable=False) for name, kind in _NUMBERS.items()),
    *(pa.field(name, kind) for name, kind in _OPTIONAL.items()),
    *(pa.field(name, _IDS, nullable=False) for name in _LISTS),
    *(pa.field(name, _IDS) for name in _MAYBE_LISTS),
    *(pa.field(name, pa.bool_(), nullable=False) for name in _FLAGS),
    pa.field("directories", pa.list_(_NAME), nullable=False),
    pa.field("cause", _NAME, nullable=False),
    pa.field("election", _NAME),
)
DOCUMENTS = schema_of(
    pa.field("type", _NAME, nullable=False),
    pa.field("name", pa.string(), nullable=False),
    pa.field("data", pa.string(), nullable=False),
)


def partition_key(row: Row) -> Hashable:
    """Return what a partition's row is about."""
    return row["topic_id"], row["partition"]


def document_key(row: Row) -> Hashable:
    """Return what another row is about."""
    return row["type"], row["name"]


def partition_row(change: PartitionChange) -> dict[str, Any]:
    """Return a partition's change as a row."""
    told: dict[str, Any] = {name: getattr(change, name) for name in _SAME}
    told |= {name: list(getattr(change, name)) for name in (*_LISTS, "directories")}
    for name in _MAYBE_LISTS:
        found = getattr(change, name)
        told[name] = None if found is None else list(found)
    return told | {
        "offset": change.effective_offset,
        "record_offset": change.offset,
        "removed": change.is_removed,
        "topic": change.topic,
        "cause": change.cause.value,
        "election": None if change.election is None else change.election.value,
    }


def partition_change_of(row: Row) -> PartitionChange:
    """Return a row as the change that it was."""
    told: dict[str, Any] = {name: row[name] for name in _SAME}
    told |= {name: tuple(row[name]) for name in (*_LISTS, "directories")}
    for name in _MAYBE_LISTS:
        told[name] = None if row[name] is None else tuple(row[name])
    election = row["election"]
    return PartitionChange(
        **told,
        offset=row["record_offset"],
        topic=row["topic"],
        is_removed=row["removed"],
        cause=Cause(row["cause"]),
        election=None if election is None else Election(election),
    )


def partition_state_of(row: Row) -> PartitionState:
    """Return the state that a row holds."""
    return PartitionState(
        replicas=tuple(row["replicas"]),
        isr=tuple(row["isr"]),
        leader=row["leader"],
        leader_epoch=row["leader_epoch"],
        partition_epoch=row["partition_epoch"],
        adding=tuple(row["adding"]),
        removing=tuple(row["removing"]),
        elr=tuple(row["elr"]),
        last_known_elr=tuple(row["last_known_elr"]),
        recovery_state=row["recovery_state"],
        directories=tuple(row["directories"]),
    )


def document_row(change: AnyChange) -> dict[str, Any] | None:
    """Return any other change as a row: the record that makes it so; None for what is no state."""
    found = _record_of(change)
    if found is None:
        return None
    name, record, is_removed = found
    return {
        "offset": change.effective_offset,
        "removed": is_removed,
        "type": record.type,
        "name": name,
        "data": json.dumps(record.data),
    }


def record_of_row(row: Row) -> ImageRecord:
    """Return the record of a snapshot that a row stands for."""
    return ImageRecord(row["type"], json.loads(row["data"]))


def _record_of(change: AnyChange) -> tuple[str, ImageRecord, bool] | None:
    match change:
        case TopicChange():
            told: dict[str, Any] = {"name": change.topic, "topicId": change.topic_id}
            return change.topic_id, ImageRecord("TOPIC_RECORD", told), change.is_removed
        case BrokerChange():
            name, record = (
                str(change.broker_id),
                ImageRecord("REGISTER_BROKER_RECORD", _broker(change)),
            )
            return name, record, change.is_removed
        case ControllerChange():
            record = ImageRecord("REGISTER_CONTROLLER_RECORD", _controller(change))
            return str(change.controller_id), record, change.is_removed
        case ConfigChange() | FeatureChange() | QuotaChange() | ProducerIdsChange():
            return _setting(change)
        case AclChange() | ScramChange() | DelegationTokenChange():
            return _credential(change)
    return None


def _setting(
    change: ConfigChange | FeatureChange | QuotaChange | ProducerIdsChange,
) -> tuple[str, ImageRecord, bool]:
    told: dict[str, Any]
    match change:
        case ConfigChange():
            numbers = {name: number for number, name in RESOURCE_TYPES.items()}
            number = numbers.get(change.resource_type)
            told = {"resourceType": int(change.resource_type) if number is None else number}
            told |= {
                "resourceName": change.resource_name,
                "name": change.name,
                "value": change.value,
            }
            name = json.dumps([change.resource_type, change.resource_name, change.name])
            return name, ImageRecord("CONFIG_RECORD", told), change.value is None
        case FeatureChange():
            told = {"name": change.name, "featureLevel": change.level or 0}
            return change.name, ImageRecord("FEATURE_LEVEL_RECORD", told), change.level is None
        case QuotaChange():
            parts = [{"entityType": kind, "entityName": name} for kind, name in change.entity]
            told = {"entity": parts, "key": change.key, "value": change.value, "remove": False}
            name = json.dumps([change.entity, change.key])
            return name, ImageRecord("CLIENT_QUOTA_RECORD", told), change.value is None
    told = {"brokerId": change.broker_id, "nextProducerId": change.next_producer_id}
    return "", ImageRecord("PRODUCER_IDS_RECORD", told), False


def _credential(
    change: AclChange | ScramChange | DelegationTokenChange,
) -> tuple[str, ImageRecord, bool]:
    told: dict[str, Any]
    match change:
        case AclChange():
            record = ImageRecord("ACCESS_CONTROL_ENTRY_RECORD", _acl(change))
            return change.acl_id, record, change.is_removed
        case ScramChange():
            told = {"name": change.user, "mechanism": change.mechanism}
            name = json.dumps([change.user, change.mechanism])
            return name, ImageRecord("USER_SCRAM_CREDENTIAL_RECORD", told), change.is_removed
    told = {
        "owner": change.owner,
        "requester": change.requester,
        "renewers": list(change.renewers),
        "issueTimestamp": change.issued_at_ms,
        "maxTimestamp": change.max_at_ms,
        "expirationTimestamp": change.expires_at_ms,
        "tokenId": change.token_id,
    }
    return change.token_id, ImageRecord("DELEGATION_TOKEN_RECORD", told), change.is_removed


def _broker(change: BrokerChange) -> dict[str, Any]:
    return {
        "brokerId": change.broker_id,
        "incarnationId": change.incarnation_id,
        "brokerEpoch": change.broker_epoch,
        "endPoints": endpoint_fields(change.endpoints),
        "features": feature_fields(change.features),
        "rack": change.rack,
        "fenced": change.is_fenced,
        "inControlledShutdown": change.in_controlled_shutdown,
        "logDirs": list(change.log_dirs),
        "cordonedLogDirs": list(change.cordoned_log_dirs),
    }


def _controller(change: ControllerChange) -> dict[str, Any]:
    return {
        "controllerId": change.controller_id,
        "incarnationId": change.incarnation_id,
        "endPoints": endpoint_fields(change.endpoints),
        "features": feature_fields(change.features),
    }


def _acl(change: AclChange) -> dict[str, Any]:
    return {
        "id": change.acl_id,
        "resourceType": change.resource_type,
        "resourceName": change.resource_name,
        "patternType": change.pattern_type,
        "principal": change.principal,
        "host": change.host,
        "operation": change.operation,
        "permissionType": change.permission_type,
    }
