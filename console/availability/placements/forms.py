"""The form of a placement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms

from console.availability.placements.models import (
    LARGEST_PRIORITY,
    PatternKind,
    TopicPlacement,
)
from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from console.frame.pages.forms import ActionForm

LONGEST_DOCUMENT = 20_000


class PlacementForm(ActionForm):
    """A placement; the action validates it."""

    kind = forms.ChoiceField(label="Match topics by", choices=PatternKind.choices)
    pattern = forms.CharField(
        label="Topic or pattern",
        max_length=TOPIC_NAME_LENGTH,
        help_text="orders, a glob like orders.* or a regular expression over the whole name.",
    )
    priority = forms.IntegerField(
        initial=0,
        required=False,
        min_value=0,
        max_value=LARGEST_PRIORITY,
        help_text="Of several matching patterns the highest priority applies, then the longest. A topic "
        "config and an exact name take precedence over patterns.",
    )
    placement = forms.CharField(
        max_length=LONGEST_DOCUMENT,
        help_text="Confluent's placement constraints, version 1 or 2: replicas and observers per rack, and "
        "the observer promotion policy.",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "mono"}),
    )
    note = forms.CharField(required=False, max_length=300, help_text="Reason, for other users.")

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them; call after `is_valid`."""
        return {**self.cleaned_data, "priority": self.cleaned_data["priority"] or 0}

    def take_placement_errors(self, errors: Mapping[str, str]) -> None:
        """Put sentences to their fields; those of a part of the placement name the part."""
        for name, text in errors.items():
            field, _, part = name.partition(".")
            told = f"{part}: {text}" if part else text
            self.add_error(field if field in self.fields else None, told)


def initial_of(row: TopicPlacement) -> dict[str, Any]:
    """Return the initial values of the form of a placement."""
    names = ("kind", "pattern", "priority", "note")
    return {**{name: getattr(row, name) for name in names}, "placement": as_text(row.document)}


def initial_for(cluster: Cluster, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the form of a new placement: as the address (of the designer) says, else one for the racks."""
    given = {
        name: query[name] for name in ("kind", "pattern", "placement", "note") if query.get(name)
    }
    return {"placement": as_text(example_for(cluster)), **given}


def example_for(cluster: Cluster) -> dict[str, Any]:
    """Return a placement that the cluster could hold: one replica in each of its first three racks."""
    racks = sorted({row for row in cluster.brokers.values_list("rack", flat=True) if row})
    wanted = racks[:3] or ["RACK"]
    return {
        "version": 2,
        "replicas": [{"count": 1, "constraints": {"rack": rack}} for rack in wanted],
        "observers": [],
    }


def as_text(document: Mapping[str, Any]) -> str:
    """Return a placement as editable text: an entry per line."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            rows = ",\n    ".join(json.dumps(row) for row in value)
            lines.append(f'  "{name}": [\n    {rows}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}"
