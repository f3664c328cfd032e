"""Flows as mm2.properties for dedicated MirrorMaker 2. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.naming import overridden_aliases
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.read.dedicated import STORAGE_TOPICS
from jobs.replication.mirror_config.read.properties import write_properties
from jobs.replication.mirror_config.values import (
    ConnectorClass,
    Deployment,
    Form,
    Kind,
    MirrorFlow,
    Value,
)

# What dedicated MirrorMaker 2 gives every connector itself.
_OWN = {"name", "connector.class", "source.cluster.alias", "target.cluster.alias", "enabled"}
_SIDES = ("source", "target")
_STORAGE = {"group.id", *(f"{name}.storage.topic" for name in STORAGE_TOPICS)}
# Without a connector of a class, nothing of it may happen.
_OFF = {
    ConnectorClass.CHECKPOINT: (
        "emit.checkpoints.enabled",
        "sync.group.offsets.enabled",
        "refresh.groups.enabled",
    ),
}


def to_properties(flows: Sequence[MirrorFlow], config: MirrorConfig) -> tuple[str, list[str]]:
    """Return mm2.properties and notes; of one such file, the same settings again."""
    (first, *others) = config.deployments
    if first.form is Form.PROPERTIES and not others:
        return write_properties(_as_written(first)), []
    notes: list[str] = []
    clusters = list(dict.fromkeys(a for flow in flows for a in (flow.source, flow.target)))
    shared = _shared(flows)
    settings = [("clusters", ", ".join(clusters)), ("emit.heartbeats.enabled", "false")]
    settings += [(f"{alias}.{key}", text) for (alias, key), text in sorted(shared.items())]
    for flow in flows:
        settings += _flow(flow, shared, notes)
    return write_properties(settings), notes


def _as_written(deployment: Deployment) -> list[tuple[str, str]]:
    return list({entry.key: entry.value for entry in deployment.entries}.items())


def _shared(flows: Sequence[MirrorFlow]) -> dict[tuple[str, str], str]:
    """Return the settings of clusters that all connectors at them have alike, and every address."""
    shared: dict[tuple[str, str], str] = {}
    for place in _places(flows):
        found = {None if value is None else value.value for value in _values_at(flows, *place)}
        texts = sorted(text for text in found if text is not None)
        if texts and (len(found) == 1 or place[1] == "bootstrap.servers"):
            shared[place] = texts[0]
    return shared


def _places(flows: Sequence[MirrorFlow]) -> set[tuple[str, str]]:
    """Return alias and key of every setting of a cluster that somebody wrote."""
    return {
        place
        for flow in flows
        for connector in flow.connectors
        for key, value in connector.config.items()
        if value.kind is not Kind.DEFAULT
        and not _is_copy(value)
        and (place := _place(flow, key)) is not None
    }


def _values_at(flows: Sequence[MirrorFlow], alias: str, key: str) -> Iterator[Value | None]:
    """Yield what each connector at a cluster has for one of its settings."""
    for flow in flows:
        for side, name in zip(_SIDES, (flow.source, flow.target), strict=True):
            if name == alias:
                yield from (c.config.get(_connector_key(side, key)) for c in flow.connectors)


def _is_copy(value: Value) -> bool:
    return value.rule.startswith("copied to")


def _place(flow: MirrorFlow, key: str) -> tuple[str, str] | None:
    """Return the cluster that a connector's key is about, and its key there."""
    for side, alias in zip(_SIDES, (flow.source, flow.target), strict=True):
        if key.startswith(f"{side}.cluster."):
            rest = key.removeprefix(f"{side}.cluster.")
            return None if rest == "alias" else (alias, rest)
        rest = key.removeprefix(f"{side}.")
        if rest != key and rest.startswith(tuple(f"{c}." for c in catalogue.CLIENT_PREFIXES)):
            return alias, rest
    return None


def _connector_key(side: str, key: str) -> str:
    is_client = key.startswith(tuple(f"{c}." for c in catalogue.CLIENT_PREFIXES))
    return f"{side}.{key}" if is_client else f"{side}.cluster.{key}"


def _flow(
    flow: MirrorFlow, shared: dict[tuple[str, str], str], notes: list[str]
) -> Iterator[tuple[str, str]]:
    yield f"{flow.name}.enabled", "true" if flow.is_enabled else "false"
    if flow.has_heartbeats:
        yield f"{flow.name}.emit.heartbeats.enabled", "true"
    for kind, keys in _OFF.items():
        if flow.is_enabled and flow.first(kind) is None:
            yield from ((f"{flow.name}.{key}", "false") for key in keys)
    for key, text in sorted(_own_settings(flow, notes).items()):
        place = _place(flow, key)
        if key != "emit.heartbeats.enabled" and (place is None or shared.get(place) != text):
            yield f"{flow.name}.{key}", text
    yield from _worker(flow, notes)


def _own_settings(flow: MirrorFlow, notes: list[str]) -> dict[str, str]:
    """Return the settings of the connectors of a flow; where they differ, the source connector counts."""
    found: dict[str, str] = {}
    told = [(c, k, v) for c in flow.connectors for k, v in c.config.items()]
    for connector, key, value in told:
        is_own = key in _OWN and key not in overridden_aliases(flow, connector)
        if is_own or value.kind is Kind.DEFAULT or _is_copy(value):
            continue
        if found.setdefault(key, value.value) != value.value:
            notes.append(
                f"{flow.name}: {key} of {connector.name} is another than of the flow's first connector. "
                "In mm2.properties all connectors of a flow share one value: the first one's is written."
            )
    for key, text in found.items():
        for connector in flow.connectors:
            is_known = key in catalogue.DEFAULTS[connector.kind]
            if is_known and connector.get(key) != text:
                notes.append(
                    f"{flow.name}: {key} counts for {connector.kind.value} as well from now on."
                )
    return found


def _worker(flow: MirrorFlow, notes: list[str]) -> Iterator[tuple[str, str]]:
    if flow.worker is None or flow.form is Form.PROPERTIES:
        return
    for key, value in sorted(flow.worker.items()):
        if value.kind is Kind.DEFAULT:
            continue
        if key in _STORAGE:
            notes.append(
                f"{key} of the Connect cluster is left out: dedicated MirrorMaker 2 has workers, and topics "
                "for their state, of its own. It begins at the positions that it finds there."
            )
        else:
            yield f"{flow.target}.{key}", value.value
