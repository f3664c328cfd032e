"""Keys that are none, or that reach nothing where they are written. Pure.

Source: MirrorMakerConfig (what it passes on, and what it drops silently), and MirrorConnectorConfig
(of `source.cluster.*` and `target.cluster.*`, clients get the names of MirrorClientConfig only).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

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
_SIDES = ("source.cluster.", "target.cluster.")
_SIDE = len(_SIDES[0])
# Settings of workers that clients have as well, and that mean the clients in a flow or a connector.
_OF_CLIENTS_TOO = (catalogue.WORKER_KEYS & catalogue.CLIENTS_OF.keys()) - {
    "group.id",
    "client.id",
    "metric.reporters",
}
_BELOW_CONNECTORS = ("transforms.", "predicates.", "topic.creation.")
_REST_PREFIXES = ("listeners.", "rest.")
_CLOSE = 0.85


def lint_keys(deployment: Deployment) -> Iterator[Finding]:
    """Yield what is wrong with the names of settings in one file."""
    if deployment.form is not Form.PROPERTIES:
        workers = [flow.worker or {} for flow in deployment.flows]
        of_workers = {id(v.entry) for worker in workers for v in worker.values() if v.entry}
        for entry in deployment.entries:
            yield from _key_of_a_path(entry, is_of_worker=id(entry) in of_workers)
        return
    pairs = {f"{pair_name(pair)}.": pair for pair in ordered_pairs(deployment.clusters)}
    aliases = sorted(deployment.clusters, key=len, reverse=True)
    targets = {target for _, target in deployment.pairs}
    for entry in deployment.entries:
        yield from _broken_arrow(entry, deployment.clusters)
        prefix = _pair_prefix(entry.key, pairs)
        alias = next((a for a in aliases if entry.key.startswith(f"{a}.")), None)
        if prefix:
            yield from _flow_key(entry, entry.key[len(prefix) :], pairs[prefix])
        elif ARROW in entry.key:
            yield from _strange_pair(entry, deployment)
        elif alias is not None:
            yield from _cluster_key(entry, alias, is_target=alias in targets)
        else:
            yield from _top_key(entry, deployment)


def _key_of_a_path(entry: Entry, *, is_of_worker: bool) -> Iterator[Finding]:
    """Yield what is wrong with a key of a connector, or of a cluster's section in a resource."""
    is_of_cluster = entry.path.startswith("spec.") and "Connector." not in entry.path
    if not is_of_cluster:
        yield from _connector_key(entry, entry.key, "")
    elif entry.path.endswith(".config"):
        yield from _section_key(entry, is_of_worker=is_of_worker)


def _section_key(entry: Entry, *, is_of_worker: bool) -> Iterator[Finding]:
    """Yield what is wrong with a key in the `config` of a cluster of a resource.

    Strimzi gives it to the worker, where the cluster is the worker's, and to connectors behind
    `source.cluster.` or `target.cluster.`.
    """
    key, option = entry.key, catalogue.option_of(entry.key)
    if catalogue.is_security_key(key) or key == "alias":
        return
    if is_of_worker and (option != key or catalogue.is_worker_key(key)):
        return
    here = "producer.{}" if is_of_worker else "producer.override.{} in sourceConnector.config"
    keys = {"consumer": "source.consumer.{} in sourceConnector.config", "producer": here}
    if option in catalogue.CLIENTS_OF and not catalogue.is_worker_key(key):
        yield _no_client(entry, option, keys)
    elif catalogue.is_worker_key(key):
        yield _of_worker(entry, "the `config` of the cluster that is connectCluster")
    elif key in catalogue.CONNECTOR_KEYS:
        do = f"Write {key} in the config of the connector that it is for."
        text = f"{key} reaches nothing here: it belongs to a connector and not to a cluster."
        yield _warning("cluster-key", entry, text, do)


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
        yield _warning(
            "producer-prefix",
            entry,
            f"{entry.key} reaches only the offset-syncs producer: records are written by the worker's.",
            f"Use {target}.producer.* ({target}.producer.{option}) or {name}.producer.override.* "
            f"({name}.producer.override.{option}).",
            name,
        )
    elif _is_of_worker_only(key) and key not in _OF_CLIENTS_TOO:
        yield _of_worker(entry, f"{target}.{key}", name)
    else:
        yield from _connector_key(entry, key, name, target)


def _is_of_worker_only(key: str) -> bool:
    is_shared = key in catalogue.CONNECTOR_KEYS or key.partition(".")[0] in (
        "key",
        "value",
        "header",
    )
    return catalogue.is_worker_key(key) and not is_shared and not catalogue.reaches_connectors(key)


