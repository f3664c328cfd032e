"""Every record of the metadata log of Kafka 3.0 to 4.4 and the control records of its quorum, one table.

Source: the JSON schemas of Apache Kafka's modules metadata (common/metadata) and clients (common/message);
KIP-500, KIP-631, KIP-853, KIP-868, KIP-966, KIP-1066, KIP-1312. All are flexible from their first version:
strings, bytes and arrays have compact lengths, and every struct ends with a section of tagged fields.
"""

from __future__ import annotations

import re
from typing import Any

from jobs.wire.messages.schema import (
    ZERO_UUID,
    Field,
    Kind,
    MessageSchema,
)

# What a field holds when its schema names no default, unless it is an array.
_DEFAULTS: dict[Kind, Any] = {
    Kind.BOOL: False,
    Kind.INT8: 0,
    Kind.INT16: 0,
    Kind.UINT16: 0,
    Kind.INT32: 0,
    Kind.INT64: 0,
    Kind.FLOAT64: 0.0,
    Kind.UUID: ZERO_UUID,
    Kind.STRING: "",
    Kind.BYTES: "",
}
_MISSING: Any = object()
_WORD_BORDER = re.compile("(?<!^)(?=[A-Z])")


def _one(
    name: str,
    kind: Kind,
    *,
    since: int = 0,
    nullable: bool = False,
    default: Any = _MISSING,
    tag: int | None = None,
) -> Field:
    if default is _MISSING:
        default = _DEFAULTS[kind]
    return Field(name, kind, since=since, nullable=nullable, default=default, tag=tag)


def _many(
    name: str,
    kind: Kind,
    *fields: Field,
    since: int = 0,
    nullable: bool = False,
    tag: int | None = None,
) -> Field:
    # In every schema a nullable array has the default null, and no other has one.
    default = None if nullable else ()
    return Field(
        name,
        kind,
        is_array=True,
        since=since,
        nullable=nullable,
        default=default,
        tag=tag,
        fields=fields,
    )


_END_POINTS = _many(
    "endPoints",
    Kind.STRUCT,
    _one("name", Kind.STRING),
    _one("host", Kind.STRING),
    _one("port", Kind.UINT16),
    _one("securityProtocol", Kind.INT16),
)
_FEATURES = _many(
    "features",
    Kind.STRUCT,
    _one("name", Kind.STRING),
    _one("minSupportedVersion", Kind.INT16),
    _one("maxSupportedVersion", Kind.INT16),
)
_BROKER_ID = _one("brokerId", Kind.INT32)
_BROKER_EPOCH = _one("brokerEpoch", Kind.INT64)
_TOPIC_ID = _one("topicId", Kind.UUID)
_PARTITION_ID = _one("partitionId", Kind.INT32, default=-1)
_NAME = _one("name", Kind.STRING)
_MECHANISM = _one("mechanism", Kind.INT8)
_ID_AND_EPOCH = (_one("id", Kind.INT32), _one("epoch", Kind.INT64))


def _schema(number: int, name: str, latest: int, *fields: Field) -> MessageSchema:
    # As the constants of MetadataRecordType are named: NoOpRecord is NO_OP_RECORD.
    return MessageSchema(number, name, _WORD_BORDER.sub("_", name).upper(), 0, latest, fields)


def _control(number: int, name: str, kind: str, latest: int, *fields: Field) -> MessageSchema:
    return MessageSchema(number, name, kind, 0, latest, fields)


_BROKER_RECORDS = (
    _schema(
        0, "RegisterBrokerRecord", 4,
        _BROKER_ID,
        _one("isMigratingZkBroker", Kind.BOOL, since=2),
        _one("incarnationId", Kind.UUID),
        _BROKER_EPOCH,
        _END_POINTS,
        _FEATURES,
        _one("rack", Kind.STRING, nullable=True),
        _one("fenced", Kind.BOOL, default=True),
        _one("inControlledShutdown", Kind.BOOL, since=1),
        _many("logDirs", Kind.UUID, since=3, tag=0),
        _many("cordonedLogDirs", Kind.UUID, since=4, tag=1, nullable=True),
    ),
    _schema(1, "UnregisterBrokerRecord", 0, _BROKER_ID, _BROKER_EPOCH),
    _schema(7, "FenceBrokerRecord", 0, *_ID_AND_EPOCH),
    _schema(8, "UnfenceBrokerRecord", 0, *_ID_AND_EPOCH),
    _schema(
        17, "BrokerRegistrationChangeRecord", 3,
        _BROKER_ID,
        _BROKER_EPOCH,
        _one("fenced", Kind.INT8, tag=0),
        _one("inControlledShutdown", Kind.INT8, since=1, tag=1),
        _many("logDirs", Kind.UUID, since=2, tag=2),
        _many("cordonedLogDirs", Kind.UUID, since=3, tag=3, nullable=True),
    ),
    _schema(
        27, "RegisterControllerRecord", 0,
        _one("controllerId", Kind.INT32),
        _one("incarnationId", Kind.UUID),
        _one("zkMigrationReady", Kind.BOOL),
        _END_POINTS,
        _FEATURES,
    ),
    _schema(
        29, "UnregisterControllerRecord", 0,
        _one("controllerId", Kind.INT32),
    ),
)  # fmt: skip

