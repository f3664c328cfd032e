"""One Kafka cluster of a lab."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.lab.errors import LabError, NotServing, UnknownNode
from jobs.lab.install.fetch import fetch_jars
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.releases import TieredStorageJars
from jobs.lab.node import Node, ZooKeeper
from jobs.lab.plan import MAX_NODES, ClusterPlan
from jobs.lab.ports import check_free
from jobs.lab.properties import NodePlan
from jobs.lab.security import make_certificates
from jobs.lab.storage import Identity, format_node, run_side_by_side

# Measured: 2 to 5 s; the rest is for a machine that has a lot else to do.
SERVING_S = 120.0
_PROBE_EVERY_S = 0.05
_STOP_S = 15.0
_TRY_S = 1.0
# What Kafka's tool says of a change of voters that may be asked for again, and of an addition that was made.
NOT_YET = (
    "BROKER_NOT_AVAILABLE",
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
    "BrokerNotAvailableException",
    "NotLeaderOrFollowerException",
    "TimeoutException",
)
ADDED_BEFORE = ("DUPLICATE_VOTER", "DuplicateVoterException")


class Cluster:
    """The nodes of a cluster below one folder; an existing folder is taken up with its data.

    `jvms` run the versions of nodes that have another one than the cluster.
    """

    def __init__(
        self, plan: ClusterPlan, folder: Path, jvm: KafkaJvm, jvms: Mapping[str, KafkaJvm] = {}
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.jvm = jvm
        self._jvms = dict(jvms)
        self.zookeeper = (
            ZooKeeper(folder / "zookeeper", jvm, plan.zookeeper_address)
            if plan.has_zookeeper
            else None
        )
        self.nodes: dict[int, Node] = {}
        for node_id in plan.node_ids:
            self._add_node(node_id, is_broker=True)
        if self._identity_file.exists():
            for node_id in self.identity.added_controllers:
                self._add_node(node_id, is_broker=False)

    @property
    def identity(self) -> Identity:
        """The ids of the cluster and its log directories; made when first asked for."""
        return Identity.read_or_make(self._identity_file, self.plan.node_ids)

    @property
    def cluster_id(self) -> str | None:
        """Kafka's id of the cluster; None before the first start with ZooKeeper."""
        if self.zookeeper is None:
            return self.identity.cluster_id
        return next((node.cluster_id for node in self.nodes.values() if node.cluster_id), None)

    @property
    def bootstrap_servers(self) -> str:
        """The plaintext addresses of all brokers."""
        return self.plan.bootstrap_servers()

    @property
    def connection(self) -> Connection:
        """How crosslog reaches the cluster."""
        return self.plan.connection

    def node(self, node_id: int) -> Node:
        """Return a node; raises `UnknownNode`."""
        if node_id not in self.nodes:
            have = ", ".join(node.name for node in self.nodes.values())
            raise UnknownNode(f"{self.plan.alias} has no node {node_id}: it has {have}.")
        return self.nodes[node_id]

    def prepare(self) -> None:
        """Make what the nodes need before they are formatted."""
        self.identity.write(self._identity_file)
        if self.plan.is_secure:
            make_certificates(self.jvm.java, self.folder / "certificates")
        if self.plan.tiered:
            fetch_jars(self.jvm.java, TieredStorageJars(self.plan.kafka))

    def format(self) -> None:
        """Format every node that is not formatted yet."""
        self.prepare()
        identity = self.identity
        run_side_by_side([partial(format_node, node, identity) for node in self.nodes.values()])

    def check_ports(self) -> None:
        """Raise `PortTaken` when another program has one of the ports of a node that is not running."""
        if self.zookeeper and self.zookeeper.pid is None:
            check_free([self.plan.port("CONTROLLER", 1)])
        for node in self.nodes.values():
            if not node.is_running:
                names = self.plan.listeners if node.plan.is_broker else ("CONTROLLER",)
                check_free([self.plan.port(name, node.plan.node_id) for name in names])

    def start(self, timeout_s: float = SERVING_S) -> None:
        """Format what is new, start every node and wait until the cluster serves."""
        self.check_ports()
        self.format()
        self.start_nodes()
        self.wait_until_serving(timeout_s)

    def start_nodes(self) -> None:
        """Start every node without waiting; a ZooKeeper serves before the first one starts."""
        if self.zookeeper:
            self.zookeeper.start(SERVING_S)
        for node in self.nodes.values():
            node.start()

    def wait_until_serving(self, timeout_s: float = SERVING_S) -> None:
        """Wait until every running node answers and knows every running broker as live.

        Raises `NotServing` when that takes too long or a node ends by itself.
        """
        waiting = {
            i: node for i, node in self.nodes.items() if node.is_running and not node.is_paused
        }
        # A standby broker is fenced by design: it need not be known as live.
        brokers = frozenset(
            i for i, node in waiting.items() if node.plan.is_broker and not node.plan.is_standby
        )
        end = time.monotonic() + timeout_s
        while waiting:
            waiting = {i: node for i, node in waiting.items() if not node.serves(brokers)}
            if waiting and time.monotonic() > end:
                late = ", ".join(f"{node.name} (log {node.log})" for node in waiting.values())
                raise NotServing(f"Not serving within {timeout_s:.0f} s: {late}.")
            time.sleep(_PROBE_EVERY_S)

    def stop(self) -> None:
        """Stop every node in order, all at once; what hangs is killed."""
        self.ask_to_stop()
        self.wait_until_stopped()

    def ask_to_stop(self) -> None:
        """Tell every broker to stop; added controllers continue, a stopping broker needs a quorum."""
        for node in self.nodes.values():
            if node.plan.is_broker:
                node.ask_to_stop()

    def wait_until_stopped(self) -> None:
        """Wait until every broker has ended, then stop the added controllers; what hangs is killed."""
        end = time.monotonic() + _STOP_S
        for node in self.nodes.values():
            if not node.plan.is_broker:
                node.ask_to_stop()
            if not node.has_ended_within(max(0.1, end - time.monotonic())):
                node.kill()
        if self.zookeeper:
            self.zookeeper.stop()

    def kill(self) -> None:
        """Kill every node at once."""
        for node in self.nodes.values():
            node.kill()
        if self.zookeeper:
            self.zookeeper.kill()

    def upgrade_node(
        self, node_id: int, jvm: KafkaJvm, timeout_s: float = SERVING_S
    ) -> ClusterPlan:
        """Stop a node, start it with another version and wait until it serves: a rolling upgrade's step.

        Returns the new plan. The features of the cluster stay as they are.
        """
        versions = {**self.plan.node_versions, node_id: jvm.release.version}
        plan = replace(self.plan, node_versions=versions)
        old = self.node(node_id)
        old.stop()
        self.plan, self._jvms[jvm.release.version] = plan, jvm
        self._add_node(node_id, is_broker=old.plan.is_broker).start()
        self.wait_until_serving(timeout_s)
        return plan

    def add_controller(self, timeout_s: float = SERVING_S) -> Node:
        """Add a controller to the running quorum: format, start, add as voter. Returns its node."""
        if self.zookeeper or not self.jvm.release.has_dynamic_quorum:
            raise LabError(
                f"{self.plan.alias} runs Kafka {self.plan.kafka} and has "
                f"{'a ZooKeeper' if self.zookeeper else 'a static quorum'}: voters are added from "
                "Kafka 3.9 on."
            )
        node_id = max(self.nodes) + 1
        if node_id > MAX_NODES:
            raise LabError(
                f"{self.plan.alias} has {len(self.nodes)} nodes already, no ports are left."
            )
        node = self._add_node(node_id, is_broker=False)
        identity = self.identity
        identity.added_controllers.append(node_id)
        identity.write(self._identity_file)
        format_node(node, identity)
        node.start()
        self.wait_until_serving(timeout_s)
        self._add_voter(node, timeout_s)
        return node

    def _add_voter(self, node: Node, timeout_s: float = SERVING_S) -> None:
        """Add a running controller to the voters, again while the leader does not reach it yet."""
        end = time.monotonic() + timeout_s
        fine: tuple[str, ...] = ()
        while (said := self._try_to_add(node)) and not any(word in said for word in fine):
            if not any(word in said for word in NOT_YET) or time.monotonic() > end:
                raise LabError(f"{node.name} runs, but is no voter: {said.strip()[-600:]}")
            # An addition that was not answered in time may have been made.
            fine = ADDED_BEFORE
            time.sleep(_TRY_S)

    def _try_to_add(self, node: Node) -> str | None:
        """Run Kafka's tool; returns what it says where it fails, None: the node is a voter."""
        arguments = ["--bootstrap-server", self.bootstrap_servers, "--command-config"]
        arguments += [str(node.properties), "add-controller"]
        quiet = node.plan.folder / "log4j2-tool.properties"
        with self.jvm.start_tool(
            "org.apache.kafka.tools.MetadataQuorumCommand", arguments, logging=quiet
        ) as tool:
            said, _ = tool.communicate()
        return None if tool.returncode == 0 else str(said) or "nothing"

    def _add_node(self, node_id: int, *, is_broker: bool) -> Node:
        folder = self.folder / f"node-{node_id}"
        own = self.plan.node_overrides.get(node_id, {})
        jvm = self._jvms.get(self.plan.release(node_id).version, self.jvm)
        self.nodes[node_id] = Node(NodePlan(self.plan, node_id, folder, is_broker, own), jvm)
        return self.nodes[node_id]

    @property
    def _identity_file(self) -> Path:
        return self.folder / "cluster.json"
