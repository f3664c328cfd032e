"""Configs, features, quotas, ACLs, credentials and producer ids: how their records change the image."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.quorum.fold.fold import Data, FoldRecord, MetadataDelta
from jobs.quorum.history.change_builders import (
    ChangePosition,
    acl_change,
    anomaly,
    config_change,
    feature_change,
    token_change,
)
from jobs.quorum.history.changes import (
    AnomalyKind,
    AnyChange,
    Cause,
    ProducerIdsChange,
    QuotaChange,
    ScramChange,
)
from jobs.quorum.image.registrations import acl_from_record, resource_type_name, token_from_record
from jobs.quorum.image.tables import ProducerIds

# Its level comes from control records alone; some versions wrote it here, too (KAFKA-18979).
KRAFT_VERSION = "kraft.version"


def fold_config(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A ConfigRecord sets one setting of one resource, or with value null removes it."""
    resource = (resource_type_name(data["resourceType"]), data["resourceName"])
    name, value = data["name"], data.get("value")
    settings = delta.tables.configs.setdefault(resource, {})
    before = settings.pop(name, None)
    if value is not None:
        settings[name] = value
    if not settings:
        del delta.tables.configs[resource]
    yield config_change(position, resource, name, (before, value))


def fold_feature(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A FeatureLevelRecord; level 0 is not set."""
    name, level = data["name"], data["featureLevel"] or None
    if name == KRAFT_VERSION:
        return
    before = delta.tables.features.pop(name, None)
    if level is not None:
        delta.tables.features[name] = level
    yield feature_change(position, name, before, level)


def fold_quota(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A ClientQuotaRecord sets or removes one quota of one entity."""
    entity = tuple(sorted((one["entityType"], one.get("entityName")) for one in data["entity"]))
    value = None if data.get("remove") else float(data["value"])
    quotas = delta.tables.quotas.setdefault(entity, {})
    before = quotas.pop(data["key"], None)
    if value is not None:
        quotas[data["key"]] = value
    if not quotas:
        del delta.tables.quotas[entity]
    yield QuotaChange(
        **position,
        cause=Cause.REMOVED if value is None else Cause.SET,
        entity=entity,
        key=data["key"],
        value=value,
        previous_value=before,
    )


def fold_acl(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """An AccessControlEntryRecord."""
    acl = acl_from_record(data)
    delta.tables.acls[data["id"]] = acl
    yield acl_change(position, data["id"], acl, Cause.SET)


def fold_remove_acl(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A RemoveAccessControlEntryRecord."""
    acl = delta.tables.acls.pop(data["id"], None)
    if acl is None:
        problem = f"ACL {data['id']} is removed, but there is no such ACL"
        record_type = "REMOVE_ACCESS_CONTROL_ENTRY_RECORD"
        yield anomaly(position, AnomalyKind.UNKNOWN_ACL, problem, record_type)
        return
    yield acl_change(position, data["id"], acl, Cause.REMOVED, is_removed=True)


def fold_producer_ids(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A ProducerIdsRecord gives a block of producer ids to a broker."""
    found = ProducerIds(data["nextProducerId"], data["brokerId"])
    delta.tables.producer_ids = found
    yield ProducerIdsChange(
        **position,
        cause=Cause.SET,
        broker_id=found.broker_id,
        next_producer_id=found.next_producer_id,
    )


def fold_scram(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A UserScramCredentialRecord; nothing but names is kept."""
    delta.tables.scram.add((data["name"], data["mechanism"]))
    yield ScramChange(**position, cause=Cause.SET, user=data["name"], mechanism=data["mechanism"])


def fold_remove_scram(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A RemoveUserScramCredentialRecord."""
    delta.tables.scram.discard((data["name"], data["mechanism"]))
    yield ScramChange(
        **position,
        cause=Cause.REMOVED,
        user=data["name"],
        mechanism=data["mechanism"],
        is_removed=True,
    )


def fold_token(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A DelegationTokenRecord: made, or renewed."""
    token = token_from_record(data)
    delta.tables.tokens[data["tokenId"]] = token
    yield token_change(position, data["tokenId"], token, Cause.SET)


def fold_remove_token(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A RemoveDelegationTokenRecord."""
    token = delta.tables.tokens.pop(data["tokenId"], None)
    yield token_change(position, data["tokenId"], token, Cause.REMOVED, is_removed=True)


def fold_zk_migration(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A ZkMigrationStateRecord: 0 none, 1 migration, 2 pre, 3 post."""
    delta.tables.zk_migration_state = data["zkMigrationState"]
    yield from ()


FOLDS: dict[str, FoldRecord] = {
    "CONFIG_RECORD": fold_config,
    "FEATURE_LEVEL_RECORD": fold_feature,
    "CLIENT_QUOTA_RECORD": fold_quota,
    "ACCESS_CONTROL_ENTRY_RECORD": fold_acl,
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": fold_remove_acl,
    "PRODUCER_IDS_RECORD": fold_producer_ids,
    "USER_SCRAM_CREDENTIAL_RECORD": fold_scram,
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": fold_remove_scram,
    "DELEGATION_TOKEN_RECORD": fold_token,
    "REMOVE_DELEGATION_TOKEN_RECORD": fold_remove_token,
    "ZK_MIGRATION_STATE_RECORD": fold_zk_migration,
}
