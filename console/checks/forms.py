"""Forms of settings and maintenance windows; the actions validate what they send."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils import timezone

from console.checks.actions import LONGEST_NOTE, read_values, scope_of, shown
from console.checks.catalogue import quantity
from console.checks.windows import LONGEST_TITLE, read_window
from console.clusters.models import Cluster
from console.findings.check_settings import CheckSetting
from console.frame.pages.forms import ActionForm
from console.frame.security.access import can, rights_of
from console.replication.flows.queries import list_flows
from jobs.checks.check import Check, Pattern
from jobs.checks.maintenance import HELP, LONGEST_RULE

_TYPED = {"autocomplete": "off", "spellcheck": "false"}
_GLOB = "A glob: orders-* matches all names that begin with orders-. Empty: all."
_THRESHOLD = "thresholds."


def _on_which(user: Any, rows: QuerySet[Any], key: str, all_of: str) -> list[tuple[str, str]]:
    """Return the rows on whose clusters a person may operate, and all, which needs an administrator."""
    rights = rights_of(user)
    paths = getattr(rows.model, "clusters_at", ())
    found = [
        (str(getattr(row, key)), str(row))
        for row in rows
        if rights.reaches("operate", [getattr(row, f"{path}_id", row.pk) for path in paths])
    ]
    return [("", all_of), *found] if can(user, "administer") else found


def _clusters(user: Any) -> forms.ChoiceField:
    choices = _on_which(user, Cluster.objects.order_by("alias"), "alias", "All clusters")
    is_needed = not can(user, "administer")
    return forms.ChoiceField(label="Cluster", choices=choices, required=is_needed)


class SettingForm(ActionForm):
    """A setting of a check; a new one has a cluster or a flow as well."""

    def __init__(
        self, check: Check, user: Any, *args: Any, row: CheckSetting | None = None, **more: Any
    ) -> None:
        if row is not None:
            values = {f"{_THRESHOLD}{name}": value for name, value in row.thresholds.items()}
            more["initial"] = shown(row) | values
        super().__init__(*args, **more)
        self.check = check
        if row is None and scope_of(check) == "cluster":
            self.fields["cluster"] = _clusters(user)
        elif row is None and scope_of(check) == "flow":
            choices = _on_which(user, list_flows().order_by("name"), "pk", "All flows")
            self.fields["flow"] = forms.ChoiceField(
                label="Flow", choices=choices, required=not can(user, "administer")
            )
        if check.narrowed_by is not Pattern.NONE:
            self.fields[f"{check.narrowed_by}_pattern"] = forms.CharField(
                label=f"{check.narrowed_by.capitalize()}s",
                required=False,
                help_text=_GLOB,
                widget=forms.TextInput(attrs=_TYPED),
            )
        for one in check.all_thresholds:
            self.fields[f"{_THRESHOLD}{one.name}"] = forms.FloatField(
                label=one.name,
                required=False,
                help_text=f"{one.text} {quantity(one)} by default.",
                widget=forms.NumberInput(attrs={"placeholder": f"{one.default:g}", "step": "any"}),
            )
        self.fields["is_excluded"] = forms.BooleanField(
            label="Exclude: the check is off there", required=False
        )
        self.fields["note"] = forms.CharField(
            label="Note",
            required=False,
            max_length=LONGEST_NOTE,
            help_text="Why. Required for an exclusion: RF 1 on purpose.",
        )

    def clean(self) -> dict[str, Any]:
        super().clean()
        self.complete(lambda: read_values(self.check, self.values()))
        return self.cleaned_data

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them."""
        given = dict(self.cleaned_data)
        names = [name for name in given if name.startswith(_THRESHOLD)]
        numbers = {name.removeprefix(_THRESHOLD): given.pop(name) for name in names}
        numbers = {name: value for name, value in numbers.items() if value is not None}
        return {**given, "check": self.check.id, "thresholds": numbers}


class LocalMomentField(forms.CharField):
    """A date and a time in the time zone of the form."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "60"})

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        try:
            return datetime.fromisoformat(text) if text else None
        except ValueError:
            text = "Enter a date and a time: 2026-12-01 22:00."
            raise forms.ValidationError(text) from None


class WindowForm(ActionForm):
    """A maintenance window."""

    title = forms.CharField(
        label="Title", max_length=LONGEST_TITLE, widget=forms.TextInput(attrs=_TYPED)
    )
    starts_at = LocalMomentField(label="Start")
    ends_at = LocalMomentField(label="End", required=False, help_text="Or a duration.")
    duration_s = forms.IntegerField(
        label="Duration (s)", required=False, help_text="Instead of an end: 7200 is two hours."
    )
    time_zone = forms.CharField(
        label="Time zone",
        max_length=64,
        initial="UTC",
        help_text="Europe/Berlin or UTC. A local time that a clock change skips is an hour later.",
        widget=forms.TextInput(attrs=_TYPED),
    )
    rrule = forms.CharField(
        label="Repeat",
        required=False,
        max_length=LONGEST_RULE,
        help_text=f"Empty: once. {HELP}",
        widget=forms.TextInput(attrs=_TYPED),
    )

    def __init__(self, user: Any, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.fields["cluster"] = _clusters(user)
        self.order_fields(["title", "cluster"])

    def clean(self) -> dict[str, Any]:
        super().clean()
        self.complete(lambda: read_window(self.cleaned_data, timezone.now()))
        return self.cleaned_data
