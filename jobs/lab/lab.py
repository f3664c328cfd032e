"""A lab: a folder with a few clusters in it, all of them on this machine."""

from __future__ import annotations

import atexit
import json
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jobs.lab.cluster import SERVING_S, Cluster
from jobs.lab.errors import LabError, UnknownNode
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.install.releases import VERSIONS
from jobs.lab.node import Node
from jobs.lab.plan import ClusterPlan
from jobs.lab.storage import format_node, run_side_by_side

_FILE = "lab.json"
Say = Callable[[str], None]


class Lab:
    """Clusters below one folder. As a context manager it starts and stops them.

    A folder that holds a lab already is taken up with its data; its plans win when none are given.
    `jvm` runs the newest of the lab's versions, as it does MirrorMaker 2 and Streams.
    """

    def __init__(
        self, root: Path, plans: Sequence[ClusterPlan] = (), *, jvm: KafkaJvm | None = None
    ) -> None:
        self.root = root.resolve()
        self.plans = _agreed_plans(self.root, list(plans))
        versions = frozenset[str]().union(*(plan.versions for plan in self.plans))
        given = {jvm.release.version: jvm} if jvm else {}
        jvms = {version: given.get(version) or kafka_jvm(version) for version in versions}
        self.jvm = jvms[max(versions, key=VERSIONS.index)]
        self.clusters = {
            plan.alias: Cluster(plan, self.root / plan.alias, jvms[plan.kafka], jvms)
            for plan in self.plans
        }

    def cluster(self, alias: str) -> Cluster:
        """Return a cluster; raises `UnknownNode`."""
        if alias not in self.clusters:
            raise UnknownNode(
                f"There is no cluster {alias} in this lab: {', '.join(self.clusters)}."
            )
        return self.clusters[alias]

    def node(self, name: str) -> Node:
        """Return a node by its name, e.g. `east-1`; raises `UnknownNode`."""
        alias, _, number = name.rpartition("-")
        if not number.isdecimal() or alias not in self.clusters:
            have = ", ".join(node.name for c in self.clusters.values() for node in c.nodes.values())
            raise UnknownNode(f"There is no node {name} in this lab: {have}.")
        return self.clusters[alias].node(int(number))

    def upgrade_node(self, name: str, version: str) -> Node:
        """Restart a node with another version of Kafka: a step of a rolling upgrade, kept in the plans."""
        node = self.node(name)
        cluster = self.cluster(node.plan.cluster.alias)
        plan = cluster.upgrade_node(node.plan.node_id, kafka_jvm(version))
        self.plans = [plan if one.alias == plan.alias else one for one in self.plans]
        self._write_plans()
        return self.node(name)

    def start(self, timeout_s: float = SERVING_S, say: Say = lambda text: None) -> None:
        """Format what is new, start all nodes of all clusters and wait until they serve."""
        for cluster in self.clusters.values():
            cluster.check_ports()
        self._write_plans()
        atexit.register(self.stop)
        try:
            self._start(timeout_s, say)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop all nodes in order; what hangs is killed."""
        atexit.unregister(self.stop)
        # No threads here: this also runs at exit, when Python starts none any more.
        for cluster in self.clusters.values():
            cluster.ask_to_stop()
        for cluster in self.clusters.values():
            cluster.wait_until_stopped()

    def kill(self) -> None:
        """Kill all nodes at once."""
        atexit.unregister(self.stop)
        for cluster in self.clusters.values():
            cluster.kill()

    def wipe(self) -> None:
        """Stop and delete the lab with all its data."""
        self.stop()
        wipe(self.root)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self, timeout_s: float, say: Say) -> None:
        began = time.monotonic()
        self._format()
        say(f"formatted after {time.monotonic() - began:.1f} s")
        for cluster in self.clusters.values():
            cluster.start_nodes()
        for alias, cluster in self.clusters.items():
            cluster.wait_until_serving(timeout_s)
            say(
                f"{alias} serves at {cluster.bootstrap_servers} after {time.monotonic() - began:.1f} s"
            )

    def _format(self) -> None:
        """Format the nodes of all clusters together, so that every core has something to do."""
        steps: list[Callable[[], object]] = []
        for cluster in self.clusters.values():
            cluster.prepare()
            identity = cluster.identity
            steps += [partial(format_node, node, identity) for node in cluster.nodes.values()]
        run_side_by_side(steps)

    def _write_plans(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        values = {"clusters": [plan.to_mapping() for plan in self.plans]}
        (self.root / _FILE).write_text(json.dumps(values, indent=1), encoding="utf-8")


def read_plans(root: Path) -> list[ClusterPlan]:
    """Return the plans of the lab in a folder; an empty list where there is none."""
    try:
        text = (root / _FILE).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [ClusterPlan.from_mapping(values) for values in json.loads(text)["clusters"]]


def wipe(root: Path) -> None:
    """Delete a lab's folder; refuses a folder that holds no lab."""
    if not read_plans(root):
        raise LabError(f"There is no lab in {root}: nothing was deleted.")
    shutil.rmtree(root)


def lab_status(lab: Lab) -> dict[str, Any]:
    """Return the clusters and nodes of a lab that runs in this process."""
    return {
        "dir": str(lab.root),
        "is_running": True,
        "clusters": [_cluster_status(cluster) for cluster in lab.clusters.values()],
    }


def stopped_status(root: Path) -> dict[str, Any]:
    """Return the status of a lab without a keeper; without clusters where there is none."""
    clusters = [
        {
            "alias": plan.alias,
            "kafka": plan.kafka,
            "bootstrap_servers": plan.bootstrap_servers(),
            "nodes": [],
        }
        for plan in read_plans(root)
    ]
    return {"dir": str(root), "is_running": False, "clusters": clusters}


def _cluster_status(cluster: Cluster) -> dict[str, Any]:
    return {
        "alias": cluster.plan.alias,
        "cluster_id": cluster.cluster_id,
        "kafka": cluster.plan.kafka,
        "bootstrap_servers": cluster.bootstrap_servers,
        "nodes": [_node_status(node) for node in cluster.nodes.values()],
    }


def _node_status(node: Node) -> dict[str, Any]:
    """Return one node; `state` is `serving`, `starting`, `paused` or `stopped`."""
    return {
        "name": node.name,
        "kafka": node.jvm.release.version,
        "state": node.state(),
        "pid": node.pid,
        "address": node.plan.address,
        "rack": node.plan.cluster.rack(node.plan.node_id) if node.plan.is_broker else None,
        "roles": "broker,controller" if node.plan.is_broker else "controller",
        "log": str(node.log),
    }


def _agreed_plans(root: Path, wanted: list[ClusterPlan]) -> list[ClusterPlan]:
    there = read_plans(root)
    if wanted and there and wanted != there:
        raise LabError(
            f"{root} holds a lab with other clusters, nodes, ports or settings. Start it without options "
            "to continue with its data, wipe it, or choose another folder."
        )
    if not wanted and not there:
        raise LabError(f"There is no lab in {root}.")
    return wanted or there
