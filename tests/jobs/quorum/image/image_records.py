"""An image as the records of a snapshot, which fold back into it (Kafka's `MetadataImage.write`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jobs.quorum.history.change_json import endpoint_fields, feature_fields, partition_fields
from jobs.quorum.image.partition_registration import PartitionRegistration
from jobs.quorum.image.registrations import (
    RESOURCE_TYPES,
    Acl,
    BrokerRegistration,
    ControllerRegistration,
    DelegationToken,
    Topic,
)
from jobs.quorum.image.tables import ImageTables

_RESOURCE_NUMBERS = {name: number for number, name in RESOURCE_TYPES.items()}


class ImageRecord(NamedTuple):
    """A record of a snapshot: its type, and its fields as kafka-dump-log names them."""

    type: str
    data: dict[str, Any]


def image_records(tables: ImageTables) -> Iterator[ImageRecord]:
    """Yield records that make these tables, roughly in Kafka's order; secrets stay redacted."""
    for name, level in tables.features.items():
        yield ImageRecord("FEATURE_LEVEL_RECORD", {"name": name, "featureLevel": level})
    for broker in tables.brokers.values():
        yield ImageRecord("REGISTER_BROKER_RECORD", _broker(broker))
    for controller in tables.controllers.values():
        yield ImageRecord("REGISTER_CONTROLLER_RECORD", _controller(controller))
    for topic in tables.topics.values():
        yield from _topic(topic, tables.partitions.get(topic.topic_id, {}))
    yield from _settings(tables)
    yield from _people(tables)


def _topic(topic: Topic, partitions: dict[int, PartitionRegistration]) -> Iterator[ImageRecord]:
    yield ImageRecord("TOPIC_RECORD", {"name": topic.name, "topicId": topic.topic_id})
    for number, state in partitions.items():
        told = {"partitionId": number, "topicId": topic.topic_id, **partition_fields(state)}
        yield ImageRecord("PARTITION_RECORD", told)


def _settings(tables: ImageTables) -> Iterator[ImageRecord]:
    for (resource_type, resource_name), values in tables.configs.items():
        number = _RESOURCE_NUMBERS.get(resource_type)
        resource = {
            "resourceType": int(resource_type) if number is None else number,
            "resourceName": resource_name,
        }
        for name, value in values.items():
            yield ImageRecord("CONFIG_RECORD", {**resource, "name": name, "value": value})
    for entity, quotas in tables.quotas.items():
        parts = [{"entityType": kind, "entityName": name} for kind, name in entity]
        for key, amount in quotas.items():
            told = {"entity": parts, "key": key, "value": amount, "remove": False}
            yield ImageRecord("CLIENT_QUOTA_RECORD", told)
    if tables.producer_ids is not None:
        ids = tables.producer_ids
        told = {"brokerId": ids.broker_id, "nextProducerId": ids.next_producer_id}
        yield ImageRecord("PRODUCER_IDS_RECORD", told)
    if tables.zk_migration_state is not None:
        yield ImageRecord(
            "ZK_MIGRATION_STATE_RECORD", {"zkMigrationState": tables.zk_migration_state}
        )


def _people(tables: ImageTables) -> Iterator[ImageRecord]:
    for acl_id, acl in tables.acls.items():
        yield ImageRecord("ACCESS_CONTROL_ENTRY_RECORD", _acl(acl_id, acl))
    for user, mechanism in sorted(tables.scram):
        yield ImageRecord("USER_SCRAM_CREDENTIAL_RECORD", {"name": user, "mechanism": mechanism})
    for token_id, token in tables.tokens.items():
        yield ImageRecord("DELEGATION_TOKEN_RECORD", _token(token_id, token))


def _broker(broker: BrokerRegistration) -> dict[str, Any]:
    return {
        "brokerId": broker.broker_id,
        "isMigratingZkBroker": broker.is_migrating_zk_broker,
        "incarnationId": broker.incarnation_id,
        "brokerEpoch": broker.broker_epoch,
        "endPoints": endpoint_fields(broker.endpoints),
        "features": feature_fields(broker.features),
        "rack": broker.rack,
        "fenced": broker.is_fenced,
        "inControlledShutdown": broker.in_controlled_shutdown,
        "logDirs": list(broker.log_dirs),
        "cordonedLogDirs": list(broker.cordoned_log_dirs),
    }


def _controller(controller: ControllerRegistration) -> dict[str, Any]:
    return {
        "controllerId": controller.controller_id,
        "incarnationId": controller.incarnation_id,
        "zkMigrationReady": controller.zk_migration_ready,
        "endPoints": endpoint_fields(controller.endpoints),
        "features": feature_fields(controller.features),
    }


def _acl(acl_id: str, acl: Acl) -> dict[str, Any]:
    return {
        "id": acl_id,
        "resourceType": acl.resource_type,
        "resourceName": acl.resource_name,
        "patternType": acl.pattern_type,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permissionType": acl.permission_type,
    }


def _token(token_id: str, token: DelegationToken) -> dict[str, Any]:
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestamp": token.issued_at_ms,
        "maxTimestamp": token.max_at_ms,
        "expirationTimestamp": token.expires_at_ms,
        "tokenId": token_id,
    }
