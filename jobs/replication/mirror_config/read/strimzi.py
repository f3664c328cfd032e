"""Read Strimzi's KafkaMirrorMaker2: v1beta2 (`clusters`, `mirrors`) and v1 (`target`, `source`). Pure.

Source: Strimzi's API reference, its proposal 115 and its guide to the v1 API; what the operator makes of
a resource: a Connect cluster at the target and one connector per section of a mirror.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.read.connectors import (
    aliases_of,
    bootstrap_of,
    connector_of,
    flow_of,
    group_connectors,
)
from jobs.replication.mirror_config.read.strimzi_security import security_of
from jobs.replication.mirror_config.read.text_input import (
    BadInput,
    InputFile,
    decode_utf8,
    template_error,
)
from jobs.replication.mirror_config.read.yaml_nodes import (
    Leaf,
    Node,
    leaves,
    mapping,
    read_documents,
    sequence,
    text_of,
)
from jobs.replication.mirror_config.redaction import redact
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Deployment,
    Entry,
    Finding,
    Form,
    MirrorFlow,
    Pair,
    Severity,
    Value,
    default,
    derived,
    pair_name,
    written,
)

KIND = "KafkaMirrorMaker2"
SECTIONS = {
    "sourceConnector": ConnectorClass.SOURCE,
    "checkpointConnector": ConnectorClass.CHECKPOINT,
    "heartbeatConnector": ConnectorClass.HEARTBEAT,
}
# Newest name first; an older one counts only without it.
PATTERNS = {
    "topics": ("topicsPattern",),
    "topics.exclude": ("topicsExcludePattern", "topicsBlacklistPattern"),
    "groups": ("groupsPattern",),
    "groups.exclude": ("groupsExcludePattern", "groupsBlacklistPattern"),
}
WORKER_FIELDS = {
    "groupId": "group.id",
    "configStorageTopic": "config.storage.topic",
    "offsetStorageTopic": "offset.storage.topic",
    "statusStorageTopic": "status.storage.topic",
}
WORKER_DEFAULTS = {
    "group.id": "mirrormaker2-cluster",
    "config.storage.topic": "mirrormaker2-cluster-configs",
    "offset.storage.topic": "mirrormaker2-cluster-offsets",
    "status.storage.topic": "mirrormaker2-cluster-status",
    **{f"{part}.converter": catalogue.BYTE_ARRAY_CONVERTER for part in ("key", "value", "header")},
}
_WANTED = (
    "KafkaMirrorMaker2 has `spec.mirrors`, with `spec.clusters` (v1beta2) or `spec.target` (v1)."
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of a resource, with the settings that its section gives."""

    alias: str
    settings: Mapping[str, Value]
    worker: Mapping[str, Value]


class Resource:
    """One resource of a file, while it is read."""

    def __init__(self, file: str, spec: Mapping[str, Node]) -> None:
        self.file = file
        self.spec = spec
        self.entries: list[Entry] = []
        self.clusters: dict[str, Cluster] = {}

    def entry(self, key: str, leaf: Node, path: str) -> Entry:
        """Return a scalar as a setting, and remember it."""
        if not isinstance(leaf, Leaf):
            raise BadInput(self.file, f"{path}.{key}: a setting is one value.")
        shown, is_secret = redact(key, leaf.text or "")
        entry = Entry(key, shown, self.file, leaf.line, path, is_secret)
        self.entries.append(entry)
        return entry

    def values(self, node: Node | None, path: str) -> dict[str, Value]:
        """Return the settings of a `config` section."""
        found = mapping(node).items()
        return {k: written(self.entry(k, leaf, path)) for k, leaf in found if not _is_null(leaf)}

    def text(self, node: Mapping[str, Node], key: str, path: str) -> Entry | None:
        """Return a field of a section; None when it is missing."""
        leaf = node.get(key)
        return None if leaf is None or _is_null(leaf) else self.entry(key, leaf, path)

    def cluster(self, node: Node, path: str) -> Cluster:
        """Return a cluster's section."""
        section = mapping(node)
        alias = text_of(section.get("alias"))
        if not alias:
            raise BadInput(self.file, f"{path} has no alias.")
        config = self.values(section.get("config"), f"{path}.config")
        settings = {"alias": written(self.entry("alias", section["alias"], path))}
        servers = self.text(section, "bootstrapServers", path)
        if servers:
            settings["bootstrap.servers"] = derived(servers, f"{path}.bootstrapServers")
        settings |= security_of(section, lambda key, leaf: self.entry(key, leaf, path))
        fields = {k: self.text(section, name, path) for name, k in WORKER_FIELDS.items()}
        worker = {k: derived(e, f"{path}.{e.key}") for k, e in fields.items() if e}
        return Cluster(alias, {**settings, **config}, {**config, **worker})


