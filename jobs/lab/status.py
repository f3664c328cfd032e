"""What a lab looks like right now, as JSON values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab, read_plans
from jobs.lab.node import Node


def lab_status(lab: Lab) -> dict[str, Any]:
    """Return the clusters and nodes of a lab that runs in this process."""
    return {
        "dir": str(lab.root),
        "is_running": True,
        "clusters": [_cluster_status(cluster) for cluster in lab.clusters.values()],
    }


def stopped_status(root: Path) -> dict[str, Any]:
    """Return the status of a lab that nobody keeps; without clusters where there is none."""
    clusters = [
        {"alias": plan.alias, "bootstrap_servers": plan.bootstrap_servers(), "nodes": []}
        for plan in read_plans(root)
    ]
    return {"dir": str(root), "is_running": False, "clusters": clusters}


def _cluster_status(cluster: Cluster) -> dict[str, Any]:
    return {
        "alias": cluster.plan.alias,
        "cluster_id": cluster.identity.cluster_id,
        "bootstrap_servers": cluster.bootstrap_servers,
        "nodes": [_node_status(node) for node in cluster.nodes.values()],
    }


def _node_status(node: Node) -> dict[str, Any]:
    """Return one node; `state` is `serving`, `starting`, `paused` or `stopped`."""
    return {
        "name": node.name,
        "state": node.state(),
        "pid": node.pid,
        "address": node.plan.address,
        "rack": node.plan.cluster.rack(node.plan.node_id) if node.plan.is_broker else None,
        "roles": "broker,controller" if node.plan.is_broker else "controller",
        "log": str(node.log),
    }
