"""Names that do not do what somebody expects: aliases, policies, cycles, topics. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.naming import CLASS, SEPARATOR, Naming, naming_of
from jobs.replication.mirror_config.patterns import LITERAL, may_share
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Deployment,
    Finding,
    MirrorFlow,
    Severity,
)

_TELL = (
    "Choose another alias, or set replication.policy.separator to something that no alias holds."
)


def lint_aliases(deployment: Deployment) -> Iterator[Finding]:
    """Yield aliases that a policy takes apart wrongly."""
    separators = {naming.separator for naming in _namings(deployment)} or {"."}
    for alias in deployment.clusters:
        for separator in sorted(separators - {""}):
            if separator in alias:
                yield Finding(
                    "alias-with-separator",
                    Severity.ERROR,
                    f"The alias {alias} contains the separator {separator!r}: a remote topic like "
                    f"{alias}{separator}orders is taken for one that came from "
                    f"{alias.split(separator)[0] or 'nowhere'}, so its settings and partitions are never "
                    "synced, and cycles are not seen.",
                    _TELL,
                    deployment.file,
                    alias,
                )
    for one, other in combinations(sorted(deployment.clusters), 2):
        if other.startswith(one) and any(
            other[len(one) :].startswith(s) for s in (*separators, ".")
        ):
            yield Finding(
                "alias-prefix",
                Severity.ERROR,
                f"The alias {one} is a prefix of another, {other}: settings `{other}.KEY` are also settings "
                f"of {one}, and topics of {other} look like topics of {one}.",
                _TELL,
                deployment.file,
                one,
            )


def _namings(deployment: Deployment) -> Iterator[Naming]:
    for flow in deployment.flows:
        for connector in flow.connectors[:1]:
            yield naming_of(connector)


def lint_policies(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield what is strange about the policy of a flow."""
    named = {connector.kind: naming_of(connector) for connector in flow.connectors}
    if len(set(named.values())) > 1:
        each = "; ".join(f"{kind}: {_told(naming)}" for kind, naming in named.items())
        yield Finding(
            "policy-differs",
            Severity.ERROR,
            f"The connectors of {flow.name} name topics differently ({each}), so they do not find each "
            "other's topics.",
            "Give every connector of the flow the same replication.policy settings.",
            flow.file,
            CLASS,
            flow.name,
        )
    for connector in flow.connectors[:1]:
        yield from _policy(flow, connector, named[connector.kind])


def _told(naming: Naming) -> str:
    return f"{naming.policy_class.rpartition('.')[2]} with separator {naming.separator!r}"


def _policy(flow: MirrorFlow, connector: Connector, naming: Naming) -> Iterator[Finding]:
    where = connector.config[CLASS].origin
    if naming.policy_class == catalogue.OLD_STRIMZI_IDENTITY_POLICY:
        yield Finding(
            "old-identity-policy",
            Severity.WARNING,
            f"{naming.policy_class} is Strimzi's, from before Kafka 3.0; it is read as Kafka's "
            "IdentityReplicationPolicy.",
            f"Use {catalogue.IDENTITY_POLICY}.",
            where,
            CLASS,
            flow.name,
        )
    if not naming.is_known:
        yield Finding(
            "unknown-policy",
            Severity.WARNING,
            f"{naming.policy_class} is none of Kafka's policies: how it names topics is not known.",
            "Describe it to crosslog as a custom policy, by templates.",
            where,
            CLASS,
            flow.name,
        )
    if naming.separator == "":
        yield Finding(
            "empty-separator",
            Severity.WARNING,
            "The separator is empty: where an alias ends cannot be told, and internal topics are called "
            f"mm2-offset-syncs{flow.target}internal.",
            "Leave replication.policy.separator out.",
            connector.config[SEPARATOR].origin,
            SEPARATOR,
            flow.name,
        )
    elif naming.separator != "." and naming.internal_separator and naming.is_known:
        yield Finding(
            "internal-names",
            Severity.INFO,
            f"With the separator {naming.separator!r}, internal topics have other names since Kafka 3.1: "
            f"{flow.source}{naming.separator}checkpoints{naming.separator}internal.",
            "Nothing; older programs need replication.policy.internal.topic.separator.enabled=false.",
            connector.config[SEPARATOR].origin,
            SEPARATOR,
            flow.name,
        )


def lint_fan_in(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield targets where several sources may write the same topic."""
    into: dict[str, list[tuple[MirrorFlow, Connector]]] = defaultdict(list)
    for flow in flows:
        connector = flow.first(ConnectorClass.SOURCE)
        if flow.is_enabled and connector is not None and naming_of(connector).is_identity:
            into[flow.target].append((flow, connector))
    for target, members in into.items():
        for (one, first), (other, second) in combinations(members, 2):
            if one.source != other.source and may_share(first, second):
                yield Finding(
                    "identity-fan-in",
                    Severity.WARNING,
                    f"{one.name} and {other.name} both keep names: topics that both sources have are mixed "
                    f"into one on {target}, without a way back.",
                    "Use the default policy, or let the flows' topics exclude each other.",
                    f"{one.file} {other.file}" if one.file != other.file else one.file,
                    CLASS,
                    other.name,
                )


def lint_topics(flow: MirrorFlow, facts: Facts) -> Iterator[Finding]:
    """Yield topics of the source that begin with the target's alias, and so are never copied."""
    connector = flow.first(ConnectorClass.SOURCE)
    if connector is None or not flow.is_enabled:
        return
    naming = naming_of(connector)
    if naming.is_identity or not naming.is_known or not naming.separator:
        return
    prefix = f"{flow.target}{naming.separator}"
    named = [p.replace("\\", "") for p in connector.patterns("topics") if LITERAL.fullmatch(p)]
    there = facts.topics.get(flow.source, ())
    found = sorted({topic for topic in (*named, *there) if topic.startswith(prefix)})
    if not found:
        return
    few = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")  # noqa: PLR2004  a few
    local = sorted(set(found) - {f"{prefix}{t}" for t in facts.topics.get(flow.target, ())})
    severity = Severity.WARNING if local else Severity.INFO
    yield Finding(
        "looks-like-a-cycle",
        severity,
        f"{few} on {flow.source} begins with the alias of the target, {flow.target}: it is taken for a copy "
        f"that came from there and is not replicated.",
        "Rename the topic or the alias, if it is a topic of its own." if local else "Nothing.",
        connector.config["topics"].origin,
        "topics",
        flow.name,
    )
