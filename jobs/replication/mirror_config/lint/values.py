"""Values of a flow that mean something else than they seem to, or that do not fit together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.patterns.cursor import NotAPattern, NotEvaluated
from jobs.patterns.matching import refusal_of
from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.patterns import comma_inside, pattern_error
from jobs.replication.mirror_config.redaction import is_reference
from jobs.replication.mirror_config.values import (
    Connector,
    ConnectorClass,
    Finding,
    Form,
    Kind,
    MirrorFlow,
    Severity,
    Value,
    whole_number,
)

_FACTORS = {
    ConnectorClass.SOURCE: ("replication.factor", "offset-syncs.topic.replication.factor"),
    ConnectorClass.CHECKPOINT: ("checkpoints.topic.replication.factor",),
    ConnectorClass.HEARTBEAT: ("heartbeats.topic.replication.factor",),
}


def _found(
    flow: MirrorFlow, at: tuple[str, Value], code: str, severity: Severity, text: str, do: str
) -> Finding:
    key, value = at
    where = flow.file if value.entry is None else value.entry.where
    name = key if value.entry is None else value.entry.key
    return Finding(code, severity, text, do, where, name, flow.name)


def lint_patterns(flow: MirrorFlow, connector: Connector) -> Iterator[Finding]:
    """Yield filters that match other names than somebody meant."""
    for key in sorted(catalogue.PATTERN_LISTS & connector.config.keys()):
        value = connector.config[key]
        if value.entry is None or is_reference(value.value):
            continue
        inside = comma_inside(value.value)
        if inside is not None:
            yield _found(
                flow,
                (key, value),
                "regex-comma",
                Severity.ERROR,
                f"{value.provenance} has a comma inside {inside}: a regex with a comma is split there, and "
                f"its parts ({', '.join(connector.patterns(key))}) are patterns of their own.",
                "Write the regex without a comma, for example tt?t? for t{1,3}.",
            )
            continue
        for pattern in connector.patterns(key):
            error = pattern_error(pattern)
            if error is not None:
                yield _of_pattern(flow, (key, value), pattern, error)


def _of_pattern(
    flow: MirrorFlow, at: tuple[str, Value], pattern: str, error: NotAPattern
) -> Finding:
    text = f"{at[1].provenance}: {refusal_of(pattern, error)}"
    if isinstance(error, NotEvaluated):
        do = "MirrorMaker 2 takes it as it is; a flow of crosslog's does not: there, write it otherwise."
        return _found(flow, at, "regex-not-evaluated", Severity.INFO, text, do)
    do = "Correct it. For any name write .* and not *."
    return _found(flow, at, "regex-invalid", Severity.ERROR, text, do)


def lint_scalars(flow: MirrorFlow, connector: Connector) -> Iterator[Finding]:
    """Yield flags that are neither true nor false, and numbers that are none."""
    for key, value in connector.config.items():
        if value.entry is None or is_reference(value.value):
            continue
        text = value.value.strip().lower()
        if key in catalogue.SWITCHES and text not in {"true", "false"}:
            meaning = (
                "is taken as false"
                if key in {"enabled", "emit.heartbeats.enabled"}
                else "is refused"
            )
            yield _found(
                flow,
                (key, value),
                "not-a-flag",
                Severity.ERROR,
                f"{value.provenance} is {value.value!r}: only true and false count, and this {meaning}.",
                "Write true or false.",
            )
        elif (
            key in catalogue.SWITCHES and value.value != value.value.strip() and _is_bare(flow, key)
        ):
            yield _found(
                flow,
                (key, value),
                "blank-after-flag",
                Severity.ERROR,
                f"{value.provenance} has a blank behind it, which .properties keeps: it is false.",
                "Delete the blank at the end of the line.",
            )
        elif key in catalogue.NUMBERS and _NUMBER.fullmatch(text) is None:
            yield _found(
                flow,
                (key, value),
                "not-a-number",
                Severity.ERROR,
                f"{value.provenance} is {value.value!r}: a whole number is wanted.",
                "Write a whole number.",
            )


def _is_bare(flow: MirrorFlow, key: str) -> bool:
    """Return whether dedicated MirrorMaker 2 reads a flag before Kafka's ConfigDef trims it."""
    return flow.form is Form.PROPERTIES and key in {"enabled", "emit.heartbeats.enabled"}


