"""What dedicated MirrorMaker 2 makes of mm2.properties: pairs, connectors and workers.

Source: MirrorMakerConfig (clusterPairs, clusterProps, connectorBaseConfig, workerConfig). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.values import (
    ARROW,
    Connector,
    ConnectorClass,
    Entry,
    Form,
    MirrorFlow,
    Pair,
    Value,
    default,
    derived,
    is_true,
    ordered_pairs,
    pair_name,
    split_list,
    trim,
    written,
)

_CLIENT_KEY = re.compile(r"^(consumer|producer|admin)")
_CLIENTS = ("producer.", "consumer.", "admin.")
HEARTBEATS = "emit.heartbeats.enabled"
STORAGE_TOPICS = {"offset": "offsets", "status": "status", "config": "configs"}


class Settings:
    """The settings of one mm2.properties, the last one of each key, with look-ups by prefix."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.by_key = {entry.key: entry for entry in entries}
        self._of_pairs = {key: e for key, e in self.by_key.items() if ARROW in key}
        self._clusters: dict[str, dict[str, Value]] = {}

    def get(self, key: str) -> str | None:
        """Return a value as it is written."""
        found = self.by_key.get(key)
        return None if found is None else found.value

    def clusters(self) -> list[str]:
        """Return the aliases, each once."""
        return [name for name in dict.fromkeys(split_list(self.get("clusters") or "")) if name]

    def below(self, prefix: str) -> dict[str, Entry]:
        """Return the settings with this prefix, without it."""
        start = len(prefix)
        found = self._of_pairs if ARROW in prefix else self.by_key
        return {k[start:]: e for k, e in found.items() if k.startswith(prefix) and len(k) > start}

    def beginning_with(self, prefix: str) -> dict[str, Entry]:
        """Return the settings with this prefix, under their whole names."""
        return {key: entry for key, entry in self.by_key.items() if key.startswith(prefix)}

    def of_pair(self, pair: Pair, key: str) -> Entry | None:
        """Return a setting of a flow: its own, or the one for all."""
        return self.by_key.get(f"{pair_name(pair)}.{key}") or self.by_key.get(key)

    def of_cluster(self, alias: str) -> dict[str, Value]:
        """Return the settings of a cluster, see `cluster_values`."""
        if alias not in self._clusters:
            self._clusters[alias] = cluster_values(self, alias)
        return self._clusters[alias]


def is_started(settings: Settings, pair: Pair) -> bool:
    """Return whether MirrorMaker 2 starts a herder for a pair.

    It reads the two flags before any ConfigDef trims them: a blank behind `true` makes it false here.
    Source: MirrorMakerConfig.clusterPairs.
    """
    beats = settings.of_pair(pair, HEARTBEATS)
    return (
        beats is None or is_true(beats.value) or is_true(settings.get(f"{pair_name(pair)}.enabled"))
    )


def is_enabled(settings: Settings, pair: Pair) -> bool:
    """Return whether a pair copies records: its herder is started, and the connectors are enabled.

    Connectors trim the flag, and take the one at the top where the flow has none of its own.
    """
    entry = settings.of_pair(pair, "enabled")
    return entry is not None and is_true(trim(entry.value)) and is_started(settings, pair)


def has_heartbeats(settings: Settings, pair: Pair) -> bool:
    """Return whether heartbeats of a pair are written."""
    entry = settings.of_pair(pair, HEARTBEATS)
    return (entry is None or is_true(trim(entry.value))) and is_started(settings, pair)


def cluster_pairs(settings: Settings) -> list[Pair]:
    """Return the pairs that MirrorMaker 2 starts a herder for."""
    return [pair for pair in ordered_pairs(settings.clusters()) if is_started(settings, pair)]


def cluster_values(settings: Settings, alias: str) -> dict[str, Value]:
    """Return the settings of a cluster; its clients take its address and security unless told otherwise."""
    values = {key: written(entry) for key, entry in settings.below(f"{alias}.").items()}
    own = {k: v for k, v in values.items() if catalogue.is_security_key(k) and v.entry}
    for key, value in own.items():
        assert value.entry is not None  # noqa: S101  it was just looked at
        for client in _CLIENTS:
            rule = f"copied to {client[:-1]} clients"
            values.setdefault(f"{client}{key}", derived(value.entry, rule))
    for key, entry in settings.by_key.items():
        if catalogue.is_security_key(key):
            for prefix in (*_CLIENTS, ""):
                rule = "for every cluster that does not say otherwise"
                values.setdefault(f"{prefix}{key}", derived(entry, rule))
    return values


