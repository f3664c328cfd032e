"""An extractor: where id, step, time and the rest of an event are, and what is known of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.cluster.errors import InvalidFields
from jobs.cluster.settings_file import parse_settings, read_text
from jobs.near_names import near_name
from jobs.tracing.extractors.fields import LONGEST, BadField, Field, parse_fields
from jobs.tracing.extractors.presets import PRESETS
from jobs.tracing.extractors.roles import OPEN_ROLES, ROLES

STUCK_AFTER_S = 15 * 60
_MOST_STUCK_S = 366 * 24 * 3600
_LONGEST_NAME = 100
_MOST_ENTRIES = 200
_FORM = "An extractor is a mapping with name, perhaps preset, and fields."
_TEXTS = ("name", "preset", "topics", "lookup_topic", "registry")
_LISTS = ("steps", "end_topics", "redact")
_MAPPINGS = ("fields", "topic_steps", "groups", "stuck_steps")
_KNOWN = (*_TEXTS, *_LISTS, *_MAPPINGS, "stuck_after_s")


@dataclass(frozen=True, slots=True)
class Extractor:
    """`fields`: alternatives by role, those of the preset included.

    `topics`: names and patterns, separated by commas, that it is for. `steps`: those of every slip, where
    records do not list them. `topic_steps`: the step that records of a topic wait for. `end_topics`: a slip
    that gets there is complete. `groups`: the consumer group of a step. `stuck_after_s`: how old the newest
    record of a slip is until it counts as stuck, `stuck_steps` the same by step. `lookup_topic` has the slips
    that records only point to. `registry`: the name of a schema registry. `redact`: what samples do not show.
    """

    name: str
    fields: Mapping[str, tuple[Field, ...]]
    preset: str = ""
    topics: str = ""
    steps: tuple[str, ...] = ()
    topic_steps: Mapping[str, str] = field(default_factory=dict)
    end_topics: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    stuck_after_s: int = STUCK_AFTER_S
    stuck_steps: Mapping[str, int] = field(default_factory=dict)
    lookup_topic: str = ""
    registry: str = ""
    redact: tuple[Field, ...] = ()

    def has(self, role: str) -> bool:
        """Return whether it has a field for a role."""
        return role in self.fields

    def stuck_ms(self, step: str) -> int:
        """Return after how many ms a slip at a step counts as stuck."""
        return self.stuck_steps.get(step, self.stuck_after_s) * 1000

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values; fields of the preset are left out."""
        preset = PRESETS.get(self.preset, {})
        written = {role: _written(found) for role, found in self.fields.items()}
        values: dict[str, Any] = {
            "name": self.name,
            "preset": self.preset,
            "topics": self.topics,
            "fields": {r: text for r, text in written.items() if not _is_same(preset.get(r), text)},
            "steps": list(self.steps),
            "topic_steps": dict(self.topic_steps),
            "end_topics": list(self.end_topics),
            "groups": dict(self.groups),
            "stuck_after_s": self.stuck_after_s,
            "stuck_steps": dict(self.stuck_steps),
            "lookup_topic": self.lookup_topic,
            "registry": self.registry,
            "redact": [str(one) for one in self.redact],
        }
        return {name: value for name, value in values.items() if value not in ("", {}, [])}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Extractor:
        """Read untrusted values; raises `InvalidFields` naming every bad field."""
        errors = {name: _unknown(name, _KNOWN) for name in values if name not in _KNOWN}
        texts = {name: _text(values, name, errors) for name in _TEXTS}
        lists = {name: _list(values, name, errors) for name in _LISTS}
        maps = {name: _mapping(values, name, errors) for name in _MAPPINGS}
        if not texts["name"] and "name" not in errors:
            errors["name"] = "It is required."
        preset = PRESETS.get(texts["preset"], {})
        if texts["preset"] and not preset:
            errors["preset"] = f"There is no such preset. Presets: {', '.join(PRESETS)}."
        own = {role: text for role, text in maps["fields"].items() if text}
        fields = _fields({**preset, **own}, errors)
        redact = _redacted(lists["redact"], errors)
        errors |= _open_redacted(fields, redact)
        if not fields and not errors:
            errors["fields"] = "At least one field, or a preset, is required."
        stuck = _seconds(values.get("stuck_after_s", STUCK_AFTER_S), "stuck_after_s", errors)
        stuck_steps = {
            step: _seconds(value, "stuck_steps", errors)
            for step, value in maps["stuck_steps"].items()
        }
        if errors:
            raise InvalidFields(errors)
        return cls(
            name=texts["name"],
            fields=fields,
            preset=texts["preset"],
            topics=texts["topics"],
            steps=tuple(lists["steps"]),
            topic_steps=maps["topic_steps"],
            end_topics=tuple(lists["end_topics"]),
            groups=maps["groups"],
            stuck_after_s=stuck,
            stuck_steps=stuck_steps,
            lookup_topic=texts["lookup_topic"],
            registry=texts["registry"],
            redact=redact,
        )


