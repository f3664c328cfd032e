"""Flows as Strimzi's KafkaMirrorMaker2 (v1), a resource per target. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from jobs.replication.mirror_config.naming import overridden_aliases
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.read.strimzi import PATTERNS, WORKER_DEFAULTS, WORKER_FIELDS
from jobs.replication.mirror_config.redaction import jaas_option
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Form,
    Kind,
    MirrorFlow,
    Value,
)

# Source: KafkaMirrorMaker2ClusterSpec: what a `config` section must not hold.
_FORBIDDEN = (
    "ssl.",
    "sasl.",
    "security.",
    "listeners",
    "plugin.path",
    "rest.",
    "bootstrap.servers",
)
_ALLOWED = (
    "ssl.endpoint.identification.algorithm",
    "ssl.cipher.suites",
    "ssl.protocol",
    "ssl.enabled.protocols",
)
_SECTIONS = {
    "sourceConnector": ConnectorClass.SOURCE,
    "checkpointConnector": ConnectorClass.CHECKPOINT,
}
_REFERENCE = re.compile(r"\$\{secret:([^:}]*):([^:}]*)\}")
_OWN = {"name", "connector.class", "tasks.max", "source.cluster.alias", "target.cluster.alias"}


def to_strimzi(flows: Sequence[MirrorFlow], config: MirrorConfig) -> tuple[str, list[str]]:
    """Return a resource for every target as YAML documents, and notes."""
    del config
    notes: list[str] = []
    enabled = [flow for flow in flows if flow.is_enabled]
    targets: dict[str, list[MirrorFlow]] = {}
    for flow in enabled:
        targets.setdefault(flow.target, []).append(flow)
    resources = [_resource(target, members, notes) for target, members in targets.items()]
    if any(flow.has_heartbeats for flow in flows):
        notes.append(
            "The heartbeat connector is left out: Strimzi's v1 has none; run it by a KafkaConnector resource."
        )
    return yaml.safe_dump_all(resources, sort_keys=False, width=1000), notes


def _resource(target: str, flows: Sequence[MirrorFlow], notes: list[str]) -> dict[str, Any]:
    connectors = [connector for flow in flows for connector in flow.connectors]
    name = re.sub(r"[^a-z0-9-]+", "-", f"mirror-to-{target}".lower()).strip("-")
    main = _cluster("target", target, connectors[0], notes)
    worker = flows[0].worker or {}
    main |= {field: _worker_value(flows[0], key) for field, key in WORKER_FIELDS.items()}
    extra = {
        key: value.value
        for key, value in worker.items()
        if flows[0].form is Form.STRIMZI
        and value.kind is Kind.KEY
        and key not in WORKER_FIELDS.values()
    }
    if extra or "config" in main:
        main["config"] = {**main.get("config", {}), **extra}
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaMirrorMaker2",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "target": main,
            "mirrors": [_mirror(flow, notes) for flow in flows],
        },
    }


def _worker_value(flow: MirrorFlow, key: str) -> str:
    worker = flow.worker or {}
    return worker[key].value if key in worker else WORKER_DEFAULTS[key]


def _mirror(flow: MirrorFlow, notes: list[str]) -> dict[str, Any]:
    source = flow.first(ConnectorClass.SOURCE)
    assert source is not None  # noqa: S101  the flow is enabled
    mirror: dict[str, Any] = {"source": _cluster("source", flow.source, source, notes)}
    shared = {key: _pattern(flow, key) for key in PATTERNS}
    mirror |= {PATTERNS[key][0]: text for key, text in shared.items() if text is not None}
    for section, kind in _SECTIONS.items():
        connector = flow.first(kind)
        if connector is None:
            continue
        mirror[section] = _section(connector, shared, overridden_aliases(flow, connector))
        if len(flow.of(kind)) > 1:
            notes.append(
                f"{flow.name} has several connectors of class {kind.value}: only one is written."
            )
    return mirror


def _pattern(flow: MirrorFlow, key: str) -> str | None:
    """Return a filter that all connectors of a flow share; None when it is unset, or differs."""
    found = {
        c.get(key) for c in flow.connectors if key in c.config and c.kind in _SECTIONS.values()
    }
    is_set = any(
        key in c.config and c.config[key].kind is not Kind.DEFAULT for c in flow.connectors
    )
    return found.pop() if is_set and len(found) == 1 else None


def _section(
    connector: Connector, shared: Mapping[str, str | None], aliases: dict[str, str]
) -> dict[str, Any]:
    config = {
        key: value.value
        for key, value in sorted(connector.config.items())
        if value.kind is not Kind.DEFAULT
        and key not in _OWN
        and not key.startswith(("source.cluster.", "target.cluster."))
        and shared.get(key) is None
    } | aliases
    section: dict[str, Any] = {}
    if connector.config["tasks.max"].kind is not Kind.DEFAULT:
        text = connector.get("tasks.max").strip()
        section["tasksMax"] = int(text) if text.isdecimal() else text
    if config:
        section["config"] = config
    return section


def _cluster(side: str, alias: str, connector: Connector, notes: list[str]) -> dict[str, Any]:
    prefix = f"{side}.cluster."
    values = {
        key.removeprefix(prefix): value
        for key, value in connector.config.items()
        if key.startswith(prefix)
    }
    servers = values.get("bootstrap.servers")
    found: dict[str, Any] = {"alias": alias, "bootstrapServers": servers.value if servers else ""}
    found |= _security(alias, values, notes)
    config = {
        key: value.value
        for key, value in sorted(values.items())
        if key != "alias"
        and value.kind is not Kind.DEFAULT
        and (key in _ALLOWED or not key.startswith(_FORBIDDEN))
    }
    return {**found, "config": config} if config else found


def _security(alias: str, values: Mapping[str, Value], notes: list[str]) -> dict[str, Any]:
    protocol = _text(values, "security.protocol").upper() or "PLAINTEXT"
    found: dict[str, Any] = {}
    if protocol.endswith("SSL"):
        found["tls"] = {"trustedCertificates": [{"secretName": f"{alias}-ca", "pattern": "*.crt"}]}
        notes.append(
            f"{alias}: put its CA into a Secret {alias}-ca, or name the one that there is."
        )
    if protocol.startswith("SASL"):
        found["authentication"] = _login(alias, values, notes)
    elif _text(values, "ssl.keystore.location"):
        key = {"secretName": f"{alias}-client", "certificate": "user.crt", "key": "user.key"}
        found["authentication"] = {"type": "tls", "certificateAndKey": key}
        notes.append(f"{alias}: put the client's certificate and key into a Secret {alias}-client.")
    return found


def _login(alias: str, values: Mapping[str, Value], notes: list[str]) -> dict[str, Any]:
    mechanism = _text(values, "sasl.mechanism").upper()
    jaas = _text(values, "sasl.jaas.config")
    kinds = {"PLAIN": "plain", "SCRAM-SHA-256": "scram-sha-256", "SCRAM-SHA-512": "scram-sha-512"}
    if mechanism not in kinds:
        notes.append(
            f"{alias}: {mechanism or 'its SASL mechanism'} has to be set up by hand in Strimzi."
        )
        return {"type": "custom", "sasl": True, "config": {"sasl.mechanism": mechanism}}
    reference = _REFERENCE.search(jaas)
    name, key = reference.groups() if reference else (f"{alias}-password", "password")
    if reference is None:
        notes.append(f"{alias}: put the password into a Secret {name}, under the key {key}.")
    return {
        "type": kinds[mechanism],
        "username": jaas_option(jaas, "username"),
        "passwordSecret": {"secretName": name, "password": key},
    }


def _text(values: Mapping[str, Value], key: str) -> str:
    found = values.get(key)
    return found.value.strip() if found else ""
