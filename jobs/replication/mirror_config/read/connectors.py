"""Connectors of a Connect cluster (plain or Strimzi's) to flows. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.replication.mirror_config.naming import SOURCE_ALIAS, TARGET_ALIAS
from jobs.replication.mirror_config.read.dedicated import accept_old_names, with_defaults
from jobs.replication.mirror_config.values import (
    Config,
    Connector,
    ConnectorClass,
    Form,
    MirrorFlow,
    Pair,
    Value,
    split_list,
    trim,
)


@dataclass(frozen=True, slots=True)
class Group:
    """The connectors between two clusters, and the worker that runs them where it is known."""

    pair: Pair
    connectors: tuple[Connector, ...]
    worker: Config | None = None


def connector_of(name: str, kind: ConnectorClass, values: Mapping[str, Value]) -> Connector:
    """Return a connector with old names accepted and defaults filled in."""
    return Connector(kind, name, with_defaults(accept_old_names(values), kind))


def class_of(text: str) -> ConnectorClass | None:
    """Return which of MirrorMaker 2's connectors a `connector.class` names; None for another one.

    Connect accepts the simple name, and that without `Connector`, as well.
    """
    simple = trim(text).rpartition(".")[2]
    return next(
        (c for c in ConnectorClass if simple in (c.value, c.value[: -len("Connector")])), None
    )


def addresses_of(connector: Connector, side: str) -> list[str]:
    """Return the addresses of a connector's source or target."""
    return split_list(connector.get(f"{side}.cluster.bootstrap.servers"))


def pairs_by_alias(connectors: Iterable[Connector]) -> list[tuple[Pair, Connector]]:
    """Return each connector with its clusters, by their aliases.

    A cluster with an empty alias goes by that of another connector with the same addresses, else by
    its first address (letters, digits and hyphens), else by its side. Connectors of one mirror stay
    together, whatever their aliases are.
    """
    connectors = list(connectors)
    aliases: dict[frozenset[str], str] = {}
    for connector in connectors:
        for side, key in (("source", SOURCE_ALIAS), ("target", TARGET_ALIAS)):
            if connector.get(key):
                aliases.setdefault(frozenset(addresses_of(connector, side)), connector.get(key))

    def name(connector: Connector, side: str, key: str) -> str:
        addresses = addresses_of(connector, side)
        known = aliases.get(frozenset(addresses)) if addresses else None
        return connector.get(key) or known or _word(next(filter(None, addresses), side)) or side

    return _join_mirrors(
        [
            ((name(c, "source", SOURCE_ALIAS), name(c, "target", TARGET_ALIAS)), c)
            for c in connectors
        ]
    )


def _join_mirrors(placed: list[tuple[Pair, Connector]]) -> list[tuple[Pair, Connector]]:
    """Return connectors of different classes between the same addresses as those of one mirror.

    It goes by the aliases of its source connector, else of the first one.
    """
    mirrors: dict[tuple[frozenset[str], ...], list[tuple[Pair, Connector]]] = {}
    for pair, connector in placed:
        ends = tuple(frozenset(addresses_of(connector, side)) for side in ("source", "target"))
        mirrors.setdefault(ends, []).append((pair, connector))
    joined: dict[int, Pair] = {}
    for ends, members in mirrors.items():
        kinds = [connector.kind for _, connector in members]
        if all(ends) and len(set(ends)) > 1 and len(set(kinds)) == len(kinds):
            at = kinds.index(ConnectorClass.SOURCE) if ConnectorClass.SOURCE in kinds else 0
            joined |= {id(connector): members[at][0] for _, connector in members}
    return [(joined.get(id(connector), pair), connector) for pair, connector in placed]


def _word(address: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", address).strip("-")


def group_connectors(
    placed: Iterable[tuple[Pair, Connector]], worker: Config | None = None
) -> list[Group]:
    """Return connectors by the clusters that they join, in the order of the first of each."""
    found: dict[Pair, list[Connector]] = {}
    for pair, connector in placed:
        found.setdefault(pair, []).append(connector)
    return [Group(pair, tuple(members), worker) for pair, members in found.items()]


def flow_of(group: Group, file: str, form: Form) -> MirrorFlow:
    """Return the flow of a group: it copies when a source connector is there and enabled."""
    kinds = {connector.kind for connector in group.connectors if connector.is_true("enabled")}
    # Kafka's heartbeat connector does not look at `enabled`.
    beats = [c for c in group.connectors if c.kind is ConnectorClass.HEARTBEAT]
    return MirrorFlow(
        source=group.pair[0],
        target=group.pair[1],
        file=file,
        form=form,
        is_enabled=ConnectorClass.SOURCE in kinds,
        has_heartbeats=any(c.is_true("emit.heartbeats.enabled") for c in beats),
        connectors=group.connectors,
        worker=group.worker,
    )


def bootstrap_of(flows: Iterable[MirrorFlow]) -> dict[str, Value]:
    """Return the address of each cluster, as the first connector that tells it says."""
    found: dict[str, Value] = {}
    for flow in flows:
        for connector in flow.connectors:
            for side, alias in (("source", flow.source), ("target", flow.target)):
                value = connector.config.get(f"{side}.cluster.bootstrap.servers")
                if value is not None:
                    found.setdefault(alias, value)
    return found


def aliases_of(flows: Iterable[MirrorFlow]) -> tuple[str, ...]:
    """Return the clusters of flows, each once."""
    return tuple(dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target)))
