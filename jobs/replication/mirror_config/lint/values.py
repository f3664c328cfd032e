"""Values of a flow that mean something else than they seem to, or that do not fit together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.patterns.java import NotAPattern, NotEvaluated
from jobs.patterns.matching import refusal_of
from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.patterns import comma_inside, pattern_error
from jobs.replication.mirror_config.redaction import (
    has_reference,
    is_reference,
    providers_in,
)
from jobs.replication.mirror_config.values import (
    Config,
    Connector,
    ConnectorClass,
    Deployment,
    Finding,
    Form,
    Kind,
    MirrorFlow,
    Severity,
    Value,
    address_problem,
    finding_at,
    is_true,
    split_list,
    trim,
    whole_number,
)

_FACTORS = {
    ConnectorClass.SOURCE: ("replication.factor", "offset-syncs.topic.replication.factor"),
    ConnectorClass.CHECKPOINT: ("checkpoints.topic.replication.factor",),
    ConnectorClass.HEARTBEAT: ("heartbeats.topic.replication.factor",),
}


def lint_patterns(flow: MirrorFlow, connector: Connector) -> Iterator[Finding]:
    """Yield filters that match other names than somebody meant."""
    for key in sorted(catalogue.PATTERN_LISTS & connector.config.keys()):
        value = connector.config[key]
        if value.entry is None or is_reference(value.value):
            continue
        if key in _CHOSEN and flow.is_enabled and not connector.patterns(key):
            yield finding_at(
                flow,
                (key, value),
                "selects-nothing",
                Severity.WARNING,
                f"{value.provenance} is empty, which matches no name: {_CHOSEN[key]} of {flow.name}.",
                f"Write {key} = .* for all, or leave it out.",
            )
        inside = comma_inside(value.value)
        if inside is not None:
            yield finding_at(
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
        return finding_at(flow, at, "regex-not-evaluated", Severity.INFO, text, do)
    do = "Correct it. For any name write .* and not *."
    return finding_at(flow, at, "regex-invalid", Severity.ERROR, text, do)


def lint_scalars(flow: MirrorFlow, config: Config) -> Iterator[Finding]:
    """Yield values of a connector or a worker that are not of the type of their setting, or out of range."""
    for key, value in config.items():
        if value.entry is None or has_reference(value.value) or not catalogue.is_read(key):
            continue
        at, largest = (key, value), catalogue.largest_number(key)
        option = catalogue.option_of(key)
        if option in catalogue.SWITCHES:
            yield from _flag(flow, at)
        elif largest is not None:
            yield from _number(flow, at, largest, is_used=_is_used(config, key))
        elif option == "bootstrap.servers":
            yield from wrong_addresses(flow.name, value)
        elif choices := _choices_beside(option, value.value):
            yield finding_at(
                flow,
                at,
                "not-a-choice",
                Severity.ERROR,
                f"{value.provenance} is {value.value!r}: Kafka refuses it.",
                f"Use one of {', '.join(choices)}.",
            )


def _choices_beside(option: str, text: str) -> tuple[str, ...]:
    """Return the values of a setting that takes a few only, when the given one is none of them."""
    exact = catalogue.CHOICES.get(option, (text,))
    any_case = catalogue.CHOICES_IN_ANY_CASE.get(option, (text,))
    if text not in exact:
        return exact
    return () if text.lower() in {one.lower() for one in any_case} else any_case


def _is_used(config: Config, key: str) -> bool:
    """Return whether what an interval is for is switched on."""
    switch = config.get(key.replace(_SECONDS, ".enabled"))
    return not key.endswith(_SECONDS) or (switch is not None and is_true(switch.value))


def lint_providers(deployment: Deployment) -> Iterator[Finding]:
    """Yield references to config providers that mm2.properties does not name: they stay as they are."""
    if deployment.form is not Form.PROPERTIES:
        return
    named = {e.key: split_list(e.value) for e in deployment.entries if e.key == "config.providers"}
    known = named.get("config.providers", [])
    for entry in deployment.entries:
        missing = [name for name in providers_in(entry.value) if name not in known]
        if missing:
            yield Finding(
                "no-provider",
                Severity.ERROR,
                f"{entry.key} refers to the config provider {missing[0]}, which config.providers does not "
                "name: nothing fills the value in.",
                f"Set config.providers = {missing[0]}, and config.providers.{missing[0]}.class.",
                entry.where,
                entry.key,
            )


def wrong_addresses(flow: str, value: Value) -> Iterator[Finding]:
    """Yield every address of a cluster that Kafka's clients refuse."""
    if has_reference(value.value) or value.entry is None:
        return
    for address in split_list(value.value) or [""]:
        problem = address_problem(address)
        if problem is not None:
            yield Finding(
                "not-an-address",
                Severity.ERROR,
                f"{value.provenance}: the address {address!r} {problem}. Kafka's clients refuse it.",
                "Write host:port, with commas between several.",
                value.entry.where,
                value.entry.key,
                flow,
            )


