"""What does not fit together within a flow, between its connectors and clusters, or between files. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.lint.values import wrong_addresses
from jobs.replication.mirror_config.read.dedicated import HEARTBEATS
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Deployment,
    Finding,
    Form,
    MirrorFlow,
    Severity,
    Value,
    finding_at,
    is_true,
    ordered_pairs,
    pair_name,
    split_list,
    trim,
)

LOCATION = "offset-syncs.topic.location"
_EOS = "exactly.once.source.support"
_ISOLATION = "consumer.isolation.level"
_ISOLATIONS = (f"source.{_ISOLATION}", _ISOLATION)
_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_STORAGE = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


def lint_bootstrap(deployment: Deployment) -> Iterator[Finding]:
    """Yield clusters without an address, or with one that is none, and two aliases of one cluster."""
    named = next((entry for entry in reversed(deployment.entries) if entry.key == "clusters"), None)
    if named is not None and deployment.form is Form.PROPERTIES and "" in split_list(named.value):
        yield Finding(
            "empty-cluster",
            Severity.ERROR,
            "clusters has an empty entry: Kafka 4 refuses it, and older versions take it for a cluster.",
            "Delete the comma too many.",
            named.where,
            "clusters",
        )
    for alias in deployment.clusters:
        if alias not in deployment.bootstrap:
            yield Finding(
                "no-bootstrap",
                Severity.ERROR,
                f"Cluster {alias} has no bootstrap.servers.",
                f"Set {alias}.bootstrap.servers.",
                deployment.file,
                f"{alias}.bootstrap.servers",
            )
        else:
            yield from wrong_addresses("", deployment.bootstrap[alias])
    for one, other in combinations(deployment.bootstrap, 2):
        first, second = (set(split_list(deployment.bootstrap[a].value)) for a in (one, other))
        if not (first & second) - {""}:
            continue
        joined = [f for f in deployment.flows if {f.source, f.target} == {one, other}]
        value = deployment.bootstrap[other]
        where = (value.origin, f"{other}.bootstrap.servers")
        yield _same_cluster(one, other, ", ".join(sorted(first & second)), where, bool(joined))


def _same_cluster(
    one: str,
    other: str,
    shared: str,
    where: tuple[str, str],
    are_joined: bool,  # noqa: FBT001  by a flow
) -> Finding:
    return Finding(
        "same-bootstrap",
        Severity.ERROR if are_joined else Severity.WARNING,
        f"{one} and {other} have the same bootstrap ({shared}), or share a broker's address. "
        + (
            "A cluster that is copied into itself gets every topic again and again."
            if are_joined
            else "Connectors that know one cluster by different aliases do not find each other's topics."
        ),
        "Correct the address of one of them; give a cluster one alias only.",
        *where,
    )


def lint_shadowed(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield settings of a flow behind `source.cluster.` that no client of the flow takes.

    MirrorMaker 2 gives each client its own copy of the cluster's settings, which is stronger.
    Source: MirrorMakerConfig.clusterProps, MirrorConnectorConfig.sourceConsumerConfig and its siblings.
    """
    for connector in flow.connectors if flow.form is Form.PROPERTIES else ():
        for key, value in connector.config.items():
            side, _, rest = key.partition(".cluster.")
            copy = connector.config.get(f"{side}.consumer.{rest}") if rest else None
            if value.entry is None or value.entry.key != f"{flow.name}.{key}" or copy is None:
                continue
            clients = ", ".join(f"{flow.name}.{side}.{c}.{rest}" for c in catalogue.CLIENT_PREFIXES)
            yield finding_at(
                flow,
                (key, value),
                "no-client",
                Severity.WARNING,
                f"{value.provenance} reaches no client: each has its own copy of {copy.provenance}.",
                f"Set {copy.provenance}, or for this flow alone {clients}.",
            )