def _of_worker(entry: Entry, right: str, flow: str = "") -> Finding:
    return _warning(
        "worker-key",
        entry,
        f"{entry.key} reaches nothing here: it is a setting of the Connect worker.",
        f"Use {right}.",
        flow,
    )


def _no_client(entry: Entry, option: str, keys: Mapping[str, str], flow: str = "") -> Finding:
    """Return that a setting reaches no client; `keys` do, by client, with {} for the option."""
    known = catalogue.CLIENTS_OF[option]
    right = [text.replace("{}", option) for client, text in keys.items() if client in known]
    return _warning(
        "no-client",
        entry,
        f"{entry.key} reaches no client that reads or writes records: clients get the address and "
        f"security of a cluster, and what is behind their own prefixes ({option}: {', '.join(known)}).",
        f"Use {' or '.join(right)}." if right else "Delete it.",
        flow,
    )


def _connector_key(entry: Entry, key: str, flow: str, target: str = "") -> Iterator[Finding]:
    """Yield what is wrong with a key that a connector gets; `target` is the flow's in mm2.properties."""
    yield from _removed(entry, key, flow)
    option, whole = catalogue.option_of(key), entry.key[: len(entry.key) - len(key)]
    side = key.partition(".")[0] if key.startswith(("source.", "target.")) else ""
    lead = f"{side or 'source'}." if not target or side else ""
    keys = {
        "consumer": f"{whole}{lead}consumer.{{}}",
        "producer": f"{target}.producer.{{}} or {whole}producer.override.{{}}"
        if target
        else "producer.override.{}",
        "admin": f"{whole}{lead}admin.{{}}",
    }
    likely = {"source": ("consumer", "admin"), "target": ("producer", "admin")}.get(side, ())
    if set(likely) & set(catalogue.CLIENTS_OF.get(option, ())):
        keys = {client: keys[client] for client in likely}
    if key.startswith(_SIDES):
        yield from _side_key(entry, key, keys, flow)
    elif option in catalogue.CLIENTS_OF and (
        _is_dead_option(key, option) or key in _OF_CLIENTS_TOO
    ):
        yield _no_client(entry, option, keys, flow)
    elif not whole and _is_of_worker_only(key):
        right = f"{key} in the properties of the Connect workers"
        if entry.path.startswith("spec."):
            right = f"{key} in the `config` of the cluster that is connectCluster"
        yield _of_worker(entry, right, flow)
    elif not (
        catalogue.reaches_connectors(key)
        or key in catalogue.CONNECTOR_KEYS
        or key.startswith(catalogue.OPEN_PREFIXES)
        or ("." not in key and entry.path)  # a field of a resource, not a key of Kafka's
    ):
        yield from _strange_key(entry, key, flow)


def _is_dead_option(key: str, option: str) -> bool:
    """Return whether a setting of clients has no client in front, or one that does not know it."""
    if key == option:
        return not catalogue.reaches_connectors(key) and not catalogue.is_worker_key(key)
    return _client_before(key, option) not in catalogue.CLIENTS_OF[option]


def _client_before(key: str, option: str) -> str:
    parts = key[: len(key) - len(option)].split(".")
    return next((part for part in parts if part in catalogue.CLIENT_PREFIXES), "")


def _side_key(entry: Entry, key: str, keys: Mapping[str, str], flow: str) -> Iterator[Finding]:
    """Yield keys behind `source.cluster.` or `target.cluster.` that clients do not get."""
    name = key[_SIDE:]
    option = catalogue.option_of(name)
    if name == "alias" or catalogue.is_security_key(name):
        return
    close = difflib.get_close_matches(name, ["bootstrap.servers", "security.protocol"], 1, _CLOSE)
    if option in catalogue.CLIENTS_OF:
        yield _no_client(entry, option, keys, flow)
    elif close:
        text, do = f"{entry.key} is no setting of a cluster.", f"Use {key[:_SIDE]}{close[0]}."
        yield _warning("misspelled-key", entry, text, do, flow)
    else:
        text = f"{entry.key} reaches no client: of a cluster, clients get the address and security only."
        yield _unknown(entry, text, "Delete it.", flow)