def _flag(flow: MirrorFlow, at: tuple[str, Value]) -> Iterator[Finding]:
    value = at[1]
    is_on = is_true(trim(value.value))
    if not is_on and trim(value.value).lower() != "false":
        yield finding_at(
            flow,
            at,
            "not-a-flag",
            Severity.ERROR,
            f"{value.provenance} is {value.value!r}: only true and false count; connectors refuse this.",
            "Write true or false.",
        )
    elif is_on and value.provenance == "enabled" and flow.form is Form.PROPERTIES:
        yield finding_at(
            flow,
            at,
            "enabled-for-all",
            Severity.WARNING,
            "enabled at the top enables the connectors of every flow that MirrorMaker 2 starts, and "
            "heartbeats start the flows between all clusters, in both directions.",
            "Write A->B.enabled for the flows that are wanted.",
        )


def _number(
    flow: MirrorFlow, at: tuple[str, Value], largest: int, *, is_used: bool
) -> Iterator[Finding]:
    key, value = at
    option, text = catalogue.option_of(key), value.value
    if _WHOLE.fullmatch(text) is None or abs(int(text)) > largest:
        yield finding_at(
            flow,
            at,
            "not-a-number",
            Severity.ERROR,
            f"{value.provenance} is {text!r}: a whole number of at most {largest:,} is wanted.",
            "Write a whole number.",
        )
        return
    if not is_used:
        return
    number = int(text)
    problem = _out_of_range(key, option, number)
    if problem is not None:
        severity, means, do = problem
        text = f"{value.provenance} is {number}: {means}."
        yield finding_at(flow, at, "number-out-of-range", severity, text, do)
    elif key.endswith(_SECONDS) and number >= _LONG_S and _is_round_ms(number):
        span = (
            f"{number / _DAY_S:,.1f} days" if number > _DAY_S else f"{number / _HOUR_S:,.1f} hours"
        )
        yield finding_at(
            flow,
            at,
            "interval-unit",
            Severity.WARNING,
            f"{value.provenance} is {number}: it counts seconds, so this is {span}. As "
            f"milliseconds it would be {number // 1000} s.",
            f"Write {number // 1000} if {number // 1000} s are meant.",
        )
    elif option in catalogue.LONG_WAITS and 0 < number < _SECOND_MS:
        yield finding_at(
            flow,
            at,
            "interval-unit",
            Severity.WARNING,
            f"{value.provenance} is {number}: it counts milliseconds, so this is less than a second.",
            f"Write {number * 1000} if {number} s are meant.",
        )


def _is_round_ms(number: int) -> bool:
    """Return whether a number looks like milliseconds: whole seconds, and no time in hours or days.

    Over a day, whole days with extra minutes are such a time; up to a day, whole hours.
    """
    unit = _DAY_S if number > _DAY_S else _HOUR_S
    is_said_so = number % unit == 0 and (number <= _DAY_S or (number // 1000) % 60)
    return number % 1000 == 0 and not is_said_so


def _out_of_range(key: str, option: str, number: int) -> tuple[Severity, str, str] | None:
    """Return severity, meaning and advice of a number that does not do what it seems to; None: it does."""
    if option.endswith("replication.factor"):
        do = "Write 1 or more, or -1 for the broker's default."
        return (Severity.ERROR, "no topic can have it", do) if number < 1 and number != -1 else None
    if key.endswith(_SECONDS):
        return _interval(key, number)
    if key == "tasks.max" or option.endswith(".port"):
        low, high = (1, catalogue.INT) if key == "tasks.max" else (0, 65_535)
        do = f"Write {low:,} to {high:,}."
        return None if low <= number <= high else (Severity.ERROR, "Kafka Connect refuses it", do)
    if key == "consumer.poll.timeout.ms" and number == 0:
        return Severity.WARNING, "the consumer is polled without any pause", "Write 1000."
    if option.endswith(".ms") and (number < 0 or (key == "admin.timeout.ms" and number == 0)):
        return Severity.ERROR, "it is no time to wait", "Write milliseconds, 1 or more."
    return None


def _interval(key: str, number: int) -> tuple[Severity, str, str] | None:
    if number < 0:
        switch = key.replace(_SECONDS, ".enabled")
        do = f"Set {switch} to false instead."
        return Severity.WARNING, "a negative interval switches it off", do
    if number == 0 and key.startswith(("emit.checkpoints", "emit.heartbeats")):
        return Severity.WARNING, "it is done without any pause", "Write 1 or more."
    if number == 0:
        return Severity.ERROR, "the connector refuses it and does not start", "Write 1 or more."
    return None


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
        yield finding_at(
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
        yield finding_at(
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
    yield finding_at(
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


_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_SECONDS = ".interval.seconds"
_DAY_S, _HOUR_S, _SECOND_MS = 86_400, 3_600, 1000
# Shorter intervals in seconds are as usual as the same number of milliseconds is not.
_LONG_S = 10_000
# What does not happen where such a list is empty (MirrorUtils.compilePatternList).
_CHOSEN = {"topics": "no topic is copied", "groups": "no group gets a checkpoint"}
_EXCLUDED = "config.properties.exclude"
_LOCATION = "offset-syncs.topic.location"
