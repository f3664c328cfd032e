"""The form of an objective; the action validates what it sends."""

from __future__ import annotations

from typing import Any

from django import forms

from console.checks.forms import scope_field
from console.clusters.models import TOPIC_NAME_LENGTH
from console.findings.objectives.models import CountsAs, Kind
from console.frame.pages.forms import ActionForm, text_field


class ObjectiveForm(ActionForm):
    """An objective; a new one has a flow or a cluster as well. A saved one has the fields of its kind."""

    limit_ms = forms.IntegerField(
        label="RPO (ms)", required=False, help_text="Of a flow: 60000 is at most a minute behind."
    )
    topic_pattern = text_field(
        "Topics",
        TOPIC_NAME_LENGTH,
        "Of a cluster. A glob: orders-* matches all names that begin with orders-. Empty: all.",
        required=False,
    )
    counts_as = forms.ChoiceField(
        label="Unavailable",
        required=False,
        choices=[("", "---"), *CountsAs.choices],
        help_text="Of a cluster: from which state on a partition is unavailable. Empty: no leader.",
    )
    target_percent = forms.FloatField(
        label="Target (%)",
        help_text="Of the time in the last 30 days: 99.9 allows 43 minutes.",
        widget=forms.NumberInput(attrs={"step": "any", "placeholder": "99.9"}),
    )

    def __init__(self, user: Any, data: Any, initial: Any, kind: str = "") -> None:
        super().__init__(data, initial=initial)
        if kind:
            others = ("topic_pattern", "counts_as") if kind == Kind.RPO else ("limit_ms",)
            for name in others:
                del self.fields[name]
            if kind == Kind.RPO:
                self.fields["limit_ms"].required = True
            return
        scopes: dict[str, forms.Field] = {
            name: scope_field(user, name, none=f"No {name}") for name in ("flow", "cluster")
        }
        scopes["flow"].help_text = "For an RPO. For availability select a cluster."
        self.fields = {**scopes, **self.fields}
