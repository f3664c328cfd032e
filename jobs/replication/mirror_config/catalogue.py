"""The settings of MirrorMaker 2: names, defaults, and who reads them: connectors, workers, clients.

Source: the ConfigDefs of MirrorConnectorConfig, MirrorSourceConfig, MirrorCheckpointConfig,
MirrorHeartbeatConfig, ConnectorConfig, SourceConnectorConfig, DistributedConfig, ConsumerConfig,
ProducerConfig and AdminClientConfig (Kafka 4.x).
"""

from __future__ import annotations

import re

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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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

# Kafka has other defaults here since 4.0 (topics.exclude) and 4.3 (config.properties.exclude) at the latest.
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
        "plugin.path",
        "plugin.discovery",
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
) | _words(
    """tasks.max.enforce errors.log.enable errors.log.include.messages topic.creation.enable
    topic.tracking.enable topic.tracking.allow.reset dedicated.mode.enable.internal.rest
    enable.idempotence enable.auto.commit allow.auto.create.topics check.crcs enable.metrics.push"""
)
_NUMBERS = frozenset(
    key
    for defaults in (COMMON_DEFAULTS, *DEFAULTS.values())
    for key, value in defaults.items()
    if value.isdigit()
)
# Settings of workers and clients that are numbers, by how their names end.
_NUMBER_ENDINGS = (
    ".ms",
    ".bytes",
    ".records",
    ".size",
    ".partitions",
    ".replication.factor",
    ".port",
)
_INTS = {"replication.factor", "tasks.max"}
SHORT, INT, LONG = 2**15 - 1, 2**31 - 1, 2**63 - 1
CHOICES = {
    "offset-syncs.topic.location": ("source", "target"),
    "use.defaults.from": ("source", "target"),
    "errors.tolerance": ("none", "all"),
    "isolation.level": ("read_committed", "read_uncommitted"),
    "acks": ("all", "-1", "0", "1"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
}
CHOICES_IN_ANY_CASE = {
    "security.protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "exactly.once.support": ("requested", "required"),
    "exactly.once.source.support": ("disabled", "enabled", "preparing"),
}
# Waits whose default is ten seconds or more: a value below one second was meant in seconds.
LONG_WAITS = _words(
    """admin.timeout.ms connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms max.block.ms
    max.poll.interval.ms metadata.max.age.ms offset.flush.interval.ms rebalance.timeout.ms
    request.timeout.ms scheduled.rebalance.max.delay.ms session.timeout.ms transaction.timeout.ms
    worker.unsync.backoff.ms errors.retry.delay.max.ms"""
)
PATTERN_LISTS = frozenset(
    {"topics", "topics.exclude", "groups", "groups.exclude", "config.properties.exclude"}
    | set(RENAMED_IN_4)
)
# Read as they are written, without ConfigDef: by DefaultReplicationPolicy.configure (the class apart), and
# by Plugins.newConnector.
_OF_POLICIES, _POLICY, CONNECTOR_CLASS = (
    "replication.policy.",
    "replication.policy.class",
    "connector.class",
)
# Which clients know a setting beside the address and security.
_OF_CLIENTS = {
    ("consumer", "producer", "admin"): """client.dns.lookup client.id connections.max.idle.ms
    enable.metrics.push metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
    request.timeout.ms retry.backoff.max.ms retry.backoff.ms security.providers send.buffer.bytes
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms""",
    ("consumer", "admin"): "default.api.timeout.ms",
    ("consumer", "producer"): "interceptor.classes",
    ("producer", "admin"): "retries",
    ("admin",): "bootstrap.controllers",
    ("consumer",): """allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs
    client.rack enable.auto.commit exclude.internal.topics fetch.max.bytes fetch.max.wait.ms
    fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor
    heartbeat.interval.ms isolation.level key.deserializer max.partition.fetch.bytes
    max.poll.interval.ms max.poll.records partition.assignment.strategy session.timeout.ms
    value.deserializer""",
    ("producer",): """acks batch.size buffer.memory compression.gzip.level compression.lz4.level
    compression.type compression.zstd.level delivery.timeout.ms enable.idempotence key.serializer
    linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys transaction.timeout.ms transactional.id value.serializer""",
}
CLIENTS_OF = {key: clients for clients, keys in _OF_CLIENTS.items() for key in keys.split()}
# What a Connect worker reads, beside storage topics, converters and config providers.
WORKER_KEYS = _words(
    """access.control.allow.methods access.control.allow.origin admin.listeners bootstrap.servers
    client.dns.lookup client.id config.providers connect.protocol connections.max.idle.ms
    connector.client.config.override.policy exactly.once.source.support group.id
    heartbeat.interval.ms inter.worker.key.generation.algorithm inter.worker.key.size
    inter.worker.key.ttl.ms inter.worker.signature.algorithm inter.worker.verification.algorithms
    listeners metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms offset.flush.interval.ms offset.flush.timeout.ms plugin.discovery
    plugin.path rebalance.timeout.ms receive.buffer.bytes reconnect.backoff.max.ms
    reconnect.backoff.ms request.timeout.ms response.http.headers.config rest.advertised.host.name
    rest.advertised.listener rest.advertised.port rest.extension.classes retry.backoff.max.ms
    retry.backoff.ms scheduled.rebalance.max.delay.ms send.buffer.bytes session.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    task.shutdown.graceful.timeout.ms topic.creation.enable topic.tracking.allow.reset
    topic.tracking.enable worker.sync.timeout.ms worker.unsync.backoff.ms"""
)
_WORKER_BEGINNINGS = (*WORKER_PREFIXES[:6], "config.providers")
_TO_CLIENT = re.compile(
    r"(?:source|target)\.cluster\.|(?:(?:source|target)\.)?(?:consumer|producer|admin)\.(?:override\.)?"
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


def is_worker_key(key: str) -> bool:
    """Return whether a Connect worker reads this setting."""
    return key in WORKER_KEYS or key.startswith(_WORKER_BEGINNINGS)


def option_of(key: str) -> str:
    """Return the setting of a client without the prefixes that lead to the client."""
    if key in CONNECTOR_KEYS or key in WORKER_KEYS:
        return key
    found = _TO_CLIENT.match(key)
    return key[found.end() :] if found else key


def is_trimmed(key: str) -> bool:
    """Return whether the reader of a connector's or worker's setting trims it: a ConfigDef does."""
    if key.startswith(_OF_POLICIES) or key == CONNECTOR_CLASS:
        return key == _POLICY
    option = option_of(key)
    return option != key or key in CONNECTOR_KEYS or is_worker_key(key) or is_security_key(key)


def is_read(key: str) -> bool:
    """Return whether a connector, a worker or one of their clients reads a setting under this key."""
    option = option_of(key)
    if key.startswith(("source.cluster.", "target.cluster.")):
        return is_security_key(option)
    is_known = option in CLIENTS_OF or is_security_key(option)
    if key != option:
        return is_known
    return key in CONNECTOR_KEYS or reaches_connectors(key) or is_worker_key(key)


def largest_number(key: str) -> int | None:
    """Return the largest value of a setting that is a whole number; None: it is another type."""
    if key in _NUMBERS:
        is_short = key.endswith(".replication.factor")
        return INT if key in _INTS else SHORT if is_short else LONG
    return LONG if option_of(key).endswith(_NUMBER_ENDINGS) else None