def lint_started(deployment: Deployment) -> Iterator[Finding]:
    """Yield flags with a blank behind `true`: two readers of MirrorMaker 2 take them differently.

    Source: MirrorMakerConfig.clusterPairs (Boolean.parseBoolean) and MirrorConnectorConfig (ConfigDef).
    """
    if deployment.form is not Form.PROPERTIES:
        return
    pairs = {pair_name(pair): pair for pair in ordered_pairs(deployment.clusters)}
    for key, entry in {entry.key: entry for entry in deployment.entries}.items():
        name = key.removesuffix(f".{HEARTBEATS}").removesuffix(".enabled")
        is_flag = key == HEARTBEATS or (
            name in pairs and key in (f"{name}.enabled", f"{name}.{HEARTBEATS}")
        )
        if not is_flag or entry.value == trim(entry.value) or not is_true(trim(entry.value)):
            continue
        meant = list(pairs) if key == HEARTBEATS else [name]
        lost = [one for one in meant if pairs[one] not in deployment.pairs]
        yield Finding(
            "blank-after-flag",
            Severity.ERROR if lost else Severity.WARNING,
            f"{key} has a blank behind it, which .properties keeps. It is false where MirrorMaker 2 chooses "
            "the flows to start, and true for the connectors: "
            + (
                f"{', '.join(lost[:3])} {'is' if len(lost) == 1 else 'are'} not started."
                if lost
                else f"{', '.join(meant[:3])} runs only because of another flag."
            ),
            "Delete the blank at the end of the line.",
            entry.where,
            key,
            name if name in pairs else "",
        )


def lint_enabled(deployment: Deployment) -> Iterator[Finding]:
    """Yield files that copy nothing at all."""
    sources = [f for f in deployment.flows if f.first(ConnectorClass.SOURCE)]
    if any(f.is_enabled for f in deployment.flows) or (
        deployment.form is Form.CONNECT and not sources
    ):
        return
    starts = deployment.form is not Form.PROPERTIES or deployment.pairs
    yield Finding(
        "nothing-enabled",
        Severity.WARNING if starts else Severity.ERROR,
        "No flow is enabled, so no record is copied"
        + (
            "." if starts else ", and there is nothing to start either: MirrorMaker 2 ends at once."
        ),
        "Set SOURCE->TARGET.enabled to true, with aliases of `clusters`."
        if deployment.form is Form.PROPERTIES
        else "Add a source connector, or set its enabled to true.",
        deployment.file,
        "enabled",
    )


