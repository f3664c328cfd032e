"""Names that do not do what somebody expects: aliases, policies, cycles, topics. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.catalogue import CONNECTOR_CLASS
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.naming import (
    CLASS,
    INTERNAL_SEPARATOR,
    SEPARATOR,
    SOURCE_ALIAS,
    TARGET_ALIAS,
    Naming,
    naming_of,
    overridden_aliases,
    topic_names,
)
from jobs.replication.mirror_config.patterns import LITERAL, may_share
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Deployment,
    Finding,
    Form,
    MirrorFlow,
    Severity,
    finding_at,
    trim,
)

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TELL = (
    "Choose another alias, or set replication.policy.separator to something that no alias holds."
)


def lint_aliases(deployment: Deployment) -> Iterator[Finding]:
    """Yield aliases that a policy takes apart wrongly."""
    namings = [naming_of(c) for flow in deployment.flows for c in flow.connectors[:1]]
    separators = {naming.separator for naming in namings} or {"."}
    used = dict.fromkeys(alias for n in namings for alias in (n.source, n.target))
    for alias in used or deployment.clusters:
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


def lint_overridden(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield aliases of connectors that are not those of the flow's clusters: topics follow them."""
    names = topic_names(flow)
    for connector in flow.connectors:
        for key in overridden_aliases(flow, connector):
            value, alias = (
                connector.config[key],
                flow.source if key == SOURCE_ALIAS else flow.target,
            )
            is_empty_here = flow.form is Form.CONNECT and not value.value
            text = (
                f"{value.provenance} of {connector.name} is empty."
                if is_empty_here
                else f"{value.provenance} is {value.value or 'empty'}, which overrides the alias {alias}."
            )
            if names is not None:
                text += (
                    f" The topics of {flow.name} follow it: orders is called {names.remote_orders} on "
                    f"{flow.target}, offset syncs are in {names.offset_syncs}, checkpoints in "
                    f"{names.checkpoints}."
                )
            yield finding_at(
                flow,
                (key, value),
                "alias-empty" if is_empty_here else "alias-overridden",
                Severity.WARNING,
                text,
                f"Set {key} to the name of the cluster, the same in every connector of the flow."
                if flow.form is Form.CONNECT
                else f"Delete {value.provenance} to name topics by {alias}; keep it if topics have these "
                "names already.",
            )