def _strange_key(entry: Entry, key: str, flow: str) -> Iterator[Finding]:
    better = _better(key)
    whole = entry.key[: len(entry.key) - len(key)]
    if better:
        yield _warning(
            "misspelled-key",
            entry,
            f"{entry.key} is not a key: use {whole}{better}.",
            f"Replace it by {whole}{better}{_unit(key, better)}. As it is, it reaches nothing.",
            flow,
        )
    elif flow:
        text = (
            f"{entry.key} is no setting of MirrorMaker 2 or of Kafka Connect that crosslog knows."
        )
        yield _unknown(entry, text, "Nothing, if a filter or a policy of your own reads it.", flow)


def _unit(key: str, better: str) -> str:
    return ", in seconds" if key.endswith(".ms") and better.endswith(".seconds") else ""


def _removed(entry: Entry, key: str, flow: str = "") -> Iterator[Finding]:
    if key not in catalogue.REMOVED_IN_4:
        return
    new = catalogue.REMOVED_IN_4[key]
    whole = entry.key[: len(entry.key) - len(key)]
    yield _warning(
        "removed-key",
        entry,
        f"{entry.key} was removed in Kafka 4.0, which ignores it; it counts here as it did before.",
        f"Use {whole}{new}." if new else "Delete it.",
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


def _cluster_key(entry: Entry, alias: str, *, is_target: bool) -> Iterator[Finding]:
    key = entry.key.removeprefix(f"{alias}.")
    option = catalogue.option_of(key)
    is_worker_key = catalogue.is_worker_key(key) or key.startswith("replication.policy")
    keys = {client: f"{alias}.{client}.{{}}" for client in catalogue.CLIENT_PREFIXES}
    if option in catalogue.CLIENTS_OF and not is_worker_key and _is_dead_option(key, option):
        yield _no_client(entry, option, keys)
    elif key in catalogue.CONNECTOR_KEYS and not is_worker_key:
        yield _warning(
            "cluster-key",
            entry,
            f"{entry.key} reaches nothing: {key} belongs to a flow and not to a cluster.",
            f"Use {alias}->TARGET.{key}, or {key} for all flows.",
        )
    elif _is_of_worker_only(key) and not is_target and not catalogue.is_security_key(key):
        yield _of_worker(entry, f"TARGET.{key}: workers take the settings of their target cluster")
    elif difflib.get_close_matches(
        key, ["bootstrap.servers", "security.protocol"], 1, _CLOSE
    ) and not (catalogue.is_security_key(key)):
        yield _unknown(entry, f"{entry.key} is not a key of a cluster.", "Correct its spelling.")


def _top_key(entry: Entry, deployment: Deployment) -> Iterator[Finding]:
    key = entry.key
    if key in deployment.clusters:
        return
    is_known = _is_known_at_top(key)
    if key.partition(".")[0] in catalogue.CLIENT_PREFIXES and not is_known:
        option = key.partition(".")[2]
        yield _warning(
            "top-level-prefix",
            entry,
            f"{key} reaches nothing: at the top only settings of connectors count.",
            f"Use CLUSTER.{key}, for example {deployment.clusters[-1]}.{key}"
            + (f", or A->B.producer.override.{option}." if key.startswith("producer") else "."),
        )
        return
    yield from _removed(entry, key)
    if not is_known:
        yield from _dropped_key(entry, deployment)


def _dropped_key(entry: Entry, deployment: Deployment) -> Iterator[Finding]:
    """Yield a key at the top that MirrorMaker 2 passes on to nothing."""
    key = entry.key
    if _is_of_worker_only(key) and key not in _OF_CLIENTS_TOO:
        text = f"{key} reaches nothing: workers take it from their target cluster only."
        yield _unknown(entry, text, f"Use TARGET.{key}.")
        return
    name, _, rest = key.partition(".")
    if catalogue.is_security_key(rest):
        known = ", ".join(deployment.clusters)
        text = f"{name} is not one of the clusters ({known}), so {key} reaches nothing."
        do = "Correct the alias, or add it to `clusters`."
        yield _warning("unknown-cluster", entry, text, do)
        return
    option = catalogue.option_of(key)
    if option in catalogue.CLIENTS_OF:
        first, last = deployment.clusters[0], deployment.clusters[-1]
        keys = {
            c: f"{first if c == 'consumer' else last}.{c}.{{}}" for c in catalogue.CLIENT_PREFIXES
        }
        yield _no_client(entry, option, keys)
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


def _warning(code: str, entry: Entry, text: str, do: str, flow: str = "") -> Finding:
    return Finding(code, Severity.WARNING, text, do, entry.where, entry.key, flow)


def _unknown(entry: Entry, text: str, do: str, flow: str = "") -> Finding:
    severity = Severity.INFO if flow else Severity.WARNING
    return Finding("unknown-key", severity, text, do, entry.where, entry.key, flow)