_TOPIC_RECORDS = (
    _schema(2, "TopicRecord", 0, _NAME, _TOPIC_ID),
    _schema(
        3, "PartitionRecord", 2,
        _PARTITION_ID,
        _TOPIC_ID,
        _many("replicas", Kind.INT32),
        _many("isr", Kind.INT32),
        _many("removingReplicas", Kind.INT32),
        _many("addingReplicas", Kind.INT32),
        _one("leader", Kind.INT32, default=-1),
        _one("leaderRecoveryState", Kind.INT8, tag=0),
        _one("leaderEpoch", Kind.INT32, default=-1),
        _one("partitionEpoch", Kind.INT32, default=-1),
        _many("directories", Kind.UUID, since=1),
        _many("eligibleLeaderReplicas", Kind.INT32, since=2, tag=1, nullable=True),
        _many("lastKnownElr", Kind.INT32, since=2, tag=2, nullable=True),
    ),
    _schema(
        5, "PartitionChangeRecord", 2,
        _PARTITION_ID,
        _TOPIC_ID,
        _many("isr", Kind.INT32, tag=0, nullable=True),
        _one("leader", Kind.INT32, default=-2, tag=1),
        _many("replicas", Kind.INT32, tag=2, nullable=True),
        _many("removingReplicas", Kind.INT32, tag=3, nullable=True),
        _many("addingReplicas", Kind.INT32, tag=4, nullable=True),
        _one("leaderRecoveryState", Kind.INT8, default=-1, tag=5),
        _many("eligibleLeaderReplicas", Kind.INT32, since=2, tag=6, nullable=True),
        _many("lastKnownElr", Kind.INT32, since=2, tag=7, nullable=True),
        _many("directories", Kind.UUID, since=1, tag=8, nullable=True),
    ),
    _schema(9, "RemoveTopicRecord", 0, _TOPIC_ID),
    _schema(28, "ClearElrRecord", 0, _one("topicName", Kind.STRING)),
)  # fmt: skip

_CONFIG_RECORDS = (
    _schema(
        4, "ConfigRecord", 0,
        _one("resourceType", Kind.INT8),
        _one("resourceName", Kind.STRING),
        _NAME,
        _one("value", Kind.STRING, nullable=True),
    ),
    _schema(
        12, "FeatureLevelRecord", 0,
        _NAME,
        _one("featureLevel", Kind.INT16),
    ),
    _schema(
        14, "ClientQuotaRecord", 0,
        _many(
            "entity",
            Kind.STRUCT,
            _one("entityType", Kind.STRING),
            _one("entityName", Kind.STRING, nullable=True),
        ),
        _one("key", Kind.STRING),
        _one("value", Kind.FLOAT64),
        _one("remove", Kind.BOOL),
    ),
    _schema(
        15, "ProducerIdsRecord", 0,
        _BROKER_ID,
        _one("brokerEpoch", Kind.INT64, default=-1),
        _one("nextProducerId", Kind.INT64),
    ),
)  # fmt: skip

