"""The settings of MirrorMaker 2: names, defaults, and which connector reads them.

Source: the ConfigDefs of MirrorConnectorConfig, MirrorSourceConfig, MirrorCheckpointConfig,
MirrorHeartbeatConfig, ConnectorConfig and SourceConnectorConfig (Kafka 4.x).
"""

from __future__ import annotations

from jobs.replication.flow.spec import (
    DEFAULT_CONFIG_PROPERTIES_EXCLUDE,
    DEFAULT_GROUPS_EXCLUDE,
    DEFAULT_TOPICS_EXCLUDE,
)
from jobs.replication.mirror_config.values import ConnectorClass

_MIRROR = "org.apache.kafka.connect.mirror."
BYTE_ARRAY_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"
DEFAULT_POLICY = f"{_MIRROR}DefaultReplicationPolicy"
IDENTITY_POLICY = f"{_MIRROR}IdentityReplicationPolicy"
# In Strimzi's extensions before Kafka had a policy of its own that keeps names.
OLD_STRIMZI_IDENTITY_POLICY = "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"

TOP_DEFAULTS = {
    "dedicated.mode.enable.internal.rest": "false",
    "config.providers": "",
    "security.protocol": "PLAINTEXT",
}
COMMON_DEFAULTS = {
    "enabled": "true",
    "target.cluster.alias": "target",
    "admin.timeout.ms": "60000",
    "replication.policy.class": DEFAULT_POLICY,
    "replication.policy.separator": ".",
    "replication.policy.internal.topic.separator.enabled": "true",
    "forwarding.admin.class": "org.apache.kafka.clients.admin.ForwardingAdmin",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
    "tasks.max": "1",
}
_LOCATION = {"offset-syncs.topic.location": "source", "emit.offset-syncs.enabled": "true"}
_FILTERS = {
    "topics": ".*",
    "topics.exclude": ", ".join(DEFAULT_TOPICS_EXCLUDE),
    "topic.filter.class": f"{_MIRROR}DefaultTopicFilter",
    "consumer.poll.timeout.ms": "1000",
}
SOURCE_DEFAULTS = {
    **_FILTERS,
    "config.properties.exclude": ", ".join(DEFAULT_CONFIG_PROPERTIES_EXCLUDE),
    "config.property.filter.class": f"{_MIRROR}DefaultConfigPropertyFilter",
    "use.defaults.from": "target",
    "refresh.topics.enabled": "true",
    "refresh.topics.interval.seconds": "600",
    "sync.topic.configs.enabled": "true",
    "sync.topic.configs.interval.seconds": "600",
    "sync.topic.acls.enabled": "true",
    "sync.topic.acls.interval.seconds": "600",
    "replication.factor": "2",
    "offset-syncs.topic.replication.factor": "3",
    "offset.lag.max": "100",
    "heartbeats.replication.enabled": "true",
    **_LOCATION,
}
CHECKPOINT_DEFAULTS = {
    **_FILTERS,
    "groups": ".*",
    "groups.exclude": ", ".join(DEFAULT_GROUPS_EXCLUDE),
    "group.filter.class": f"{_MIRROR}DefaultGroupFilter",
    "refresh.groups.enabled": "true",
    "refresh.groups.interval.seconds": "600",
    "emit.checkpoints.enabled": "true",
    "emit.checkpoints.interval.seconds": "60",
    "sync.group.offsets.enabled": "false",
    "sync.group.offsets.interval.seconds": "60",
    "checkpoints.topic.replication.factor": "3",
    **_LOCATION,
}
HEARTBEAT_DEFAULTS = {
    "emit.heartbeats.enabled": "true",
    "emit.heartbeats.interval.seconds": "1",
    "heartbeats.topic.replication.factor": "3",
}
DEFAULTS: dict[ConnectorClass, dict[str, str]] = {
    ConnectorClass.SOURCE: COMMON_DEFAULTS | SOURCE_DEFAULTS,
    ConnectorClass.CHECKPOINT: COMMON_DEFAULTS | CHECKPOINT_DEFAULTS,
    ConnectorClass.HEARTBEAT: COMMON_DEFAULTS | HEARTBEAT_DEFAULTS,
}

# Kafka 4.3.1 has other defaults than 4.0 here.
NEWER_DEFAULTS = {
    "topics.exclude": r"mm2.*\.internal, .*\.replica, __.*",
    "config.properties.exclude": "follower.replication.throttled.replicas, "
    "leader.replication.throttled.replicas, message.timestamp.difference.max.ms, "
    "log.message.timestamp.before.max.ms, log.message.timestamp.after.max.ms, "
    "message.timestamp.type, unclean.leader.election.enable, min.insync.replicas",
}