def lint_factors(flow: MirrorFlow, connector: Connector, facts: Facts) -> Iterator[Finding]:
    """Yield replication factors that the brokers cannot give, where it is known how many there are."""
    for key in _FACTORS[connector.kind]:
        on_source = key.startswith("offset-syncs") and connector.get(_LOCATION) == "source"
        cluster = flow.source if on_source else flow.target
        value, brokers = connector.config[key], facts.brokers.get(cluster)
        wanted = whole_number(value.value)
        if wanted is None or wanted < 1 or brokers is None or wanted <= brokers:
            continue
        if value.entry is None and not _runs(flow, connector):
            continue
        yield _found(
            flow,
            (key, value),
            "replication-factor",
            Severity.ERROR,
            f"{key} is {wanted} ({value.provenance}), but {cluster} has {_counted(brokers)}: its topics "
            "cannot be created.",
            f"Set {key} to {brokers} or less, or to -1 for the broker's default (Kafka 2.4 and later).",
        )


def _runs(flow: MirrorFlow, connector: Connector) -> bool:
    is_heartbeat = connector.kind is ConnectorClass.HEARTBEAT
    return flow.has_heartbeats if is_heartbeat else flow.is_enabled


def lint_copies(flow: MirrorFlow, facts: Facts) -> Iterator[Finding]:
    """Yield how many brokers a flow's topics need, where it is not known how many there are."""
    source = flow.first(ConnectorClass.SOURCE)
    if flow.target not in facts.brokers and (flow.is_enabled or flow.has_heartbeats):
        wanted = [
            (number, key)
            for connector in flow.connectors
            if _runs(flow, connector)
            for key in _FACTORS[connector.kind]
            if (number := whole_number(connector.get(key))) is not None
        ]
        most, key = max(wanted, default=(0, ""))
        if most > 1:
            yield Finding(
                "replication-factor-unknown",
                Severity.INFO,
                f"Topics on {flow.target} need {most} brokers ({key}): whether there are so many is unknown.",
                "Compare the replication factor with the number of brokers, or tell crosslog how many.",
                flow.file,
                key,
                flow.name,
            )
    if source is not None and flow.is_enabled:
        yield from _single_copy(flow, source)
        yield from _min_insync(flow, source)


def lint_changed_defaults(flow: MirrorFlow) -> Iterator[Finding]:
    """Yield defaults that depend on Kafka's version."""
    source = flow.first(ConnectorClass.SOURCE)
    for key, newer in catalogue.NEWER_DEFAULTS.items() if source and flow.is_enabled else ():
        if source is not None and source.config[key].kind is Kind.DEFAULT:
            yield Finding(
                "default-changed",
                Severity.INFO,
                f"{key} is not set, and its default depends on Kafka's version: 4.3 has {newer}.",
                f"Write {key} out, so that an upgrade changes nothing.",
                flow.file,
                key,
                flow.name,
            )


def _single_copy(flow: MirrorFlow, source: Connector) -> Iterator[Finding]:
    value = source.config["replication.factor"]
    if whole_number(value.value) == 1 and value.entry is not None:
        yield _found(
            flow,
            ("replication.factor", value),
            "single-copy",
            Severity.WARNING,
            f"Remote topics of {flow.name} have one replica: one lost broker of {flow.target} loses them.",
            "Set replication.factor to 3, or to -1 for the target's default.",
        )


def _min_insync(flow: MirrorFlow, source: Connector) -> Iterator[Finding]:
    excluded = source.config["config.properties.exclude"]
    copies = any(("min" in p and "insync" in p) or p == ".*" for p in source.patterns(_EXCLUDED))
    if copies or excluded.entry is None or not source.is_true("sync.topic.configs.enabled"):
        return
    yield _found(
        flow,
        (_EXCLUDED, excluded),
        "min-insync-copied",
        Severity.WARNING,
        f"{excluded.provenance} does not exclude min.insync.replicas, so it is copied from the source, while "
        f"the replication factor ({source.get('replication.factor')}) is not: a topic with more needed than "
        "there are takes no more writes.",
        "Add min\\.insync\\.replicas to the exclusions.",
    )


def _counted(brokers: int) -> str:
    return f"{brokers} broker{'' if brokers == 1 else 's'}"


_NUMBER = re.compile(r"[+-]?[0-9]+")
_EXCLUDED = "config.properties.exclude"
_LOCATION = "offset-syncs.topic.location"
