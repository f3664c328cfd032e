"""Changes and states as JSON values: Kafka's camelCase names, times as ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, get_args

from jobs.quorum.history.changes import AnyChange, Endpoint
from jobs.quorum.image.diff import Difference
from jobs.quorum.image.partition_registration import PartitionRegistration, differences
from jobs.quorum.image.registrations import (
    Acl,
    BrokerRegistration,
    ControllerRegistration,
    DelegationToken,
    Topic,
)
from jobs.quorum.image.tables import Entity, ImageTables
from jobs.wire.values import utc_time

# Where Kafka's name is another one than ours in camelCase.
_NAMES = {
    "adding": "addingReplicas",
    "removing": "removingReplicas",
    "recovery_state": "leaderRecoveryState",
    "endpoints": "endPoints",
    "not_after_ms": "notAfter",
    "is_removed": "removed",
    "is_fenced": "fenced",
    "previous_is_fenced": "previousFenced",
    "topic_id": "topicId",
}
_TIMES = frozenset({"not_after_ms"})


def iso(timestamp_ms: int | None) -> str | None:
    """Return a time as ISO 8601 in UTC with milliseconds; None stays None, as does what no calendar has."""
    at = utc_time(timestamp_ms)
    if at is None:
        return None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def change_mapping(change: AnyChange) -> dict[str, Any]:
    """Return a change as JSON values; `time` and `timestampMs` are null where only a snapshot tells it."""
    told: dict[str, Any] = {
        "kind": change.kind.value,
        "offset": change.offset,
        "epoch": change.epoch,
        "time": iso(change.timestamp_ms),
        "timestampMs": change.timestamp_ms,
    }
    for name, key in _KEYS[type(change)]:
        value = getattr(change, name)
        told[key] = iso(value) if name in _TIMES else plain(value)
    if hasattr(change, "is_unclean"):
        told["unclean"] = change.is_unclean
    return told


def _camel(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


_FIRST = frozenset({"offset", "epoch", "timestamp_ms"})
_KEYS: dict[type, tuple[tuple[str, str], ...]] = {
    kind: tuple((one.name, _camel(one.name)) for one in fields(kind) if one.name not in _FIRST)
    for kind in get_args(AnyChange)
}


def plain(value: Any) -> Any:
    """Return a value as JSON knows it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Endpoint):
        return endpoint_fields((value,))[0]
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def partition_mapping(state: PartitionRegistration) -> dict[str, Any]:
    """Return a partition's state; `elr` and `lastKnownElr` by their short names."""
    told = partition_fields(state)
    told["elr"] = told.pop("eligibleLeaderReplicas")
    return told


def broker_mapping(broker: BrokerRegistration) -> dict[str, Any]:
    """Return a broker's registration."""
    return {
        "brokerId": broker.broker_id,
        "incarnationId": broker.incarnation_id,
        "brokerEpoch": broker.broker_epoch,
        "rack": broker.rack,
        "fenced": broker.is_fenced,
        "inControlledShutdown": broker.in_controlled_shutdown,
        "endPoints": endpoint_fields(broker.endpoints),
        "features": feature_fields(broker.features),
        "logDirs": list(broker.log_dirs),
        "cordonedLogDirs": list(broker.cordoned_log_dirs),
    }


def state_mapping(tables: ImageTables, topic: str | None = None) -> dict[str, Any]:
    """Return everything the tables hold, of one topic only where one is named."""
    topics = [one for one in tables.topics.values() if topic in {None, one.name}]
    return {
        "brokers": [broker_mapping(one) for _, one in sorted(tables.brokers.items())],
        "controllers": [_controller(one) for _, one in sorted(tables.controllers.items())],
        "topics": [
            {
                "name": one.name,
                "topicId": one.topic_id,
                "partitionCount": len(tables.partitions.get(one.topic_id, {})),
            }
            for one in sorted(topics, key=lambda one: (one.name, one.topic_id))
        ],
        "partitions": [
            {"topic": one.name, "topicId": one.topic_id, "partition": number}
            | partition_mapping(state)
            for one, number, state in tables.partition_rows()
            if topic in {None, one.name}
        ],
        "configs": _configs(tables, topic),
        "features": dict(sorted(tables.features.items())),
        **_rest(tables),
    }