def lint_location(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield flows whose connectors look for offset syncs in different places, also across files."""
    by_pair: dict[str, list[Connector]] = defaultdict(list)
    for flow in flows:
        by_pair[flow.name] += flow.connectors
    for name, connectors in by_pair.items():
        writes = {c.get(LOCATION): c for c in connectors if c.kind is ConnectorClass.SOURCE}
        reads = {c.get(LOCATION): c for c in connectors if c.kind is ConnectorClass.CHECKPOINT}
        if not writes or not reads or (writes.keys() == reads.keys() and len(writes) == 1):
            continue
        told = [
            f"{kind}: {place} ({connector.config[LOCATION].origin})"
            for kind, found in (("source", writes), ("checkpoint", reads))
            for place, connector in found.items()
        ]
        yield Finding(
            "location-differs",
            Severity.ERROR,
            f"{LOCATION} differs between source and checkpoint connector of {name}: {'; '.join(told)}. "
            "Checkpoints are made of offset syncs, and these are somewhere else.",
            "Set it to the same value for both connectors.",
            next(iter(reads.values())).config[LOCATION].origin,
            LOCATION,
            name,
        )


def lint_twice(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield flows that two files enable: with the same settings, or with others."""
    by_pair: dict[str, list[MirrorFlow]] = defaultdict(list)
    for flow in flows:
        if flow.is_enabled:
            by_pair[flow.name].append(flow)
    for name, members in by_pair.items():
        for one, other in combinations(members, 2):
            yield _twice(name, one, other)


def _twice(name: str, one: MirrorFlow, other: MirrorFlow) -> Finding:
    keys = sorted(differing_keys(one, other))
    files = f"{one.file} and {other.file}"
    is_one_cluster = one.form is other.form is Form.PROPERTIES
    if not keys and is_one_cluster:
        text, do = f"{name} is configured alike in {files}.", "Nothing."
        return Finding("flow-twice", Severity.INFO, text, do, files, "", name)
    few = ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")  # noqa: PLR2004  a few
    text = f"{name} is configured differently in {files}"
    text += f" ({few}). " if keys else ", in two ways. " if is_one_cluster else ". "
    text += (
        "Nodes of one MirrorMaker share what the first of them wrote: the leader wins."
        if is_one_cluster
        else "If both run, every record is copied twice."
    )
    do = "Use the same file on all nodes." if is_one_cluster else "Run one of them only."
    return Finding("flow-twice", Severity.WARNING, text, do, files, keys[0] if keys else "", name)


def differing_keys(one: MirrorFlow, other: MirrorFlow) -> set[str]:
    """Return the keys that connectors of the same class have with different values."""
    found: set[str] = set()
    for kind in ConnectorClass:
        first, second = one.first(kind), other.first(kind)
        if first is None or second is None:
            continue
        for key in (first.config.keys() | second.config.keys()) - {"name", "connector.class"}:
            if first.get(key) != second.get(key):
                found.add(key)
    return found


def lint_converters(flow: MirrorFlow, connector: Connector) -> Iterator[Finding]:
    """Yield converters that would change the bytes of records."""
    for key in _CONVERTERS:
        value = connector.config.get(key) or (flow.worker or {}).get(key)
        if value is None:
            continue
        if value.value.rpartition(".")[2] != "ByteArrayConverter":
            yield Finding(
                "converter",
                Severity.ERROR,
                f"{value.provenance} is {value.value.rpartition('.')[2]}: {connector.kind} gives bytes, "
                "and every other converter than ByteArrayConverter changes or refuses them (JsonConverter "
                "makes JSON with base64 of them).",
                f"Set {key} to {catalogue.BYTE_ARRAY_CONVERTER}.",
                value.origin,
                key,
                flow.name,
            )


def lint_connect_worker(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield what a separate Connect cluster decides and these files do not contain."""
    if flow.form is not Form.CONNECT:
        return
    for connector in flow.connectors:
        missing = [key for key in _CONVERTERS if key not in connector.config]
        if missing:
            yield Finding(
                "converter-not-set",
                Severity.INFO,
                f"Connector {connector.name} sets no {', '.join(missing)}: those of the worker count, "
                "often others than ByteArrayConverter (header.converter is SimpleHeaderConverter by itself).",
                f"Set them to {catalogue.BYTE_ARRAY_CONVERTER}.",
                f"{flow.file} {connector.name}",
                missing[0],
                flow.name,
            )


def lint_exactly_once(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield flows that are only half set up for exactly once."""
    source = flow.first(ConnectorClass.SOURCE)
    if source is None or not flow.is_enabled:
        return
    worker = flow.worker or {}
    is_on = _text(worker.get(_EOS)) == "enabled"
    is_required = source.get("exactly.once.support").lower() == "required"
    set_by = next((source.config[k] for k in _ISOLATIONS if source.get(k)), None)
    # Read without a ConfigDef: a blank behind it counts here, while the consumer trims it.
    level = set_by.entry.value if set_by and set_by.entry else "read_uncommitted"
    if (is_on or is_required) and level != "read_committed":
        where = worker[_EOS].origin if is_on else source.config["exactly.once.support"].origin
        yield Finding(
            "eos-isolation",
            Severity.ERROR if is_required else Severity.WARNING,
            f"Exactly once is requested, but isolation.level of {flow.name}'s consumer is {level!r}: the "
            "connector then does not support it.",
            f"Set {flow.name}.{_ISOLATION}=read_committed."
            if flow.form is Form.PROPERTIES
            else f"Set source.{_ISOLATION} to read_committed.",
            where,
            _ISOLATION,
            flow.name,
        )
    if is_required and flow.worker is not None and not is_on:
        yield Finding(
            "eos-worker",
            Severity.ERROR,
            f"{flow.name} requires exactly once, but its worker does not offer it.",
            f"Set {flow.target}.{_EOS}=enabled.",
            source.config["exactly.once.support"].origin,
            _EOS,
            flow.name,
        )
    internal = "dedicated.mode.enable.internal.rest"
    if is_on and flow.form is Form.PROPERTIES and _text(worker.get(internal)) != "true":
        yield Finding(
            "eos-internal-rest",
            Severity.WARNING,
            f"Exactly once between several nodes needs {internal}, which is off.",
            f"Set {internal}=true.",
            worker[_EOS].origin,
            internal,
            flow.name,
        )


def _text(value: Value | None) -> str:
    return "" if value is None else value.value.strip().lower()


def lint_checkpoints(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield checkpoint connectors that have nothing to make checkpoints of."""
    source, checkpoint = flow.first(ConnectorClass.SOURCE), flow.first(ConnectorClass.CHECKPOINT)
    if checkpoint is None or not flow.is_enabled:
        return
    wants = checkpoint.is_true("emit.checkpoints.enabled") or checkpoint.is_true(
        "sync.group.offsets.enabled"
    )
    without = [
        c
        for c in (source, checkpoint)
        if c and c.get("emit.offset-syncs.enabled").lower() == "false"
    ]
    if wants and without:
        yield Finding(
            "no-offset-syncs",
            Severity.ERROR,
            f"{flow.name} makes checkpoints, but emit.offset-syncs.enabled is false: there is nothing to "
            "translate group offsets with, and the checkpoint connector refuses to start.",
            "Set emit.offset-syncs.enabled to true, or emit.checkpoints.enabled to false.",
            without[0].config["emit.offset-syncs.enabled"].origin,
            "emit.offset-syncs.enabled",
            flow.name,
        )


def lint_heartbeats(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield flows that heartbeats cannot watch: those of the opposite direction are needed for it."""
    beating = {(flow.source, flow.target) for flow in flows if flow.has_heartbeats}
    for flow in flows:
        if flow.is_enabled and (flow.target, flow.source) not in beating:
            yield Finding(
                "no-heartbeats",
                Severity.INFO,
                f"Nothing sends heartbeats to {flow.source}, so none arrive over {flow.name}: MirrorClient "
                f"does not see {flow.source} as upstream of {flow.target}.",
                f"Run a heartbeat connector of {flow.target}->{flow.source}.",
                flow.file,
                "emit.heartbeats.enabled",
                flow.name,
            )


def lint_worker_topics(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield workers of one target that would share their topics although they are different groups."""
    seen: dict[tuple[str, str, str], MirrorFlow] = {}
    for flow in flows:
        if flow.form is not Form.PROPERTIES or flow.worker is None:
            continue
        for key in _STORAGE:
            place = (flow.target, key, flow.worker[key].value)
            other = seen.setdefault(place, flow)
            is_same_group = (
                other.worker and other.worker["group.id"].value == flow.worker["group.id"].value
            )
            if other.source != flow.source and not is_same_group:
                yield Finding(
                    "worker-topics-shared",
                    Severity.ERROR,
                    f"The workers of {other.name} and {flow.name} both keep their state in "
                    f"{flow.worker[key].value} on {flow.target} ({key}): each takes the other's for its own.",
                    f"Leave {key} out: MirrorMaker 2 names it after the source.",
                    flow.worker[key].origin,
                    key,
                    flow.name,
                )
