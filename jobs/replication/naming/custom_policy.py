"""A naming policy given by data: templates for the names that ReplicationPolicy gives (KIP-690). Pure.

The predicates follow from the templates, or are given as patterns. What a template makes can be taken
apart again, without a doubt: a template for which that is not so is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from jobs.patterns.matching import Matcher, matcher_of, name_pattern, pattern_problem
from jobs.replication.policy import HEARTBEATS, ReplicationPolicy

SOURCE, TOPIC, ALIAS = "{source}", "{topic}", "{alias}"
LONGEST = 200
_LETTERS = re.compile(r"[A-Za-z0-9._-]*")
_PLACEHOLDER = re.compile(r"(\{[^{}]*\})")


@dataclass(frozen=True, slots=True)
class Template:
    """A name with placeholders: literals around them, in their order."""

    text: str
    literals: tuple[str, ...]
    placeholders: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, wanted: frozenset[str]) -> Template:
        """Read a template that holds exactly these placeholders; raises `ValueError` with a sentence."""
        parts = _PLACEHOLDER.split(text)
        literals, found = tuple(parts[::2]), tuple(parts[1::2])
        if len(text) > LONGEST:
            raise ValueError(f"It is longer than {LONGEST} characters.")
        if sorted(found) != sorted(wanted):
            names = " and ".join(sorted(wanted)) or "no placeholder"
            raise ValueError(f"It needs {names}, {'each once' if wanted else 'only letters'}.")
        strange = [literal for literal in literals if not _LETTERS.fullmatch(literal)]
        if strange:
            raise ValueError(
                "A topic's name has only letters, digits, dots, hyphens and underscores; "
                f"{strange[0]!r} has others."
            )
        return cls(text, literals, found)

    def fill(self, **values: str) -> str:
        """Return the name for these values."""
        name = self.literals[0]
        for placeholder, literal in zip(self.placeholders, self.literals[1:], strict=True):
            name += values[placeholder[1:-1]] + literal
        return name


@dataclass(frozen=True, slots=True)
class PolicyTemplates:
    """The data of a custom policy: templates, and patterns in place of the predicates that follow from them.

    `remote_topic` holds `{source}` and `{topic}`; `offset_syncs` and `checkpoints` hold `{alias}`;
    `heartbeats` is a plain name. `internal` and `checkpoints_pattern` are regular expressions over
    whole names, empty: what the templates make.
    """

    remote_topic: str = f"{SOURCE}.{TOPIC}"
    offset_syncs: str = f"mm2-offset-syncs.{ALIAS}.internal"
    checkpoints: str = f"{ALIAS}.checkpoints.internal"
    heartbeats: str = HEARTBEATS
    internal: str = ""
    checkpoints_pattern: str = ""

    def to_mapping(self) -> dict[str, str]:
        """Return the inverse of `read_templates`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def read_templates(value: object, errors: dict[str, str], prefix: str) -> PolicyTemplates | None:
    """Return templates out of untrusted values; None when something is wrong, said at its field."""
    if not isinstance(value, Mapping) or not value:
        errors[prefix] = (
            f"A custom policy needs its templates, at least remote_topic like {SOURCE}_{TOPIC}."
        )
        return None
    known = [field.name for field in fields(PolicyTemplates)]
    wrong = {
        f"{prefix}.{key}": "Not a template of a custom policy." for key in value if key not in known
    }
    wrong |= {
        f"{prefix}.{key}": "A text is needed."
        for key in known
        if not isinstance(value.get(key, ""), str)
    }
    if not wrong:
        given = {key: str(value[key]) for key in known if value.get(key)}
        templates = PolicyTemplates(**given)
        wrong = {f"{prefix}.{key}": text for key, text in problems_of(templates).items()}
        if not wrong:
            return templates
    errors |= wrong
    return None


class CustomReplicationPolicy(ReplicationPolicy):
    """Names made of templates, and taken apart by them."""

    def __init__(self, templates: PolicyTemplates) -> None:
        """Raises `ValueError` naming every template that cannot be used."""
        problems = problems_of(templates)
        if problems:
            raise ValueError("; ".join(f"{name}: {text}" for name, text in problems.items()))
        self.templates = templates
        self._remote = Template.parse(templates.remote_topic, frozenset({SOURCE, TOPIC}))
        self._syncs = Template.parse(templates.offset_syncs, frozenset({ALIAS}))
        self._checkpoints = Template.parse(templates.checkpoints, frozenset({ALIAS}))
        own = _pattern(self._checkpoints)
        self._checkpoints_matcher = matcher_of((templates.checkpoints_pattern or own,))
        self._internal_matcher = _internal_matcher(templates)

    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        """Return the name that the template makes."""
        return self._remote.fill(source=source_cluster_alias, topic=topic)

    def topic_source(self, topic: str) -> str | None:
        """Return the alias inside a name; None when the template did not make it."""
        parts = _take_apart(self._remote, topic)
        return None if parts is None else parts[0]

    def upstream_topic(self, topic: str) -> str | None:
        """Return the topic inside a name; None when the template did not make it."""
        parts = _take_apart(self._remote, topic)
        return None if parts is None else parts[1]

    def offset_syncs_topic(self, cluster_alias: str) -> str:
        """Return the name that the template makes."""
        return self._syncs.fill(alias=cluster_alias)

    def checkpoints_topic(self, cluster_alias: str) -> str:
        """Return the name that the template makes."""
        return self._checkpoints.fill(alias=cluster_alias)

    def heartbeats_topic(self) -> str:
        """Return the plain name."""
        return self.templates.heartbeats

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Return whether the template, or the pattern in its place, fits."""
        return self._checkpoints_matcher.matches(topic)

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Return whether one of the internal templates, or the pattern in their place, fits."""
        return self._internal_matcher.matches(topic) or self.is_checkpoints_topic(topic)

    def problem_with_alias(self, alias: str) -> str | None:
        """Return why remote topics of this cluster could not be taken apart; None when they can."""
        between = self._remote.literals[1]
        made = self.format_remote_topic(alias, "t")
        if _take_apart(self._remote, made) == (alias, "t"):
            return None
        return (
            f"The alias {alias} does not fit {self.templates.remote_topic}: its end in {made} is not unique: "
            f"{between!r} is in it or overlaps it. Choose another text between the two."
        )


