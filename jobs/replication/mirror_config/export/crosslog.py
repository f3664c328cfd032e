"""Flows of MirrorMaker 2 as flows of crosslog: what carries over, what does not, and why. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from jobs.cluster.connection import SaslMechanism
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import (
    DEFAULT_CHECKPOINTS_S,
    MAX_TASKS,
    PATTERNS,
    FlowSpec,
    SyncsLocation,
)
from jobs.replication.mirror_config.naming import (
    naming_of,
    overridden_aliases,
    topic_names,
)
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.redaction import jaas_option
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Kind,
    MirrorFlow,
    split_list,
)

_ISOLATION = ("source.consumer.isolation.level", "consumer.isolation.level")
_RACK = ("source.consumer.client.rack", "consumer.client.rack")
_CARRIED = {
    "topics", "topics.exclude", "groups", "groups.exclude", "config.properties.exclude", "topics.blacklist",
    "groups.blacklist", "config.properties.blacklist", "tasks.max", "replication.factor",
    "offset-syncs.topic.location", "emit.offset-syncs.enabled", "sync.topic.configs.enabled",
    "sync.topic.acls.enabled", "refresh.topics.enabled", "emit.checkpoints.enabled",
    "emit.checkpoints.interval.seconds", "sync.group.offsets.enabled",
    "sync.group.offsets.interval.seconds", "emit.heartbeats.enabled", "enabled", "name",
    "connector.class", "heartbeats.replication.enabled", *_ISOLATION, *_RACK,
}  # fmt: skip
_OF_CLUSTERS = (
    "bootstrap.servers", "alias", "security.protocol", "sasl.mechanism", "sasl.jaas.config",
)  # fmt: skip
# By the beginning of a key: why it does not carry over.
_REASONS = {
    "transforms": "crosslog copies records as they are and runs no transformations",
    "predicates": "crosslog copies records as they are and runs no transformations",
    "producer": "crosslog's engine tunes its own clients",
    "consumer": "crosslog's engine tunes its own clients",
    "admin": "crosslog's engine tunes its own clients",
    "source.": "crosslog's engine tunes its own clients",
    "target.": "crosslog's engine tunes its own clients",
    "key.converter": "bytes are never converted",
    "value.converter": "bytes are never converted",
    "header.converter": "bytes are never converted",
    "offset.lag.max": "crosslog writes offset syncs where they are needed to be exact",
    "metric": "metrics are at /metrics of the console",
    "config.providers": "secrets are references to the environment or to files",
    "topic.filter.class": "a custom filter is a program",
    "group.filter.class": "a custom filter is a program",
    "config.property.filter.class": "a custom filter is a program",
}
_OTHERWISE = "crosslog has no such setting"


def to_crosslog(flows: Sequence[MirrorFlow], config: MirrorConfig) -> tuple[str, list[str]]:
    """Return a flow file (YAML) per enabled flow, as documents of one text, and notes."""
    del config
    beating = {(flow.source, flow.target) for flow in flows if flow.has_heartbeats}
    notes: list[str] = []
    documents = []
    for flow in flows:
        source = flow.first(ConnectorClass.SOURCE)
        if source is None or not flow.is_enabled:
            continue
        values = flow_settings(flow, source, (flow.target, flow.source) in beating)
        notes += _not_carried(flow)
        notes += _problems(flow, values)
        documents.append(values)
    return yaml.safe_dump_all(documents, sort_keys=False, width=1000), notes


def flow_settings(flow: MirrorFlow, source: Connector, beats_back: bool) -> dict[str, Any]:  # noqa: FBT001  of the way back
    """Return a flow as `FlowSpec.from_mapping` takes it; defaults are left out."""
    checkpoint, naming = flow.first(ConnectorClass.CHECKPOINT), naming_of(source)
    values: dict[str, Any] = {
        "name": flow.name,
        "source": _connection("source", naming.source or flow.source, source),
        "target": _connection("target", naming.target or flow.target, source),
        **_patterns(source, checkpoint),
        **_naming(source),
        **_sizes(source),
        "offset_syncs": _syncs(source),
        "heartbeats": "both" if beats_back else "target" if flow.has_heartbeats else "none",
        "sync_configs": source.is_true("sync.topic.configs.enabled"),
        "sync_acls": source.is_true("sync.topic.acls.enabled"),
        "grow_partitions": source.is_true("refresh.topics.enabled"),
        **_checkpoints(checkpoint),
    }
    level = _first(source, _ISOLATION)
    if level in {"read_committed", "read_uncommitted"}:
        values["isolation_level"] = level
    rack = _first(source, _RACK)
    return {**values, "client_rack": rack} if rack and "$" not in rack else values


def _connection(side: str, alias: str, connector: Connector) -> dict[str, Any]:
    client = "consumer" if side == "source" else "admin"

    def setting(key: str) -> str:
        # What a client is given for itself is stronger than what is said of the cluster.
        return connector.get(f"{side}.{client}.{key}") or connector.get(f"{side}.cluster.{key}")

    protocol = setting("security.protocol").upper() or "PLAINTEXT"
    secret = re.sub(r"[^A-Z0-9]", "_", alias.upper())
    found: dict[str, Any] = {"alias": alias}
    servers = split_list(setting("bootstrap.servers"))
    found["bootstrap_servers"] = ",".join(s.partition("://")[2] or s for s in servers)
    if protocol != "PLAINTEXT":
        found["security_protocol"] = protocol
    if protocol.startswith("SASL"):
        mechanism = setting("sasl.mechanism").upper()
        found["sasl_mechanism"] = mechanism if mechanism in set(SaslMechanism) else ""
        found["sasl_username"] = jaas_option(setting("sasl.jaas.config"), "username")
        found["sasl_password"] = f"env:CROSSLOG_SECRET_{secret}"
        if mechanism == SaslMechanism.OAUTHBEARER:
            jaas = setting("sasl.jaas.config")
            found["sasl_username"] = jaas_option(jaas, "clientId")
            found["sasl_oauthbearer_token_url"] = setting("sasl.oauthbearer.token.endpoint.url")
            found["sasl_oauthbearer_scope"] = jaas_option(jaas, "scope")
    if protocol.endswith("SSL"):
        found["ssl_ca"] = f"file:{alias}-ca.pem"
        if setting("ssl.keystore.location") or setting("ssl.keystore.key"):
            found |= {"ssl_certificate": f"file:{alias}.pem", "ssl_key": f"file:{alias}-key.pem"}
        if f"{side}.cluster.ssl.endpoint.identification.algorithm" in connector.config:
            found["ssl_check_hostname"] = bool(setting("ssl.endpoint.identification.algorithm"))
    return found


def _patterns(source: Connector, checkpoint: Connector | None) -> dict[str, list[str]]:
    keys = {name: name.replace("_", ".") for name in PATTERNS}
    found = {}
    for name, key in keys.items():
        connector = checkpoint if name.startswith("groups") else source
        if connector is not None and connector.config[key].kind is not Kind.DEFAULT:
            found[name] = connector.patterns(key)
    return found


def _naming(source: Connector) -> dict[str, Any]:
    naming = naming_of(source)
    if naming.keeps_names:
        return {"policy": "identity", "separator": naming.separator or "."}
    separator = naming.separator or "."
    if naming.is_known and not naming.internal_separator and separator != ".":
        return {
            "policy": "custom",
            "custom_policy": {"remote_topic": f"{{source}}{separator}{{topic}}"},
        }
    return {"policy": "default", "separator": separator}


def _sizes(source: Connector) -> dict[str, int]:
    found = {}
    factor = source.config["replication.factor"]
    if factor.value.strip().isdecimal() and int(factor.value) > 0:
        found["replication_factor"] = int(factor.value)
    tasks = source.get("tasks.max").strip()
    if tasks.isdecimal():
        found["tasks"] = max(1, min(int(tasks), MAX_TASKS))
    return found


def _syncs(source: Connector) -> str:
    if source.get("emit.offset-syncs.enabled").lower() == "false":
        return "none"
    return "target" if source.get("offset-syncs.topic.location") == "target" else "source"


def _checkpoints(checkpoint: Connector | None) -> dict[str, Any]:
    if checkpoint is None or not checkpoint.is_true("emit.checkpoints.enabled"):
        return {"emit_checkpoints_interval_s": 0}
    return {
        "emit_checkpoints_interval_s": _seconds(checkpoint, "emit.checkpoints.interval.seconds"),
        "sync_group_offsets": checkpoint.is_true("sync.group.offsets.enabled"),
        "sync_group_offsets_interval_s": _seconds(
            checkpoint, "sync.group.offsets.interval.seconds"
        ),
    }


def _seconds(connector: Connector, key: str) -> int:
    text = connector.get(key).strip()
    return max(1, int(text)) if text.isdecimal() else DEFAULT_CHECKPOINTS_S


def _first(connector: Connector, keys: Sequence[str]) -> str:
    return next((connector.get(key).strip().lower() for key in keys if connector.get(key)), "")


def _not_carried(flow: MirrorFlow) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for connector in flow.connectors:
        for key, value in connector.config.items():
            if value.kind is Kind.DEFAULT or key in _CARRIED or value.rule.startswith("copied to"):
                continue
            rest = key.removeprefix("source.cluster.").removeprefix("target.cluster.")
            if (
                key.startswith("replication.policy.")
                or rest in _OF_CLUSTERS
                or rest.startswith("ssl.")
            ):
                continue
            why = next(
                (text for start, text in _REASONS.items() if key.startswith(start)), _OTHERWISE
            )
            reasons.setdefault(why, []).append(key)
    found = [
        f"{flow.name}: {', '.join(dict.fromkeys(keys))}: {why}." for why, keys in reasons.items()
    ]
    source = flow.first(ConnectorClass.SOURCE)
    return [*found, *(_changes(flow, source) if source else [])]


def _changes(flow: MirrorFlow, source: Connector) -> list[str]:
    found = [
        f"{flow.name}: {key} is {alias}, and so is the alias in this flow: topics keep their names."
        for key, alias in overridden_aliases(flow, source).items()
        if alias
    ]
    if not _first(source, _ISOLATION):
        found.append(
            f"{flow.name}: MirrorMaker 2 reads records of open and aborted transactions unless told "
            "otherwise; this flow reads committed ones only (isolation_level)."
        )
    if source.is_true("sync.topic.configs.enabled") and source.get("use.defaults.from") == "target":
        found.append(
            f"{flow.name}: MirrorMaker 2 deletes settings that only the remote topic has; this flow leaves "
            "them (delete_target_overrides)."
        )
    if not naming_of(source).is_known:
        found.append(
            f"{flow.name}: its policy is a program; the default policy is written. Describe the names by "
            "templates (policy: custom) before it starts."
        )
    if source.get("replication.factor").strip() == "-1":
        found.append(
            f"{flow.name}: a replication factor of -1 is the target's default; this flow takes the source's."
        )
    return found


def _problems(flow: MirrorFlow, values: Mapping[str, Any]) -> list[str]:
    """Return what has to be filled in before crosslog takes the flow, and names that differ in it."""
    try:
        spec = FlowSpec.from_mapping(values)
    except InvalidFields as error:
        return [f"{flow.name}: {field}: {text}" for field, text in error.errors.items()]
    names, policy = topic_names(flow), policy_of(spec)
    if names is None:
        return []
    on_source = spec.offset_syncs is SyncsLocation.SOURCE
    syncs = policy.offset_syncs_topic(spec.target.alias if on_source else spec.source.alias)
    pairs = [(names.remote_orders, policy.format_remote_topic(spec.source.alias, "orders"))]
    if spec.offset_syncs is not SyncsLocation.NONE:
        pairs.append((names.offset_syncs, syncs))
    if spec.emit_checkpoints_interval_s:
        pairs.append((names.checkpoints, policy.checkpoints_topic(spec.source.alias)))
    return [
        f"{flow.name}: names differ: MirrorMaker 2 has {theirs}, this flow {ours}."
        for theirs, ours in pairs
        if theirs != ours
    ]
