"""Explain a configuration of MirrorMaker 2 that somebody shows: nothing of it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q

from console.clusters.models import Cluster, Topic
from console.frame.security.access import visible
from console.replication.flows.mirror_graph import Graph, draw_graph
from jobs.cluster.errors import InvalidFields
from jobs.replication.mirror_config.export.forms import FORMS, Exported, export
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.read.configuration import MirrorConfig, read_config
from jobs.replication.mirror_config.read.text_input import BadInput, InputFile
from jobs.replication.mirror_config.report import report, topology
from jobs.replication.mirror_config.values import Finding, Kind, MirrorFlow, Pair, Value

MOST_ROWS = 1000
# Of more flows, other forms are for the command, or for one flow at a time.
MOST_EXPORTED = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One effective value for a table: of a connector, or of the worker."""

    part: str
    key: str
    value: Value


@dataclass(frozen=True, slots=True)
class ShownFlow:
    """A flow with the rows that fit the filter; `left_out` is how many more there are."""

    flow: MirrorFlow
    rows: Sequence[Row]
    left_out: int


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything that a page shows of a configuration."""

    config: MirrorConfig
    findings: Sequence[Finding]
    flows: Sequence[ShownFlow]
    graph: Graph
    exports: Sequence[Exported]
    only: Pair | None

    def report(self) -> dict[str, Any]:
        """Return it as JSON values, the same as `crosslog mirror-config --json`."""
        return report(self.config, self.findings, self.only)


def explain(
    user: Any,
    files: Sequence[InputFile],
    flow: str = "",
    *,
    words: str = "",
    with_defaults: bool = False,
) -> Explained:
    """Explain files; raises `InvalidFields` with `text` (what is wrong with a file) or `flow`."""
    try:
        config = read_config(files)
        only = _pair(config, flow)
        config = read_config(files, only) if only else config
    except BadInput as error:
        raise InvalidFields({"text": f"{error.file}: {error}"}) from None
    findings = lint(config, known_facts(user, config), only)
    flows = [f for f in config.flows if only in (None, (f.source, f.target))]
    return Explained(
        config,
        findings,
        _shown(flows, words, with_defaults=with_defaults),
        draw_graph(topology(config)),
        [export(config, form, only) for form in FORMS] if len(flows) <= MOST_EXPORTED else [],
        only,
    )


def _pair(config: MirrorConfig, flow: str) -> Pair | None:
    if not flow.strip():
        return None
    pair = config.find_pair(flow)
    if pair is None:
        known = ", ".join(f"{source}->{target}" for source, target in config.known_pairs()[:10])
        raise InvalidFields({"flow": f"There is no flow {flow}; there is {known}."})
    return pair


def known_facts(user: Any, config: MirrorConfig) -> Facts:
    """Return what is registered and was collected under the same aliases, where this person may see it."""
    aliases = {alias for deployment in config.deployments for alias in deployment.clusters}
    clusters = visible(user, Cluster.objects.filter(alias__in=aliases))
    counted = clusters.annotate(live=Count("brokers", filter=Q(brokers__is_live=True)))
    brokers = {row.alias: row.live for row in counted if row.live}
    rows = Topic.objects.filter(cluster__in=clusters).values_list("cluster__alias", "name")
    topics: dict[str, list[str]] = {}
    for alias, name in rows:
        topics.setdefault(alias, []).append(name)
    return Facts(brokers, topics)


def _shown(flows: Sequence[MirrorFlow], words: str, *, with_defaults: bool) -> list[ShownFlow]:
    wanted, room, shown = words.lower().split(), MOST_ROWS, []
    for flow in flows:
        rows = [row for row in _rows(flow) if _fits(row, wanted, with_defaults=with_defaults)]
        shown.append(ShownFlow(flow, rows[:room], max(0, len(rows) - room)))
        room -= min(room, len(rows))
    return shown


def _rows(flow: MirrorFlow) -> list[Row]:
    parts: list[tuple[str, Mapping[str, Value]]] = [(c.name, c.config) for c in flow.connectors]
    if flow.worker is not None:
        parts.append(("Connect worker", flow.worker))
    return [Row(part, key, config[key]) for part, config in parts for key in sorted(config)]


def _fits(row: Row, wanted: Sequence[str], *, with_defaults: bool) -> bool:
    is_own = row.value.kind is not Kind.DEFAULT and not row.value.rule.startswith("copied to")
    text = f"{row.part} {row.key} {row.value.value} {row.value.origin}".lower()
    return (with_defaults or is_own) and all(word in text for word in wanted)