def read_strimzi(file: InputFile, content: bytes) -> Deployment:
    """Read a file with one or more resources; other kinds in it are passed by; raises `BadInput`."""
    documents = read_documents(file.name, decode_utf8(file, content))
    specs = [
        _spec(file.name, one) for one in documents if text_of(mapping(one).get("kind")) == KIND
    ]
    if not specs:
        raise BadInput(file.name, f"It has no resource of kind {KIND}. {_WANTED}")
    resources = [Resource(file.name, spec) for spec in specs]
    flows = [flow for resource in resources for flow in _flows(resource)]
    return Deployment(
        file=file.name,
        form=Form.STRIMZI,
        entries=tuple(entry for resource in resources for entry in resource.entries),
        clusters=tuple(
            dict.fromkeys((*aliases_of(flows), *(a for r in resources for a in r.clusters)))
        ),
        pairs=tuple((flow.source, flow.target) for flow in flows),
        flows=tuple(flows),
        bootstrap=bootstrap_of(flows),
        findings=tuple(finding for resource in resources for finding in _findings(resource)),
    )


def _is_null(node: Node) -> bool:
    return isinstance(node, Leaf) and node.text is None


def _spec(file: str, document: Node) -> Mapping[str, Node]:
    spec = mapping(mapping(document).get("spec"))
    if not sequence(spec.get("mirrors")) or not ("clusters" in spec or "target" in spec):
        raise BadInput(file, _WANTED)
    for leaf in leaves(dict(spec)):
        error = template_error(file, leaf.text or "", leaf.line)
        if error is not None:
            raise error
    return spec


def _flows(resource: Resource) -> list[MirrorFlow]:
    spec = resource.spec
    for number, node in enumerate(sequence(spec.get("clusters"))):
        cluster = resource.cluster(node, f"spec.clusters[{number}]")
        resource.clusters[cluster.alias] = cluster
    main = _target(resource)
    worker = {k: default(text, "Strimzi's") for k, text in WORKER_DEFAULTS.items()}
    worker |= main.worker
    found = []
    for number, node in enumerate(sequence(spec.get("mirrors"))):
        found += list(_connectors(resource, mapping(node), f"spec.mirrors[{number}]", main))
    groups = group_connectors(found, worker)
    return [flow_of(group, resource.file, Form.STRIMZI) for group in groups]


def _target(resource: Resource) -> Cluster:
    spec = resource.spec
    if "target" in spec:
        cluster = resource.cluster(spec["target"], "spec.target")
        return resource.clusters.setdefault(cluster.alias, cluster)
    return _known(resource, text_of(spec.get("connectCluster")), "spec.connectCluster")


def _known(resource: Resource, alias: str, path: str) -> Cluster:
    if alias not in resource.clusters:
        known = ", ".join(resource.clusters) or "none"
        said = f"names {alias!r}, which" if alias else "is missing, and so"
        raise BadInput(
            resource.file, f"{path} {said} is none of the clusters of the resource ({known})."
        )
    return resource.clusters[alias]


def _connectors(
    resource: Resource, mirror: Mapping[str, Node], path: str, main: Cluster
) -> Iterator[tuple[Pair, Connector]]:
    """Yield the connectors of a mirror; it says between which clusters, whatever their aliases are."""
    source, target = _sides(resource, mirror, path, main)
    patterns = _patterns(resource, mirror, path)
    for section, kind in SECTIONS.items():
        node = mirror.get(section)
        if node is None:
            continue
        place = f"{path}.{section}"
        values: dict[str, Value] = {
            "connector.class": default(kind.full_name),
            **{f"target.cluster.{key}": value for key, value in target.settings.items()},
            **{f"source.cluster.{key}": value for key, value in source.settings.items()},
            **resource.values(mapping(node).get("config"), f"{place}.config"),
            **patterns,
        }
        tasks = resource.text(mapping(node), "tasksMax", place)
        if tasks:
            values["tasks.max"] = derived(tasks, f"{place}.tasksMax")
        pair = (source.alias, target.alias)
        name = f"{pair_name(pair)}.{kind.value}"
        values.setdefault("name", default(name))
        yield pair, connector_of(name, kind, values)


def _sides(
    resource: Resource, mirror: Mapping[str, Node], path: str, main: Cluster
) -> tuple[Cluster, Cluster]:
    if "source" in mirror:
        source = resource.cluster(mirror["source"], f"{path}.source")
        return resource.clusters.setdefault(source.alias, source), main
    source = _known(resource, text_of(mirror.get("sourceCluster")), f"{path}.sourceCluster")
    asked = text_of(mirror.get("targetCluster"))
    target = _known(resource, asked, f"{path}.targetCluster") if asked else main
    return source, target


def _patterns(resource: Resource, mirror: Mapping[str, Node], path: str) -> dict[str, Value]:
    found = {}
    for key, names in PATTERNS.items():
        given = [entry for entry in (resource.text(mirror, n, path) for n in names) if entry]
        if given:
            found[key] = derived(given[0], f"{path}.{given[0].key}")
    return found


def _findings(resource: Resource) -> Iterator[Finding]:
    main = text_of(resource.spec.get("connectCluster"))
    for number, node in enumerate(sequence(resource.spec.get("mirrors"))):
        asked = mapping(node).get("targetCluster")
        if main and isinstance(asked, Leaf) and asked.text not in (None, main):
            yield Finding(
                "connect-cluster",
                Severity.ERROR,
                f"Mirror {number + 1} has the target {asked.text}, but connectCluster is {main}: its records "
                f"would be written to {main}.",
                "Let connectCluster name the target of every mirror; use a resource per target.",
                f"{resource.file}:{asked.line} spec.mirrors[{number}].targetCluster",
                "targetCluster",
            )