def problems_of(templates: PolicyTemplates) -> dict[str, str]:
    """Return what is wrong with templates, by field: each alone first, then how they fit together."""
    found: dict[str, str] = {}
    wanted = {
        "remote_topic": frozenset({SOURCE, TOPIC}),
        "offset_syncs": frozenset({ALIAS}),
        "checkpoints": frozenset({ALIAS}),
        "heartbeats": frozenset[str](),
    }
    for name, placeholders in wanted.items():
        try:
            Template.parse(getattr(templates, name), placeholders)
        except ValueError as error:
            found[name] = str(error)
    for name in ("internal", "checkpoints_pattern"):
        problem = _pattern_problem(getattr(templates, name))
        if problem:
            found[name] = problem
    if templates.remote_topic == TOPIC:
        found["remote_topic"] = (
            "Nothing in the name would tell where a topic came from. To keep names, use the identity policy."
        )
    return found or _misfits(templates)


def _pattern_problem(pattern: str) -> str | None:
    if len(pattern) > LONGEST:
        return f"It is longer than {LONGEST} characters."
    return pattern_problem(pattern) if pattern else None


def _misfits(templates: PolicyTemplates) -> dict[str, str]:
    remote = Template.parse(templates.remote_topic, frozenset({SOURCE, TOPIC}))
    if not remote.literals[1]:
        return {
            "remote_topic": f"A text between {SOURCE} and {TOPIC} is required: without it, the alias and the "
            "topic cannot be separated."
        }
    if templates.offset_syncs == templates.checkpoints:
        return {
            "checkpoints": "Offset syncs have the same names: two kinds of records would be mixed."
        }
    return _hidden(templates, remote, _internal_matcher(templates))


def _internal_matcher(templates: PolicyTemplates) -> Matcher:
    """Return what matches internal topics: the pattern that is given, else what the templates make."""
    if templates.internal:
        return matcher_of((templates.internal,))
    made = (templates.offset_syncs, templates.checkpoints)
    return matcher_of(tuple(_pattern(Template.parse(text, frozenset({ALIAS}))) for text in made))


def _hidden(templates: PolicyTemplates, remote: Template, internal: Matcher) -> dict[str, str]:
    """Return the names that would be taken for something else than they are."""
    example = remote.fill(source="a", topic="orders")
    if _is_internal(example, internal):
        return {
            "remote_topic": f"Its topics, like {example}, would be taken for internal ones, which are never "
            "copied or shown as remote topics."
        }
    beats = templates.heartbeats
    if not beats or _is_internal(beats, internal) or _take_apart(remote, beats) is not None:
        return {
            "heartbeats": f"{beats or 'Nothing'} would be taken for an internal topic, or for a remote one: "
            "heartbeats would not be found."
        }
    if templates.internal:
        return _not_internal(templates, internal)
    return {}


def _not_internal(templates: PolicyTemplates, internal: Matcher) -> dict[str, str]:
    for text in (templates.offset_syncs, templates.checkpoints):
        name = Template.parse(text, frozenset({ALIAS})).fill(alias="a")
        if not _is_internal(name, internal):
            return {
                "internal": f"It does not match {name}, which would be copied like any other topic."
            }
    return {}


def _is_internal(name: str, internal: Matcher) -> bool:
    return (
        internal.matches(name)
        or name.startswith(("__", "."))
        or name.endswith(("-internal", ".internal"))
    )


def _pattern(template: Template) -> str:
    return ".+".join(map(name_pattern, template.literals))


def _take_apart(template: Template, name: str) -> tuple[str, str] | None:
    """Return source and topic of a name; None when it was not made by the template.

    The literal between the two is looked for next to the alias, which cannot hold it: a topic can.
    """
    before, between, after = template.literals
    inside = name.removeprefix(before)
    if not name.startswith(before) or not inside.endswith(after):
        return None
    inside = inside[: len(inside) - len(after)]
    if template.placeholders[0] == SOURCE:
        source, found, topic = inside.partition(between)
    else:
        topic, found, source = inside.rpartition(between)
    return (source, topic) if found and source and topic else None