def _configs(tables: ImageTables, topic: str | None) -> list[dict[str, Any]]:
    return [
        {"resourceType": kind, "resourceName": resource, "name": name, "value": value}
        for (kind, resource), values in sorted(tables.configs.items())
        if topic is None or (kind, resource) == ("TOPIC", topic)
        for name, value in sorted(values.items())
    ]


def _rest(tables: ImageTables) -> dict[str, Any]:
    ids = tables.producer_ids
    return {
        "clientQuotas": [
            {"entity": entity_mapping(entity), "key": key, "value": value}
            for entity, quotas in tables.quotas.items()
            for key, value in sorted(quotas.items())
        ],
        "acls": [{"id": acl_id} | _acl(acl) for acl_id, acl in sorted(tables.acls.items())],
        "producerIds": None
        if ids is None
        else {"nextProducerId": ids.next_producer_id, "brokerId": ids.broker_id},
        "scramCredentials": [
            {"user": user, "mechanism": mechanism} for user, mechanism in sorted(tables.scram)
        ],
        "delegationTokens": [
            {"tokenId": token_id} | _token(token) for token_id, token in tables.tokens.items()
        ],
        "zkMigrationState": tables.zk_migration_state,
    }


def entity_mapping(entity: Entity) -> dict[str, str | None]:
    """Return the entity of a quota; null is the default entity."""
    return dict(entity)


def _controller(controller: ControllerRegistration) -> dict[str, Any]:
    return {
        "controllerId": controller.controller_id,
        "incarnationId": controller.incarnation_id,
        "endPoints": endpoint_fields(controller.endpoints),
        "features": feature_fields(controller.features),
    }


def _acl(acl: Acl) -> dict[str, Any]:
    return {_camel(one.name): getattr(acl, one.name) for one in fields(acl)}


def _token(token: DelegationToken) -> dict[str, Any]:
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issuedAt": iso(token.issued_at_ms),
        "expiresAt": iso(token.expires_at_ms),
    }


def difference_mapping(found: Difference) -> dict[str, Any]:
    """Return what is not the same at two moments; of partitions also the fields that differ."""
    told: dict[str, Any] = {"kind": found.kind.value, "key": plain(found.key)}
    told |= {"before": _side(found.before), "after": _side(found.after)}
    if isinstance(found.before, PartitionRegistration) and isinstance(
        found.after, PartitionRegistration
    ):
        told["changed"] = [name for name, _, _ in differences(found.before, found.after)]
    return told


def _side(value: Any) -> Any:
    return _MAPPINGS[type(value)](value) if type(value) in _MAPPINGS else plain(value)


def _topic(topic: Topic) -> dict[str, Any]:
    return {"name": topic.name, "topicId": topic.topic_id}


_MAPPINGS: dict[type, Callable[[Any], dict[str, Any]]] = {
    PartitionRegistration: partition_mapping,
    BrokerRegistration: broker_mapping,
    ControllerRegistration: _controller,
    Topic: _topic,
    Acl: _acl,
    DelegationToken: _token,
}


def partition_fields(state: PartitionRegistration) -> dict[str, Any]:
    """Return a partition's state under the names of a PartitionRecord; nothing is left out."""
    return {
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "removingReplicas": list(state.removing),
        "addingReplicas": list(state.adding),
        "leader": state.leader,
        "leaderRecoveryState": state.recovery_state,
        "leaderEpoch": state.leader_epoch,
        "partitionEpoch": state.partition_epoch,
        "directories": list(state.directories),
        "eligibleLeaderReplicas": list(state.elr),
        "lastKnownElr": list(state.last_known_elr),
    }


def endpoint_fields(endpoints: tuple[Endpoint, ...]) -> list[dict[str, Any]]:
    """Return listeners under the names of a registration record."""
    return [
        {
            "name": one.name,
            "host": one.host,
            "port": one.port,
            "securityProtocol": one.security_protocol,
        }
        for one in endpoints
    ]


def feature_fields(features: tuple[tuple[str, int, int], ...]) -> list[dict[str, Any]]:
    """Return version ranges under the names of a registration record."""
    return [
        {"name": name, "minSupportedVersion": low, "maxSupportedVersion": high}
        for name, low, high in features
    ]
