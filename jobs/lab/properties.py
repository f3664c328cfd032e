"""A node's `server.properties` and logging, made from the plan. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.lab.install.releases import KafkaRelease, TieredStorageJars
from jobs.lab.plan import ClusterPlan
from jobs.lab.security import secure_properties

# Measured: the smaller cleaner buffer alone saves 120 MB per node, fewer threads and internal
# partitions make a node serve sooner. Nothing here changes what Kafka does, but for the last line:
# a transaction whose producer died ends soon after its timeout, not up to ten seconds later.
_SMALL = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": str(8 << 20),
    "offsets.topic.num.partitions": "10",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}

_SESSION_MS = 9_000
# ZooKeeper ends a session at the next tick after its timeout, which is at least two ticks.
_ZOOKEEPER_SESSION_MS, TICK_MS = 4_000, 500
SESSION_OVER_S = (_ZOOKEEPER_SESSION_MS + 2 * TICK_MS) / 1000


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node of a cluster; `is_broker` is False for a controller that was added later.

    `overrides` are settings of this node alone, which win over all others.
    """

    cluster: ClusterPlan
    node_id: int
    folder: Path
    is_broker: bool = True
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """The node's log directory."""
        return self.folder / "data"

    @property
    def address(self) -> str:
        """Where the node answers first: its client listener, or its controller listener."""
        return self.cluster.address("PLAINTEXT" if self.is_broker else "CONTROLLER", self.node_id)

    @property
    def is_standby(self) -> bool:
        """Whether it is a fenced standby broker: its own heartbeats come more seldom than a session lasts."""
        settings = dict(self.cluster.overrides) | dict(self.overrides)
        session_ms = int(settings.get("broker.session.timeout.ms", _SESSION_MS))
        return int(settings.get("broker.heartbeat.interval.ms", 0)) > session_ms


def server_properties(node: NodePlan) -> dict[str, str]:
    """Return the settings of a node, the plan's overrides last, those of the node itself very last."""
    plan = node.cluster
    names = plan.listeners if node.is_broker else ("CONTROLLER",)
    is_dynamic = KafkaRelease(plan.kafka).has_dynamic_quorum
    # Before 3.9 a broker that advertises a controller's listener does not start.
    advertised = [name for name in names if name != "CONTROLLER" or is_dynamic]
    listeners = ",".join(f"{name}://{plan.address(name, node.node_id)}" for name in names)
    settings = {
        **(_zookeeper(node) if plan.has_zookeeper else _kraft(node)),
        "listeners": listeners,
        "advertised.listeners": ",".join(
            f"{name}://{plan.address(name, node.node_id)}" for name in advertised
        ),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name == 'CONTROLLER' else name}" for name in plan.listeners
        ),
        "log.dirs": str(node.data),
    }
    if node.is_broker:
        settings["inter.broker.listener.name"] = "PLAINTEXT"
        if rack := plan.rack(node.node_id):
            settings["broker.rack"] = rack
    if plan.is_secure:
        settings |= secure_properties(
            node.folder.parent / "certificates", zookeeper=plan.has_zookeeper
        )
    if plan.tiered and node.is_broker:
        settings |= _tiered(node)
    settings |= _SMALL | replication_settings(plan.nodes) | dict(plan.overrides)
    return settings | dict(node.overrides)


def _tiered(node: NodePlan) -> dict[str, str]:
    """Return remote storage in a folder of all nodes; what Kafka does each 30 s is done each second."""
    plan = node.cluster
    jars = TieredStorageJars(plan.kafka)
    package, metadata = (
        "org.apache.kafka.server.log.remote",
        "rlmm.config.remote.log.metadata.topic",
    )
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": f"{package}.storage.LocalTieredStorage",
        "remote.log.storage.manager.class.path": str(jars.jars_folder / next(iter(jars.jars))),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.manager.task.interval.ms": "1000",
        "rsm.config.dir": str(node.folder.parent / "remote"),
        f"{metadata}.num.partitions": "2",
        f"{metadata}.replication.factor": str(min(3, plan.nodes)),
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",
    }


def _kraft(node: NodePlan) -> dict[str, str]:
    plan = node.cluster
    controllers = {node_id: plan.address("CONTROLLER", node_id) for node_id in plan.node_ids}
    voters = ",".join(f"{node_id}@{address}" for node_id, address in controllers.items())
    is_dynamic = KafkaRelease(plan.kafka).has_dynamic_quorum
    return {
        "process.roles": "broker,controller" if node.is_broker else "controller",
        "node.id": str(node.node_id),
        "controller.listener.names": "CONTROLLER",
        **(
            {"controller.quorum.bootstrap.servers": ",".join(controllers.values())}
            if is_dynamic
            else {"controller.quorum.voters": voters}
        ),
    }


def _zookeeper(node: NodePlan) -> dict[str, str]:
    return {
        "broker.id": str(node.node_id),
        "zookeeper.connect": node.cluster.zookeeper_address,
        "zookeeper.session.timeout.ms": str(_ZOOKEEPER_SESSION_MS),
    }


def replication_settings(nodes: int) -> dict[str, str]:
    """Return what a cluster of this many nodes can keep: three copies, two of them in sync."""
    factor = str(min(3, nodes))
    min_isr = "2" if nodes > 2 else "1"  # noqa: PLR2004  with two nodes, either may be down
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": min_isr,
    }


def render(settings: Mapping[str, str]) -> str:
    """Return a Java properties file: one setting per line, backslashes doubled."""
    return "".join(f"{name}={escaped(value)}\n" for name, value in settings.items())


def escaped(value: str) -> str:
    """Return a value as Java's Properties reads it back; raises ValueError for a line break."""
    if "\n" in value or "\r" in value:
        raise ValueError(f"a setting is one line: {value!r}")
    text = value.replace("\\", "\\\\")
    return "\\" + text if text.startswith(" ") else text


def logging_configuration(level: str) -> str:
    """Return a Log4j 2 configuration that writes to stdout, which is the node's log file.

    A properties file: the YAML reader is not among the jars of older versions.
    """
    return f"""\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %m (%c)%n
rootLogger.level = {level}
rootLogger.appenderRef.out.ref = out
logger.config.name = org.apache.kafka.common.config
logger.config.level = warn
logger.authenticator.name = org.apache.kafka.common.security.authenticator
logger.authenticator.level = info
"""