_SECURITY_RECORDS = (
    _schema(
        10, "DelegationTokenRecord", 0,
        _one("owner", Kind.STRING),
        _one("requester", Kind.STRING),
        _many("renewers", Kind.STRING),
        _one("issueTimestamp", Kind.INT64),
        _one("maxTimestamp", Kind.INT64),
        _one("expirationTimestamp", Kind.INT64),
        _one("tokenId", Kind.STRING),
    ),
    _schema(
        11, "UserScramCredentialRecord", 0,
        _NAME,
        _MECHANISM,
        _one("salt", Kind.BYTES),
        _one("storedKey", Kind.BYTES),
        _one("serverKey", Kind.BYTES),
        _one("iterations", Kind.INT32),
    ),
    _schema(
        18, "AccessControlEntryRecord", 0,
        _one("id", Kind.UUID),
        _one("resourceType", Kind.INT8),
        _one("resourceName", Kind.STRING),
        _one("patternType", Kind.INT8),
        _one("principal", Kind.STRING),
        _one("host", Kind.STRING),
        _one("operation", Kind.INT8),
        _one("permissionType", Kind.INT8),
    ),
    _schema(
        19, "RemoveAccessControlEntryRecord", 0,
        _one("id", Kind.UUID),
    ),
    _schema(
        22, "RemoveUserScramCredentialRecord", 0,
        _NAME,
        _MECHANISM,
    ),
    _schema(
        26, "RemoveDelegationTokenRecord", 0,
        _one("tokenId", Kind.STRING),
    ),
)  # fmt: skip

_LOG_RECORDS = (
    _schema(20, "NoOpRecord", 0),
    _schema(
        21, "ZkMigrationStateRecord", 0,
        _one("zkMigrationState", Kind.INT8),
    ),
    _schema(
        23, "BeginTransactionRecord", 0,
        _one("name", Kind.STRING, nullable=True, default=None, tag=0),
    ),
    _schema(24, "EndTransactionRecord", 0),
    _schema(
        25, "AbortTransactionRecord", 0,
        _one("reason", Kind.STRING, nullable=True, default=None, tag=0),
    ),
)  # fmt: skip

_VERSION = _one("version", Kind.INT16)
_VOTER_ID = _one("voterId", Kind.INT32)
_LEADER_CHANGE_VOTER = (_VOTER_ID, _one("voterDirectoryId", Kind.UUID, since=1))
# A struct that is no array: its fields stand in the body as they are, with a tagged section of their own.
_KRAFT_VERSION_FEATURE = Field(
    "kRaftVersionFeature",
    Kind.STRUCT,
    fields=(_one("minSupportedVersion", Kind.INT16), _one("maxSupportedVersion", Kind.INT16)),
)

METADATA_SCHEMAS: tuple[MessageSchema, ...] = tuple(
    sorted(
        _BROKER_RECORDS + _TOPIC_RECORDS + _CONFIG_RECORDS + _SECURITY_RECORDS + _LOG_RECORDS,
        key=lambda schema: schema.number,
    )
)
SCHEMA_BY_API_KEY = {schema.number: schema for schema in METADATA_SCHEMAS}
SCHEMA_BY_TYPE = {schema.type: schema for schema in METADATA_SCHEMAS}

# The version of a control record's value is its own first field.
CONTROL_SCHEMAS = (
    _control(
        2, "LeaderChangeMessage", "LEADER_CHANGE", 1,
        _VERSION,
        _one("leaderId", Kind.INT32),
        _many("voters", Kind.STRUCT, *_LEADER_CHANGE_VOTER),
        _many("grantingVoters", Kind.STRUCT, *_LEADER_CHANGE_VOTER),
    ),
    _control(
        3, "SnapshotHeaderRecord", "SNAPSHOT_HEADER", 0,
        _VERSION,
        _one("lastContainedLogTimestamp", Kind.INT64),
    ),
    _control(4, "SnapshotFooterRecord", "SNAPSHOT_FOOTER", 0, _VERSION),
    _control(5, "KRaftVersionRecord", "KRAFT_VERSION", 0, _VERSION, _one("kRaftVersion", Kind.INT16)),
    _control(
        6, "VotersRecord", "KRAFT_VOTERS", 0,
        _VERSION,
        _many(
            "voters",
            Kind.STRUCT,
            _VOTER_ID,
            _one("voterDirectoryId", Kind.UUID),
            _many(
                "endpoints",
                Kind.STRUCT,
                _one("name", Kind.STRING),
                _one("host", Kind.STRING),
                _one("port", Kind.UINT16),
            ),
            _KRAFT_VERSION_FEATURE,
        ),
    ),
)  # fmt: skip
CONTROL_SCHEMA_BY_NUMBER = {schema.number: schema for schema in CONTROL_SCHEMAS}
CONTROL_SCHEMA_BY_TYPE = {schema.type: schema for schema in CONTROL_SCHEMAS}
