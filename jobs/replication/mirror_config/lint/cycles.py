"""Circles of flows: where names stop records from going round, and where nothing does. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.replication.mirror_config.naming import CLASS, SEPARATOR, SOURCE_ALIAS, Naming, naming_of
from jobs.replication.mirror_config.patterns import may_share
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Finding,
    MirrorFlow,
    Severity,
)

_IDENTITY_DO = (
    "Use the default policy in one direction at least, or let the flows' topics exclude each other."
)


def lint_cycles(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield every circle of enabled flows, with what becomes of a record in it."""
    enabled = {(f.source, f.target): f for f in flows if f.is_enabled and f.source != f.target}
    graph: dict[str, set[str]] = {}
    for source, target in enabled:
        graph.setdefault(source, set()).add(target)
        graph.setdefault(target, set())
    for members in circles(graph):
        inside = [f for (s, t), f in enabled.items() if s in members and t in members]
        yield from _circle(sorted(members), inside)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of clusters that reach each other both ways."""
    reached = {node: _reachable(graph, node) for node in graph}
    found: list[set[str]] = []
    for node in graph:
        members = {other for other in reached[node] if node in reached[other]}
        if len(members) > 1 and members not in found:
            found.append(members)
    return found


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        for node in graph[todo.pop()]:
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return seen


def _circle(members: list[str], flows: list[MirrorFlow]) -> Iterator[Finding]:
    sources = {f.name: c for f in flows if (c := f.first(ConnectorClass.SOURCE)) is not None}
    namings = {name: naming_of(connector) for name, connector in sources.items()}
    names = ", ".join(flow.name for flow in flows)
    file = " ".join(dict.fromkeys(flow.file for flow in flows))
    keeping = [name for name, naming in namings.items() if naming.keeps_names]
    if keeping:
        is_identity = any(namings[name].is_identity for name in keeping)
        how = "Identity" if is_identity else "An empty alias with an empty separator"
        yield from _kept(members, sources, keeping, (how, names, file))
    elif not all(naming.is_known for naming in namings.values()):
        yield Finding(
            "cycle-unknown-policy",
            Severity.WARNING,
            f"{names} form a circle, and whether the policy stops records from going round is not known.",
            "Look at the policy's topicSource: it must name the cluster of origin.",
            file,
            CLASS,
        )
    elif len({_key(naming) for naming in namings.values()}) > 1:
        yield Finding(
            "cycle-separators",
            Severity.ERROR,
            f"{names} form a circle with different separators: neither flow sees what came from its own "
            "target, so every topic is copied round and round under names that grow without end.",
            "Use one separator for all of them.",
            file,
            SEPARATOR,
        )
    elif unseen := _unrecognised(members, flows, namings):
        yield Finding(
            "cycle-aliases",
            Severity.ERROR,
            f"{names} form a circle, and {unseen}: what came from a cluster is copied back to it under names "
            "that grow.",
            "Leave source.cluster.alias and target.cluster.alias out, or give a cluster one alias.",
            file,
            SOURCE_ALIAS,
        )
    else:
        yield Finding(
            "cycle",
            Severity.INFO,
            f"{names} form a cycle: remote topics are not replicated back, as their names show their source.",
            "Nothing, as long as no local topic begins with a cluster's alias.",
            file,
        )


def _key(naming: Naming) -> str:
    return naming.separator


def _unrecognised(members: list[str], flows: list[MirrorFlow], namings: dict[str, Naming]) -> str:
    """Return which cluster has another alias in the flows from it than in those to it; "" for none."""
    for cluster in members:
        here = {namings[f.name].source for f in flows if f.source == cluster and f.name in namings}
        back = {namings[f.name].target for f in flows if f.target == cluster and f.name in namings}
        if len(here | back) > 1:
            told = " and ".join(repr(alias) for alias in sorted(here))
            return f"{cluster} is {told} in names of topics and {sorted(back)[0]!r} for the flows to it"
    return ""


def _kept(
    members: list[str],
    sources: dict[str, Connector],
    keeping: list[str],
    told: tuple[str, str, str],
) -> Iterator[Finding]:
    how, names, file = told
    if len(sources) == 2 and not may_share(*sources.values()):  # noqa: PLR2004  there and back
        return
    if len(members) == 2 and len(keeping) == len(sources):  # noqa: PLR2004  there and back
        text = f"{how} both ways has no cycle protection: with {names}, every record is copied back and "
        text += "forth for ever."
        code = "identity-both-ways"
    else:
        text = f"{names} form a circle, and {', '.join(keeping)} keeps names ({how}), which tell nothing "
        text += "of where a topic came from: records go round without end."
        code = "identity-cycle"
    yield Finding(code, Severity.ERROR, text, _IDENTITY_DO, file, CLASS)