def connector_config(settings: Settings, pair: Pair, kind: ConnectorClass) -> dict[str, Value]:
    """Return the effective configuration of a connector, defaults included; later steps win."""
    source, target = pair
    values = _top_level(settings)
    for side, alias in (("source", source), ("target", target)):
        for key, value in settings.of_cluster(alias).items():
            prefix = side if _CLIENT_KEY.match(key) else f"{side}.cluster"
            values[f"{prefix}.{key}"] = value
    for key, text in _fallbacks(pair, kind).items():
        values.setdefault(key, default(text))
    own = settings.below(f"{pair_name(pair)}.")
    values |= {key: written(entry) for key, entry in own.items()}
    values.setdefault("enabled", default("false", "key absent"))
    return with_defaults(accept_old_names(values), kind)


def _top_level(settings: Settings) -> dict[str, Value]:
    found = settings.by_key.items()
    return {key: written(entry) for key, entry in found if catalogue.reaches_connectors(key)}


def _fallbacks(pair: Pair, kind: ConnectorClass) -> dict[str, str]:
    return {
        "name": kind.value,
        "connector.class": kind.full_name,
        "source.cluster.alias": pair[0],
        "target.cluster.alias": pair[1],
    }


def accept_old_names(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values where an old name counts for the new one, as up to Kafka 3.x; 4.0 ignores it."""
    found = dict(values)
    for old, new in catalogue.RENAMED_IN_4.items():
        value = found.get(old)
        if value is not None and value.entry is not None and new not in found:
            found[new] = derived(value.entry, "old name: Kafka 4.0 and later ignore it")
    return found


def with_defaults(values: Mapping[str, Value], kind: ConnectorClass) -> dict[str, Value]:
    """Return values as the connector reads them, with its defaults for what is not set."""
    defaults = {key: default(text) for key, text in catalogue.DEFAULTS[kind].items()}
    return {**defaults, **as_read(values)}


def as_read(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values as their readers see them: a ConfigDef trims, see `catalogue.is_trimmed`."""
    return {
        key: replace(value, value=trim(value.value)) if catalogue.is_trimmed(key) else value
        for key, value in values.items()
    }


def worker_config(settings: Settings, pair: Pair) -> dict[str, Value]:
    """Return the effective configuration of the pair's Connect worker, which belongs to the target."""
    source, target = pair
    values = {**settings.of_cluster(target)}
    for prefix in (*catalogue.WORKER_PREFIXES, "config.providers"):
        values |= {key: written(e) for key, e in settings.beginning_with(prefix).items()}
    fallbacks = {"client.id": pair_name(pair), "group.id": f"{source}-mm2"}
    fallbacks |= {
        f"{k}.storage.topic": f"mm2-{n}.{source}.internal" for k, n in STORAGE_TOPICS.items()
    }
    fallbacks |= {
        f"{part}.converter": catalogue.BYTE_ARRAY_CONVERTER for part in ("key", "value", "header")
    }
    for key, text in fallbacks.items():
        values.setdefault(key, default(text))
    for key, text in catalogue.TOP_DEFAULTS.items():
        entry = settings.by_key.get(key)
        values.setdefault(key, written(entry) if entry else default(text))
    return as_read(values)


def read_flow(settings: Settings, pair: Pair, file: str) -> MirrorFlow:
    """Return one flow with its three connectors and its worker; raises nothing: any pair has an answer."""
    connectors = (
        Connector(kind, f"{pair_name(pair)}.{kind.value}", connector_config(settings, pair, kind))
        for kind in ConnectorClass
    )
    return MirrorFlow(
        source=pair[0],
        target=pair[1],
        file=file,
        form=Form.PROPERTIES,
        is_enabled=is_enabled(settings, pair),
        has_heartbeats=has_heartbeats(settings, pair),
        connectors=tuple(connectors),
        worker=worker_config(settings, pair),
    )


def split_pair_key(key: str) -> tuple[str, str, str] | None:
    """Return source, target and the rest of `S->T.key`; None for any other key.

    The target ends at the first dot, so an alias with a dot is not seen here.
    """
    source, arrow, rest = key.partition(ARROW)
    target, dot, name = rest.partition(".")
    return (source, target, name) if arrow and dot and source and target else None