def lint_differing(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield flows whose connectors name topics differently, also across files."""
    by_name: dict[str, list[MirrorFlow]] = defaultdict(list)
    for flow in flows:
        by_name[flow.name].append(flow)
    for name, members in by_name.items():
        named = {(c.kind, naming_of(c)): None for flow in members for c in flow.connectors}
        files = " ".join(dict.fromkeys(flow.file for flow in members))
        if len({naming.without_aliases() for _, naming in named}) > 1:
            each = "; ".join(f"{kind}: {_told(naming)}" for kind, naming in named)
            yield Finding(
                "policy-differs",
                Severity.ERROR,
                f"The connectors of {name} name topics differently ({each}), so they do not find each "
                "other's topics.",
                "Give every connector of the flow the same replication.policy settings.",
                files,
                CLASS,
                name,
            )
        if len({(naming.source, naming.target) for _, naming in named}) > 1:
            each = "; ".join(f"{kind}: {n.source!r} to {n.target!r}" for kind, n in named)
            yield Finding(
                "alias-differs",
                Severity.ERROR,
                f"The connectors of {name} have different aliases ({each}), so they do not find each "
                "other's topics.",
                f"Give every connector of the flow the same {SOURCE_ALIAS} and {TARGET_ALIAS}.",
                files,
                SOURCE_ALIAS,
                name,
            )


def lint_policies(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield what is strange about the policy of a flow."""
    for connector in flow.connectors[:1]:
        yield from _policy(flow, connector, naming_of(connector))


def lint_blanks(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield what policies read as it is written, blanks too, while connectors trim it.

    Source: DefaultReplicationPolicy.configure, IdentityReplicationPolicy.configure.
    """
    names = topic_names(flow)
    for topic in (names.remote_orders, names.offset_syncs, names.checkpoints) if names else ():
        if not _TOPIC.fullmatch(topic):
            config = flow.connectors[0].config
            key = SOURCE_ALIAS if _TOPIC.fullmatch(config[SEPARATOR].value or ".") else SEPARATOR
            yield finding_at(
                flow,
                (key, config[key]),
                "not-a-topic-name",
                Severity.ERROR,
                f"{config[key].provenance} is {config[key].value!r}, so {flow.name} has a topic called "
                f"{topic!r}: Kafka refuses the name.",
                "Use letters, digits, dots, hyphens and underscores, without a blank at the end.",
            )
            break
    for connector in flow.connectors:
        yield from _blanks(flow, connector, naming_of(connector))


def _blanks(flow: MirrorFlow, connector: Connector, naming: Naming) -> Iterator[Finding]:
    flag, alias = connector.config[INTERNAL_SEPARATOR], connector.config.get(SOURCE_ALIAS)
    written = connector.config.get(CONNECTOR_CLASS)
    if written and written.entry and written.value != trim(written.value):
        yield finding_at(
            flow,
            (CONNECTOR_CLASS, written),
            "class-blank",
            Severity.ERROR,
            f"{written.provenance} has a blank at its end: Kafka Connect finds no class of that name.",
            "Delete the blank at the end of the value.",
        )
    has_separator = connector.config[SEPARATOR].entry is not None
    if (
        has_separator
        and flag.entry
        and not naming.internal_separator
        and connector.is_true(INTERNAL_SEPARATOR)
    ):
        yield finding_at(
            flow,
            (INTERNAL_SEPARATOR, flag),
            "blank-after-flag",
            Severity.WARNING,
            f"{flag.provenance} has a blank behind it: the policy reads false, and internal topics keep "
            "the dot.",
            "Delete the blank at the end of the value.",
        )
    if naming.is_identity and alias and alias.entry and alias.entry.value != alias.value:
        yield finding_at(
            flow,
            (SOURCE_ALIAS, alias),
            "alias-blank",
            Severity.WARNING,
            f"{alias.provenance} has a blank behind it, which IdentityReplicationPolicy keeps and the "
            f"connectors do not: topics of {flow.name} are not found on {flow.target}, and their settings "
            "and partitions are never synced.",
            "Delete the blank at the end of the value.",
        )


def _told(naming: Naming) -> str:
    return f"{naming.policy_class.rpartition('.')[2]} with separator {naming.separator!r}"


def _policy(flow: MirrorFlow, connector: Connector, naming: Naming) -> Iterator[Finding]:
    policy, separator = (CLASS, connector.config[CLASS]), (SEPARATOR, connector.config[SEPARATOR])
    names = topic_names(flow)
    if naming.policy_class == catalogue.OLD_STRIMZI_IDENTITY_POLICY:
        yield finding_at(
            flow,
            policy,
            "old-identity-policy",
            Severity.WARNING,
            f"{naming.policy_class} is Strimzi's, from before Kafka 3.0; it is read as Kafka's "
            "IdentityReplicationPolicy.",
            f"Use {catalogue.IDENTITY_POLICY}.",
        )
    if not naming.is_known:
        yield finding_at(
            flow,
            policy,
            "unknown-policy",
            Severity.WARNING,
            f"{naming.policy_class} is none of Kafka's policies: how it names topics is not known.",
            "Describe it to crosslog as a custom policy, by templates.",
        )
    if names is None:
        return
    if naming.separator == "":
        yield finding_at(
            flow,
            separator,
            "empty-separator",
            Severity.WARNING,
            "The separator is empty: the end of an alias cannot be found, and internal topics have "
            f"names like {names.offset_syncs}.",
            "Leave replication.policy.separator out.",
        )
    elif naming.separator != "." and naming.internal_separator:
        yield finding_at(
            flow,
            separator,
            "internal-names",
            Severity.INFO,
            f"With the separator {naming.separator!r}, internal topics have other names since Kafka 3.1: "
            f"{names.checkpoints}.",
            "Nothing; older programs need replication.policy.internal.topic.separator.enabled=false.",
        )


def lint_same_topics(flows: Sequence[MirrorFlow]) -> Iterator[Finding]:
    """Yield clusters where several flows may write the same topic: remote topics, or offset syncs."""
    named = [
        (flow, connector, names)
        for flow in flows
        if flow.is_enabled
        and (connector := flow.first(ConnectorClass.SOURCE))
        and (names := topic_names(flow))
    ]
    into: dict[tuple[str, str], list[tuple[MirrorFlow, Connector]]] = defaultdict(list)
    syncs: dict[tuple[str, str], list[MirrorFlow]] = defaultdict(list)
    for flow, connector, names in named:
        into[flow.target, names.remote_orders].append((flow, connector))
        if connector.is_true("emit.offset-syncs.enabled"):
            syncs[names.offset_syncs_on, names.offset_syncs].append(flow)
    for (target, _), members in into.items():
        for (one, first), (other, second) in combinations(members, 2):
            if one.source != other.source and may_share(first, second):
                yield _mixed(target, one, other, keep_names=naming_of(first).keeps_names)
    yield from _shared_syncs(syncs)


def _shared_syncs(syncs: Mapping[tuple[str, str], list[MirrorFlow]]) -> Iterator[Finding]:
    for (cluster, topic), sharing in syncs.items():
        for one, other in combinations(sharing, 2):
            if one.name != other.name:
                yield Finding(
                    "offset-syncs-shared",
                    Severity.ERROR,
                    f"{one.name} and {other.name} both write their offset syncs to {topic} on {cluster}: "
                    "group offsets are translated by those of the other flow.",
                    "Give the clusters different aliases.",
                    _files(one, other),
                    TARGET_ALIAS,
                    other.name,
                )


def _mixed(target: str, one: MirrorFlow, other: MirrorFlow, *, keep_names: bool) -> Finding:
    how = "keep names" if keep_names else "have the same source.cluster.alias"
    return Finding(
        "identity-fan-in" if keep_names else "same-names",
        Severity.WARNING,
        f"{one.name} and {other.name} both {how}: topics that both sources have are mixed into one on "
        f"{target}, without a way back.",
        "Use the default policy with an alias per source, or let the flows' topics exclude each other.",
        _files(one, other),
        CLASS if keep_names else SOURCE_ALIAS,
        other.name,
    )


def _files(one: MirrorFlow, other: MirrorFlow) -> str:
    return " ".join(dict.fromkeys((one.file, other.file)))


def lint_topics(flow: MirrorFlow, facts: Facts) -> Iterator[Finding]:
    """Yield topics of the source that begin with the target's alias, and so are never copied."""
    connector = flow.first(ConnectorClass.SOURCE)
    if connector is None or not flow.is_enabled:
        return
    naming = naming_of(connector)
    if naming.is_identity or not naming.is_known or not naming.separator:
        return
    prefix = f"{naming.target}{naming.separator}"
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
        f"{few} on {flow.source} begins with the alias of the target, {naming.target}: it is taken for a "
        "copy that came from there and is not replicated.",
        "Rename the topic or the alias, if it is a topic of its own." if local else "Nothing.",
        connector.config["topics"].origin,
        "topics",
        flow.name,
    )
