"""The form that builds an extractor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from console.frame.pages.forms import ActionForm, lines_field, split_lines, text_field
from jobs.tracing.extractors.extractor import STUCK_AFTER_S
from jobs.tracing.extractors.fields import LONGEST
from jobs.tracing.extractors.presets import PRESETS
from jobs.tracing.extractors.roles import ROLES

USUAL = ("id", "type", "step", "steps", "done", "remaining", "time", "error")
_OF_ROLE = "fields."
_PAIR = "topic = step"
_TEXTS = ("preset", "topics", "lookup_topic", "registry", "stuck_after_s")
_LISTS = ("steps", "end_topics", "redact")
_MAPPINGS = ("topic_steps", "groups", "stuck_steps")
# A topic for the samples; it is no part of the extractor.
_LONGEST_TOPIC = 249


class ExtractorForm(ActionForm):
    """An extractor, and the topic of which samples are read; fields of roles are named `fields.ROLE`."""

    name = text_field(
        "Name", 100, "Required to save. Analyses refer to the extractor by it.", required=False
    )
    preset = forms.ChoiceField(
        label="Preset",
        required=False,
        choices=[("", "none"), *((one, one) for one in PRESETS)],
        help_text="Its fields apply where the fields here are empty.",
    )
    topics = text_field(
        "Topics", 1000, "Names or patterns with *, separated by commas.", required=False
    )
    topic = text_field(
        "Sample topic", _LONGEST_TOPIC, "Try reads its newest records.", required=False
    )
    redact = lines_field(
        "Redacted fields",
        "Samples do not show them. One field per line: header:NAME, value:/card/number.",
    )
    steps = lines_field("Steps", "Of every slip, in their order, where records do not list them.")
    topic_steps = lines_field(
        "Steps by topic", f"The step that records of a topic wait for. One {_PAIR} per line."
    )
    end_topics = lines_field("End topics", "A slip that gets there is complete. One per line.")
    groups = lines_field(
        "Groups by step", "The consumer group that does a step. One step = group per line."
    )
    stuck_after_s = forms.IntegerField(
        label="Stuck after",
        required=False,
        help_text=f"Seconds since the newest record of a slip. Default: {STUCK_AFTER_S}.",
    )
    stuck_steps = lines_field("Stuck after, by step", "One step = seconds per line.")
    lookup_topic = text_field(
        "Lookup topic", 100, "It has the slips that records only point to.", required=False
    )
    registry = text_field("Schema registry", 100, "Its name in the settings.", required=False)

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        chosen = PRESETS.get(str(self["preset"].value() or ""), {})
        for role, one in ROLES.items():
            written = {"class": "mono", "placeholder": chosen.get(role, "")}
            self.fields[_OF_ROLE + role] = text_field(
                one.label, LONGEST, one.help, required=False, attrs=written
            )

    @property
    def usual(self) -> list[forms.BoundField]:
        """The fields of the roles that most extractors have."""
        return [self[_OF_ROLE + role] for role in USUAL]

    @property
    def others(self) -> list[forms.BoundField]:
        """The fields of all other roles."""
        return [self[_OF_ROLE + role] for role in ROLES if role not in USUAL]

    @property
    def flow(self) -> list[forms.BoundField]:
        """What is known of steps, and the registry."""
        names = (*_LISTS[:2], *_MAPPINGS, "stuck_after_s", "lookup_topic", "registry")
        return [self[name] for name in names]

    @property
    def is_wrong_below(self) -> bool:
        """Whether a field is refused that is folded."""
        return any(one.errors for one in (*self.others, *self.flow))

    def clean(self) -> dict[str, Any]:
        """Refuse lines that are no pairs."""
        values = super().clean() or {}
        for name in _MAPPINGS:
            if any("=" not in line for line in split_lines(values.get(name, ""))):
                self.add_error(name, f"Write one pair per line: {_PAIR}.")
        return values

    def definition(self) -> dict[str, Any]:
        """Return what a valid form says, without what is empty."""
        told = self.cleaned_data
        values: dict[str, Any] = {name: told[name] for name in _TEXTS}
        values |= {name: split_lines(told[name]) for name in _LISTS}
        values |= {name: dict(map(_pair, split_lines(told[name]))) for name in _MAPPINGS}
        fields = {role: told[_OF_ROLE + role].strip() for role in ROLES}
        values["fields"] = {role: text for role, text in fields.items() if text}
        return {name: value for name, value in values.items() if value not in ("", None, [], {})}


def initial_of(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the form for a stored definition."""
    values = dict(definition)
    fields = values.pop("fields", {})
    for name in _LISTS:
        values[name] = "\n".join(values.get(name, []))
    for name in _MAPPINGS:
        pairs = values.get(name, {}).items()
        values[name] = "\n".join(f"{key} = {value}" for key, value in pairs)
    return values | {_OF_ROLE + role: text for role, text in fields.items()}


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key.strip(), value.strip()
