"""What a configuration means, as JSON values: the shape that programs rely on (docs/automation.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jobs.replication.mirror_config.naming import topic_names
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.values import (
    Config,
    Connector,
    Deployment,
    Finding,
    MirrorFlow,
    Pair,
    Value,
    pair_name,
)


def report(
    config: MirrorConfig, findings: Sequence[Finding], only: Pair | None = None
) -> dict[str, Any]:
    """Return everything as JSON values; `only` leaves other flows out."""
    flows = [flow for flow in config.flows if only in (None, (flow.source, flow.target))]
    return {
        "files": [_file(deployment) for deployment in config.deployments],
        "clusters": clusters(config),
        "cluster_pairs": [pair_name(p) for p in dict.fromkeys(_pairs(config))],
        "topology": topology(config),
        "flows": [flow_values(flow) for flow in flows],
        "findings": [finding_values(finding) for finding in findings],
    }


def _pairs(config: MirrorConfig) -> Iterable[Pair]:
    return (pair for deployment in config.deployments for pair in deployment.pairs)


def _file(deployment: Deployment) -> dict[str, Any]:
    return {
        "file": deployment.file,
        "form": deployment.form.value,
        "clusters": list(deployment.clusters),
        "settings": len(deployment.entries),
    }


def clusters(config: MirrorConfig) -> dict[str, dict[str, Any]]:
    """Return the clusters by alias, with the address and its origin; null when no file tells it."""
    found: dict[str, dict[str, Any]] = {}
    for deployment in config.deployments:
        for alias in deployment.clusters:
            value = deployment.bootstrap.get(alias)
            if alias not in found or found[alias]["bootstrap_servers"] is None:
                found[alias] = {
                    "bootstrap_servers": value.value if value else None,
                    "origin": value.origin if value else None,
                }
    return found


def topology(config: MirrorConfig) -> dict[str, Any]:
    """Return the graph: clusters, and the pairs that copy or only send heartbeats."""
    edges: dict[Pair, dict[str, Any]] = {}
    for flow in config.flows:
        if not flow.is_enabled and not flow.has_heartbeats:
            continue
        edge = edges.setdefault(
            (flow.source, flow.target),
            {"source": flow.source, "target": flow.target, "copies": False, "heartbeats": False},
        )
        edge["copies"] = edge["copies"] or flow.is_enabled
        edge["heartbeats"] = edge["heartbeats"] or flow.has_heartbeats
    return {"clusters": list(clusters(config)), "flows": list(edges.values())}


def flow_values(flow: MirrorFlow) -> dict[str, Any]:
    """Return one flow with every effective value of its connectors and its worker."""
    return {
        "flow": flow.name,
        "source": flow.source,
        "target": flow.target,
        "file": flow.file,
        "form": flow.form.value,
        "enabled": flow.is_enabled,
        "heartbeats": flow.has_heartbeats,
        "names": names_of(flow),
        "connectors": [_connector(connector) for connector in flow.connectors],
        "worker": None if flow.worker is None else config_values(flow.worker),
    }


def names_of(flow: MirrorFlow) -> dict[str, Any] | None:
    """Return what topics of a flow are called; None for a policy that is not known."""
    names = topic_names(flow)
    if names is None:
        return None
    return {
        "remote_topic_of_orders": names.remote_orders,
        "offset_syncs": names.offset_syncs,
        "offset_syncs_on": names.offset_syncs_on,
        "checkpoints": names.checkpoints,
        "heartbeats": names.heartbeats,
    }


def _connector(connector: Connector) -> dict[str, Any]:
    return {
        "class": connector.kind.value,
        "name": connector.name,
        "config": config_values(connector.config),
    }


def config_values(config: Config) -> dict[str, dict[str, Any]]:
    """Return effective values by key, each with where it comes from."""
    return {key: value_of(config[key]) for key in sorted(config)}


def value_of(value: Value) -> dict[str, Any]:
    """Return a value; `provenance` is the key that gave it or `default`, `origin` a text for people."""
    entry = value.entry
    return {
        "value": value.value,
        "provenance": value.provenance,
        "origin": value.origin,
        "kind": value.kind.value,
        "file": entry.file if entry else None,
        "line": entry.line if entry else None,
        "secret": value.is_secret,
    }


def finding_values(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "text": finding.text,
        "do": finding.do,
        "where": finding.where,
        "key": finding.key,
        "flow": finding.flow,
    }
