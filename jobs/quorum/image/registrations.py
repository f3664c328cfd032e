"""What the metadata log registers besides partitions: brokers, controllers, topics, ACLs, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jobs.quorum.history.changes import Endpoint

# ConfigRecord.ResourceType (Kafka's ConfigResource.Type).
RESOURCE_TYPES = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP"}
# BrokerRegistrationChangeRecord: 1 fences, -1 unfences, 0 leaves it.
_FENCES, _UNFENCES = 1, -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker as it registered, with what happened to it since.

    `broker_epoch` is the offset of its registration. `rack` None: it named none. `features` are (name,
    lowest, highest level). `log_dirs` are directory ids (from Kafka 3.7 on); cordoned ones: KIP-1066 (4.3).
    """

    broker_id: int
    incarnation_id: str
    broker_epoch: int
    rack: str | None
    is_fenced: bool
    in_controlled_shutdown: bool
    endpoints: tuple[Endpoint, ...]
    features: tuple[tuple[str, int, int], ...]
    log_dirs: tuple[str, ...]
    cordoned_log_dirs: tuple[str, ...]
    is_migrating_zk_broker: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistration:
    """A controller as it registered (Kafka 3.7 and later)."""

    controller_id: int
    incarnation_id: str
    endpoints: tuple[Endpoint, ...]
    features: tuple[tuple[str, int, int], ...]
    zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic; its id stays, its name may come back under another id."""

    name: str
    topic_id: str


@dataclass(frozen=True, slots=True)
class Acl:
    """An access control entry; numbers are Kafka's codes."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A delegation token without its secrets."""

    owner: str
    requester: str | None
    renewers: tuple[str, ...]
    issued_at_ms: int
    max_at_ms: int
    expires_at_ms: int


def broker_from_record(data: Mapping[str, Any]) -> BrokerRegistration:
    """Return what a RegisterBrokerRecord (v0-4) registers; fenced unless it says otherwise."""
    return BrokerRegistration(
        broker_id=data["brokerId"],
        incarnation_id=data["incarnationId"],
        broker_epoch=data["brokerEpoch"],
        rack=data.get("rack"),
        is_fenced=data.get("fenced", True),
        in_controlled_shutdown=data.get("inControlledShutdown", False),
        endpoints=_endpoints(data),
        features=_features(data),
        log_dirs=tuple(data.get("logDirs") or ()),
        cordoned_log_dirs=tuple(data.get("cordonedLogDirs") or ()),
        is_migrating_zk_broker=data.get("isMigratingZkBroker", False),
    )


def with_registration_change(
    broker: BrokerRegistration, data: Mapping[str, Any]
) -> BrokerRegistration:
    """Return the broker after a BrokerRegistrationChangeRecord; empty log directories change nothing.

    Cordoned directories (v3) are replaced where the record names them, also by none.
    """
    fenced = data.get("fenced", 0)
    cordoned = data.get("cordonedLogDirs")
    return replace(
        broker,
        is_fenced=fenced == _FENCES if fenced in {_FENCES, _UNFENCES} else broker.is_fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown
        or data.get("inControlledShutdown", 0) == 1,
        log_dirs=tuple(data.get("logDirs") or ()) or broker.log_dirs,
        cordoned_log_dirs=broker.cordoned_log_dirs if cordoned is None else tuple(cordoned),
    )


def controller_from_record(data: Mapping[str, Any]) -> ControllerRegistration:
    """Return what a RegisterControllerRecord registers."""
    return ControllerRegistration(
        controller_id=data["controllerId"],
        incarnation_id=data["incarnationId"],
        endpoints=_endpoints(data),
        features=_features(data),
        zk_migration_ready=data.get("zkMigrationReady", False),
    )


def acl_from_record(data: Mapping[str, Any]) -> Acl:
    """Return what an AccessControlEntryRecord grants or denies."""
    return Acl(
        resource_type=data["resourceType"],
        resource_name=data["resourceName"],
        pattern_type=data["patternType"],
        principal=data["principal"],
        host=data["host"],
        operation=data["operation"],
        permission_type=data["permissionType"],
    )


def token_from_record(data: Mapping[str, Any]) -> DelegationToken:
    """Return a delegation token; its id is not part of it."""
    return DelegationToken(
        owner=data["owner"],
        requester=data.get("requester"),
        renewers=tuple(data.get("renewers") or ()),
        issued_at_ms=data["issueTimestamp"],
        max_at_ms=data["maxTimestamp"],
        expires_at_ms=data["expirationTimestamp"],
    )


def resource_type_name(number: int) -> str:
    """Return Kafka's name of a config resource type; the number as text where it is not known."""
    return RESOURCE_TYPES.get(number, str(number))


def _endpoints(data: Mapping[str, Any]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(
            name=one["name"],
            host=one["host"],
            port=one["port"],
            security_protocol=one["securityProtocol"],
        )
        for one in data.get("endPoints") or ()
    )


def _features(data: Mapping[str, Any]) -> tuple[tuple[str, int, int], ...]:
    found = (
        (one["name"], one["minSupportedVersion"], one["maxSupportedVersion"])
        for one in data.get("features") or ()
    )
    return tuple(sorted(found))