# Keys that every connector of Kafka Connect has.
CONNECT_KEYS = frozenset(
    {
        "name",
        "connector.class",
        "connector.plugin.version",
        "tasks.max",
        "tasks.max.enforce",
        "key.converter",
        "key.converter.plugin.version",
        "value.converter",
        "value.converter.plugin.version",
        "header.converter",
        "header.converter.plugin.version",
        "transforms",
        "predicates",
        "config.action.reload",
        "errors.retry.timeout",
        "errors.retry.delay.max.ms",
        "errors.tolerance",
        "errors.log.enable",
        "errors.log.include.messages",
        "topic.creation.groups",
        "exactly.once.support",
        "transaction.boundary",
        "transaction.boundary.interval.ms",
        "offsets.storage.topic",
    }
)
# Old names with the ones that took their place; None: nothing did.
RENAMED_IN_4 = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
}
REMOVED_IN_4: dict[str, str | None] = {
    **RENAMED_IN_4,
    "use.incremental.alter.configs": None,
    "add.source.alias.to.metrics": None,
}
CONNECTOR_KEYS = (
    CONNECT_KEYS
    | {key for defaults in DEFAULTS.values() for key in defaults}
    | {"source.cluster.alias", "metric.names.formats"}
    | set(REMOVED_IN_4)
)
# Keys that a connector reads although no ConfigDef of MirrorMaker 2 has them: at the top of mm2.properties
# they reach nothing.
_ONLY_IN_A_CONNECTOR = {
    "use.defaults.from",
    "topic.creation.groups",
    "exactly.once.support",
    "transaction.boundary",
    "transaction.boundary.interval.ms",
    "offsets.storage.topic",
}
TOP_CONNECTOR_KEYS = CONNECTOR_KEYS - _ONLY_IN_A_CONNECTOR

# What MirrorMakerConfig itself reads at the top of mm2.properties.
TOP_KEYS = frozenset(
    {
        "clusters",
        "config.providers",
        "dedicated.mode.enable.internal.rest",
        "listeners",
        "rest.advertised.host.name",
        "rest.advertised.listener",
        "rest.advertised.port",
        "rest.extension.classes",
        "access.control.allow.methods",
        "access.control.allow.origin",
        "admin.listeners",
        "response.http.headers.config",
    }
)
# Keys at the top that reach the workers. Source: MirrorMakerConfig.workerConfig.
WORKER_PREFIXES = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
)
CONNECTOR_PREFIXES = ("config.providers", "replication.policy")
CLIENT_PREFIXES = ("producer", "consumer", "admin")
# Keys of a connector that belong to something with settings of its own.
OPEN_PREFIXES = (
    "transforms.",
    "predicates.",
    "topic.creation.",
    "producer.",
    "consumer.",
    "admin.",
    "source.",
    "target.",
    "source.cluster.",
    "target.cluster.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "config.providers",
    "replication.policy.",
    "metrics.",
)
SWITCHES = frozenset(
    key
    for defaults in (COMMON_DEFAULTS, *DEFAULTS.values())
    for key, value in defaults.items()
    if value in {"true", "false"}
)
NUMBERS = frozenset(
    key
    for defaults in (COMMON_DEFAULTS, *DEFAULTS.values())
    for key, value in defaults.items()
    if value.isdigit()
)
PATTERN_LISTS = frozenset(
    {"topics", "topics.exclude", "groups", "groups.exclude", "config.properties.exclude"}
    | set(RENAMED_IN_4)
)
_NOT_OF_CLIENTS = ("ssl.client.auth", "ssl.principal.mapping.rules", "sasl.enabled.mechanisms")


def is_security_key(key: str) -> bool:
    """Return whether every client of a cluster takes this setting of the cluster.

    Source: MirrorClientConfig.CLIENT_CONFIG_DEF, with the SSL and SASL settings of clients.
    """
    return key in {"bootstrap.servers", "security.protocol"} or (
        key.startswith(("ssl.", "sasl.")) and key not in _NOT_OF_CLIENTS
    )


def reaches_connectors(key: str) -> bool:
    """Return whether a key at the top of mm2.properties is passed on to connectors.

    The security of clients is, too: MirrorConnectorConfig defines it.
    """
    return (
        key in TOP_CONNECTOR_KEYS
        or key.startswith(CONNECTOR_PREFIXES)
        or (is_security_key(key) and key != "bootstrap.servers")
    )
