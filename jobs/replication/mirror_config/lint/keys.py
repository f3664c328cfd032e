"""Keys of mm2.properties that are none, or that reach nothing. Pure.

Source: MirrorMakerConfig: what it passes on, and what it drops without a word.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.read.dedicated import split_pair_key
from jobs.replication.mirror_config.values import (
    ARROW,
    Deployment,
    Entry,
    Finding,
    Form,
    Pair,
    Severity,
    ordered_pairs,
    pair_name,
)

# Keys that people write, and what they mean.
_MISSPELLED = {"enable": "enabled"}
_WORKER_ONLY = ("exactly.once.source.support", "group.id", "client.id", "rebalance.timeout.ms")
_BELOW_CONNECTORS = ("transforms.", "predicates.", "topic.creation.")
_REST_PREFIXES = ("listeners.", "rest.")
_CLOSE = 0.85


def lint_keys(deployment: Deployment) -> Iterator[Finding]:
    """Yield what is wrong with the names of settings in one file."""
    if deployment.form is not Form.PROPERTIES:
        for entry in deployment.entries:
            yield from _connector_key(entry, entry.key, "")
        return
    pairs = {f"{pair_name(pair)}.": pair for pair in ordered_pairs(deployment.clusters)}
    aliases = sorted(deployment.clusters, key=len, reverse=True)
    for entry in deployment.entries:
        yield from _broken_arrow(entry, deployment.clusters)
        prefix = _pair_prefix(entry.key, pairs)
        alias = next((a for a in aliases if entry.key.startswith(f"{a}.")), None)
        if prefix:
            yield from _flow_key(entry, entry.key[len(prefix) :], pairs[prefix])
        elif ARROW in entry.key:
            yield from _strange_pair(entry, deployment)
        elif alias is not None:
            yield from _cluster_key(entry, alias)
        else:
            yield from _top_key(entry, deployment)


def _pair_prefix(key: str, pairs: dict[str, Pair]) -> str | None:
    """Return the `S->T.` that a key begins with, without trying every pair."""
    if ARROW not in key:
        return None
    dots = [at + 1 for at, character in enumerate(key) if character == "."]
    return next((key[:at] for at in reversed(dots) if key[:at] in pairs), None)


def _broken_arrow(entry: Entry, clusters: tuple[str, ...]) -> Iterator[Finding]:
    value = entry.value
    if entry.key in clusters and value.startswith((ARROW, "-", ">")):
        yield Finding(
            "broken-arrow",
            Severity.ERROR,
            f"A blank ends the key, so this line sets {entry.key} to {value.partition('=')[0]!r} and more.",
            f"Write {entry.key}->TARGET.KEY without blanks around the arrow.",
            entry.where,
            entry.key,
        )


def _strange_pair(entry: Entry, deployment: Deployment) -> Iterator[Finding]:
    parts = split_pair_key(entry.key)
    if parts is None:
        yield _unknown(
            entry, f"{entry.key} is no key: `SOURCE->TARGET.KEY` is wanted.", "Correct it."
        )
        return
    source, target, rest = parts
    known = ", ".join(deployment.clusters)
    strange = [alias for alias in (source, target) if alias not in deployment.clusters]
    text = (
        f"{', '.join(strange)} is not one of the clusters ({known}), so"
        if strange
        else "A flow needs two clusters, so"
    )
    yield Finding(
        "unknown-cluster",
        Severity.ERROR,
        f"{text} {entry.key} reaches nothing.",
        "Correct the alias, or add it to `clusters`.",
        entry.where,
        entry.key,
    )
    yield from _flow_key(entry, rest, (source, target))


def _flow_key(entry: Entry, key: str, pair: Pair) -> Iterator[Finding]:
    name, target = pair_name(pair), pair[1]
    if key.startswith("producer.") and not key.startswith("producer.override."):
        option = key.removeprefix("producer.")
        yield Finding(
            "producer-prefix",
            Severity.WARNING,
            f"{entry.key} reaches only the offset-syncs producer: records are written by the worker's.",
            f"Use {target}.producer.* ({target}.producer.{option}) or {name}.producer.override.* "
            f"({name}.producer.override.{option}).",
            entry.where,
            entry.key,
            name,
        )
    elif key in _WORKER_ONLY or key.startswith(
        ("offset.storage", "config.storage", "status.storage")
    ):
        yield Finding(
            "worker-key",
            Severity.WARNING,
            f"{entry.key} reaches nothing: it belongs to the worker, which is the target cluster's.",
            f"Use {target}.{key}.",
            entry.where,
            entry.key,
            name,
        )
    else:
        yield from _connector_key(entry, key, name)


def _connector_key(entry: Entry, key: str, flow: str) -> Iterator[Finding]:
    """Yield what is wrong with a key that a connector gets."""
    yield from _removed(entry, key, flow)
    if catalogue.reaches_connectors(key) or key in catalogue.CONNECTOR_KEYS:
        return
    if key.startswith(catalogue.OPEN_PREFIXES):
        return
    if "." not in key and entry.path:
        return  # a field of a resource, not a key of Kafka's
    better = _better(key)
    whole = entry.key[: len(entry.key) - len(key)]
    if better:
        yield Finding(
            "misspelled-key",
            Severity.WARNING,
            f"{entry.key} is not a key: use {whole}{better}.",
            f"Replace it by {whole}{better}. As it is, it reaches nothing.",
            entry.where,
            entry.key,
            flow,
        )
    elif flow:
        text = (
            f"{entry.key} is no setting of MirrorMaker 2 or of Kafka Connect that crosslog knows."
        )
        yield _unknown(entry, text, "Nothing, if a filter or a policy of your own reads it.", flow)


def _removed(entry: Entry, key: str, flow: str = "") -> Iterator[Finding]:
    if key not in catalogue.REMOVED_IN_4:
        return
    new = catalogue.REMOVED_IN_4[key]
    whole = entry.key[: len(entry.key) - len(key)]
    yield Finding(
        "removed-key",
        Severity.WARNING,
        f"{entry.key} was removed in Kafka 4.0, which ignores it; it counts here as it did before.",
        f"Use {whole}{new}." if new else "Delete it.",
        entry.where,
        entry.key,
        flow,
    )


def _better(key: str) -> str:
    """Return the key that somebody may have meant; "" when there is none."""
    if key in _MISSPELLED:
        return _MISSPELLED[key]
    if f"{key}.enabled" in catalogue.CONNECTOR_KEYS:
        return f"{key}.enabled"
    close = difflib.get_close_matches(key, sorted(catalogue.CONNECTOR_KEYS), 1, _CLOSE)
    return close[0] if close else ""


def _cluster_key(entry: Entry, alias: str) -> Iterator[Finding]:
    key = entry.key.removeprefix(f"{alias}.")
    is_worker_key = key.startswith(catalogue.WORKER_PREFIXES) or key in ("metric.reporters",)
    if key in catalogue.CONNECTOR_KEYS and not is_worker_key:
        yield Finding(
            "cluster-key",
            Severity.WARNING,
            f"{entry.key} reaches nothing: {key} belongs to a flow and not to a cluster.",
            f"Use {alias}->TARGET.{key}, or {key} for all flows.",
            entry.where,
            entry.key,
        )
    elif difflib.get_close_matches(
        key, ["bootstrap.servers", "security.protocol"], 1, _CLOSE
    ) and not (catalogue.is_security_key(key)):
        yield _unknown(entry, f"{entry.key} is not a key of a cluster.", "Correct its spelling.")


def _top_key(entry: Entry, deployment: Deployment) -> Iterator[Finding]:
    key = entry.key
    if key in deployment.clusters:
        return
    if key.partition(".")[0] in catalogue.CLIENT_PREFIXES:
        option = key.partition(".")[2]
        yield Finding(
            "top-level-prefix",
            Severity.WARNING,
            f"{key} reaches nothing: at the top only settings of connectors count.",
            f"Use CLUSTER.{key}, for example {deployment.clusters[-1]}.{key}"
            + (f", or A->B.producer.override.{option}." if key.startswith("producer") else "."),
            entry.where,
            key,
        )
        return
    yield from _removed(entry, key)
    if _is_known_at_top(key):
        return
    if key in _WORKER_ONLY:
        text = f"{key} reaches nothing: workers take it from their target cluster only."
        yield _unknown(entry, text, f"Use TARGET.{key}.")
        return
    better = "" if key in catalogue.CONNECTOR_KEYS else _better(key)
    if better:
        yield from _connector_key(entry, key, "")
    elif key in catalogue.CONNECTOR_KEYS or key.startswith(_BELOW_CONNECTORS):
        text = f"{key} reaches nothing: at the top, MirrorMaker 2 passes only the keys on that it knows."
        yield _unknown(entry, text, f"Use A->B.{key}.")
    else:
        yield _unknown(
            entry, f"{key} reaches nothing: it is no setting of MirrorMaker 2.", "Delete it."
        )


def _is_known_at_top(key: str) -> bool:
    return (
        key in catalogue.TOP_KEYS
        or key in catalogue.CONNECTOR_KEYS
        or key.startswith(
            (*catalogue.WORKER_PREFIXES, *catalogue.CONNECTOR_PREFIXES, *_REST_PREFIXES)
        )
        or catalogue.is_security_key(key)
    )


def _unknown(entry: Entry, text: str, do: str, flow: str = "") -> Finding:
    severity = Severity.INFO if flow else Severity.WARNING
    return Finding("unknown-key", severity, text, do, entry.where, entry.key, flow)
