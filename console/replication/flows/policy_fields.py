"""The fields of a custom replication policy in the form of a flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from console.frame.pages.forms import ActionForm
from jobs.replication.naming.custom_policy import PolicyTemplates

_START = "policy_"
_DEFAULTS = PolicyTemplates()
FIELDS = tuple(f"{_START}{name}" for name in _DEFAULTS.to_mapping())
_ONLY = "Only with a custom policy."


def _template(label: str, help_text: str, initial: str) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, initial=initial, max_length=200, required=False
    )


class PolicyFieldsForm(ActionForm):
    """The templates of a custom policy, one field each; they apply only with that policy."""

    policy_remote_topic = _template(
        "Remote topics", f"{_ONLY} Placeholders: {{source}} and {{topic}}.", _DEFAULTS.remote_topic
    )
    policy_offset_syncs = _template(
        "Offset syncs topic", f"{_ONLY} {{alias}} is the other cluster.", _DEFAULTS.offset_syncs
    )
    policy_checkpoints = _template(
        "Checkpoints topic", f"{_ONLY} {{alias}} is the source.", _DEFAULTS.checkpoints
    )
    policy_heartbeats = _template("Heartbeats topic", _ONLY, _DEFAULTS.heartbeats)
    policy_internal = _template(
        "Internal topics", f"{_ONLY} A regular expression; empty: derived from the templates.", ""
    )
    policy_checkpoints_pattern = _template(
        "Checkpoints topics", f"{_ONLY} A regular expression; empty: derived from the template.", ""
    )

    def take_errors(self, errors: Mapping[str, str], general: str = "") -> None:
        """Put the error of a template to its field."""
        super().take_errors({_field_of(name): text for name, text in errors.items()}, general)


def _field_of(name: str) -> str:
    if name == "custom_policy":
        return f"{_START}remote_topic"
    return name.replace("custom_policy.", _START, 1)


def take_templates(values: dict[str, Any]) -> dict[str, Any]:
    """Return values in which the fields became the one setting `custom_policy`."""
    templates = {name.removeprefix(_START): values.get(name, "") for name in FIELDS}
    return {**{k: v for k, v in values.items() if k not in FIELDS}, "custom_policy": templates}


def templates_as_fields(templates: Mapping[str, str]) -> dict[str, str]:
    """Return the initial values of the fields; those of a flow without templates stay as they are."""
    return {f"{_START}{name}": text for name, text in templates.items()}
