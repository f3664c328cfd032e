"""Forms of settings and maintenance windows; the actions validate what they send."""

from __future__ import annotations

from typing import Any

from django import forms

from console.checks.actions import scope_of, shown
from console.clusters.models import GROUP_ID_LENGTH, Cluster
from console.findings.check_settings import CheckSetting
from console.frame.pages.forms import ActionForm, text_field
from console.frame.security.access import can, rights_of
from console.replication.flows.queries import list_flows
from jobs.checks.check import Check
from jobs.checks.maintenance import HELP, LONGEST_RULE

_THRESHOLD = "thresholds."


def scope_field(user: Any, scope: str, none: str = "") -> forms.ChoiceField:
    """Return a choice of where a person may operate, and of `none` or all, which needs an administrator."""
    rows: Any = Cluster.objects.order_by("alias") if scope == "cluster" else list_flows()
    if not can(user, "operate"):
        mine = rights_of(user).clusters("operate")
        rows = rows.filter(**{f"{path}__in": mine for path in rows.model.clusters_at})
    may_all = bool(none) or can(user, "administer")
    choices = [("", none or f"All {scope}s")] if may_all else []
    choices += [(str(getattr(row, "alias", row.pk)), str(row)) for row in rows]
    return forms.ChoiceField(label=scope.capitalize(), choices=choices, required=not may_all)


class SettingForm(ActionForm):
    """A setting of a check; a new one has a cluster or a flow as well."""

    is_excluded = forms.BooleanField(label="Exclude: the check is off there", required=False)
    note = text_field(
        "Note", 300, "Why. Required for an exclusion: RF 1 on purpose.", required=False
    )

    def __init__(self, check: Check, user: Any, data: Any, initial: Any, row: CheckSetting) -> None:
        values = {f"{_THRESHOLD}{name}": value for name, value in row.thresholds.items()}
        super().__init__(data, initial=initial | shown(row) | values if row.pk else initial)
        self.check = check
        fields: dict[str, forms.Field] = {}
        if scope_of(check) and not row.pk:
            fields[scope_of(check)] = scope_field(user, scope_of(check))
        if check.narrowed_by:
            fields[f"{check.narrowed_by}_pattern"] = text_field(
                f"{check.narrowed_by.capitalize()}s",
                GROUP_ID_LENGTH,
                "A glob: orders-* matches all names that begin with orders-. Empty: all.",
                required=False,
            )
        for one in check.all_thresholds:
            fields[f"{_THRESHOLD}{one.name}"] = forms.FloatField(
                label=one.name,
                required=False,
                help_text=f"{one.text} {one.default_text} by default.",
                widget=forms.NumberInput(attrs={"placeholder": f"{one.default:g}", "step": "any"}),
            )
        self.fields = {**fields, **self.fields}

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them."""
        given = dict(self.cleaned_data)
        numbers = {name: given.pop(name) for name in list(given) if name.startswith(_THRESHOLD)}
        set_ = {k.removeprefix(_THRESHOLD): v for k, v in numbers.items() if v is not None}
        return {**given, "thresholds": set_}


class WindowForm(ActionForm):
    """A maintenance window."""

    title = text_field("Title", 200)
    starts_at = text_field("Start", 40, attrs={"type": "datetime-local"})
    ends_at = text_field(
        "End", 40, "Or a duration.", required=False, attrs={"type": "datetime-local"}
    )
    duration_s = forms.IntegerField(
        label="Duration (s)", required=False, help_text="Instead of an end: 7200 is two hours."
    )
    time_zone = text_field(
        "Time zone",
        64,
        "Europe/Berlin or UTC. A local time that a clock change skips is an hour later.",
        initial="UTC",
    )
    rrule = text_field("Repeat", LONGEST_RULE, f"Empty: once. {HELP}", required=False)

    def __init__(self, user: Any, *args: Any) -> None:
        super().__init__(*args)
        self.fields["cluster"] = scope_field(user, "cluster")
        self.order_fields(["title", "cluster"])