def read_extractor(text: str) -> Extractor:
    """Return a preset by its name, else the extractor of a YAML file; raises `InvalidFields`."""
    if text in PRESETS:
        return preset_extractor(text)
    settings = parse_settings(read_text(Path(text), "extractor"), _FORM)
    return Extractor.from_mapping(settings)


def preset_extractor(name: str) -> Extractor:
    """Return a preset as it is; raises KeyError."""
    return Extractor.from_mapping({"name": name, "preset": name} if name in PRESETS else {})


def _fields(texts: Mapping[str, str], errors: dict[str, str]) -> dict[str, tuple[Field, ...]]:
    found = {}
    for role, text in texts.items():
        if role not in ROLES:
            errors[f"fields.{role}"] = _unknown(role, ROLES)
        else:
            try:
                found[role] = parse_fields(text)
            except BadField as problem:
                errors[f"fields.{role}"] = str(problem)
    return found


def _redacted(texts: Sequence[str], errors: dict[str, str]) -> tuple[Field, ...]:
    found: list[Field] = []
    for text in texts:
        try:
            found += parse_fields(text)
        except BadField as problem:
            errors["redact"] = str(problem)
    return tuple(found)


def _open_redacted(
    fields: Mapping[str, Sequence[Field]], redact: Sequence[Field]
) -> dict[str, str]:
    """Return an error where a role that all users see reads all of what is redacted."""
    wrong = [
        f"The role {role} reads {other}, and results show it to all users."
        for role, alternatives in fields.items()
        for one in alternatives
        for other in redact
        if role in OPEN_ROLES and one.contains(other)
    ]
    return {"redact": wrong[0]} if wrong else {}


def _written(fields: Sequence[Field]) -> str:
    return " | ".join(map(str, fields))


def _is_same(preset: str | None, text: str) -> bool:
    return preset is not None and _written(parse_fields(preset)) == text


def _text(values: Mapping[str, Any], name: str, errors: dict[str, str]) -> str:
    value = values.get(name) or ""
    longest = _LONGEST_NAME if name != "topics" else 1000
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        errors[name] = f"At most {longest} printable characters."
        return ""
    return value.strip()


def _list(values: Mapping[str, Any], name: str, errors: dict[str, str]) -> list[str]:
    value = values.get(name) or []
    is_list = isinstance(value, list | tuple) and len(value) <= _MOST_ENTRIES
    if not is_list or not all(one and _is_line(one) for one in value):
        errors[name] = f"A list of at most {_MOST_ENTRIES} texts of one line is required."
        return []
    return list(value)


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and value.isprintable()


def _mapping(values: Mapping[str, Any], name: str, errors: dict[str, str]) -> dict[str, Any]:
    value = values.get(name) or {}
    is_mapping = isinstance(value, Mapping) and len(value) <= _MOST_ENTRIES
    is_of = int | str if name == "stuck_steps" else str
    # Fields have their own check, and a sentence at each.
    if not is_mapping or not all(
        _is_line(k) and isinstance(v, is_of) and (name == "fields" or _is_line(str(v)))
        for k, v in value.items()
    ):
        errors[name] = (
            f"A mapping of at most {_MOST_ENTRIES} names to texts of one line is required."
        )
        return {}
    return dict(value)


def _seconds(value: Any, name: str, errors: dict[str, str]) -> int:
    try:
        seconds = int(value)
    except (TypeError, ValueError, OverflowError):
        seconds = 0
    if isinstance(value, bool) or not 1 <= seconds <= _MOST_STUCK_S:
        errors[name] = f"From 1 to {_MOST_STUCK_S} seconds."
        return STUCK_AFTER_S
    return seconds


def _unknown(name: str, known: Any) -> str:
    near = near_name(str(name), known)
    meant = f" Did you mean {near}?" if near else ""
    return f"It is not known here.{meant} Known: {', '.join(known)}."
