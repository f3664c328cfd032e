"""Forms of an incident: silence, owner, note."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from console.findings.incidents.models import Incident
from console.frame.pages.forms import ActionForm

_DURATIONS = [("3600", "1 h"), ("14400", "4 h"), ("86400", "1 d")]


class SilenceForm(ActionForm):
    """A duration, or a time instead of it; `silence` is when it ends."""

    duration_s = forms.ChoiceField(label="For", choices=_DURATIONS)
    until = forms.DateTimeField(
        label="Until",
        required=False,
        help_text="UTC, as in 2026-11-21 04:00; at most 30 days from now. Replaces the duration.",
        error_messages={"invalid": "Enter a date and a time: 2026-11-21 04:00."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "size": 22}),
    )

    def clean(self) -> dict[str, Any]:
        lasting = timedelta(seconds=int(self.cleaned_data.get("duration_s", 0)))
        until = self.cleaned_data.get("until") or timezone.now() + lasting
        return {**self.cleaned_data, "silence": until}


class OwnerForm(ActionForm):
    """A username."""

    owner = forms.CharField(
        label="Owner",
        required=False,
        max_length=150,
        help_text="Username of a user who may see the incident. Empty: no owner.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class NoteForm(ActionForm):
    """A text."""

    note = forms.CharField(
        label="Note", required=False, widget=forms.Textarea(attrs={"rows": 4}), strip=False
    )


FORMS: dict[str, type[ActionForm]] = {"silence": SilenceForm, "owner": OwnerForm, "note": NoteForm}


def forms_of(row: Incident, given: ActionForm | None = None) -> dict[str, Any]:
    """Return the forms of an incident by name; `given` is the one that was refused."""
    initial = {"owner": row.owner.get_username() if row.owner else "", "note": row.note}
    return {
        name: given if isinstance(given, kind) else kind(initial=initial, auto_id=f"{name}-%s")
        for name, kind in FORMS.items()
    }
