"""Forms of channels and routes; the actions check what they send."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms

from console.clusters.models import Cluster
from console.findings.models import SEVERITIES
from console.frame.pages.forms import ActionForm, lines_field, split_lines, text_field
from console.notifications.actions import shown
from console.notifications.channel_values import AT
from console.notifications.kinds import KINDS
from console.notifications.models import (
    LONGEST_NAME,
    LONGEST_PATTERN,
    NotificationChannel,
    NotificationRoute,
)
from console.notifications.route_values import DAYS
from jobs.notifications.routes import GroupBy

_REMOVE = "remove."
_TYPED = {"autocomplete": "off", "spellcheck": "false", "placeholder": "22:00"}
_CLOCK = forms.TimeInput(format="%H:%M", attrs=_TYPED)


class ChannelForm(ActionForm):
    """A channel of one kind; a secret that is set is never shown, and stays when its field is empty."""

    name = text_field("Name", LONGEST_NAME, "Routes name it: On-call, Storage team.")
    is_enabled = forms.BooleanField(label="Enabled", required=False, initial=True)

    def __init__(self, row: NotificationChannel, has: Collection[str], data: Any) -> None:
        super().__init__(data, initial=shown(row) if row.pk else None)
        self._kind = row.kind
        told = KINDS[row.kind]
        if told.address:
            self.fields["address"] = lines_field(
                told.address,
                told.address_help,
                rows=3 if row.kind == "email" else 1,
                missing="Enter it.",
            )
        for one in told.secrets:
            is_set = one.name in has
            self.fields[f"{AT}{one.name}"] = forms.CharField(
                label=one.label,
                required=one.is_required and not is_set,
                help_text=f"Set. Empty: unchanged. {one.help}" if is_set else one.help,
                widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
            )
            if is_set and not one.is_required:
                label = f"Remove the {one.label.lower()}"
                self.fields[f"{_REMOVE}{one.name}"] = forms.BooleanField(
                    label=label, required=False
                )

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them."""
        given = dict(self.cleaned_data)
        typed = {name: given.pop(name) for name in list(given) if "." in name}
        secrets = {k.removeprefix(AT): v for k, v in typed.items() if k.startswith(AT) and v}
        removed = {k.removeprefix(_REMOVE) for k, v in typed.items() if k.startswith(_REMOVE) and v}
        return {**given, "kind": self._kind, "secrets": dict.fromkeys(removed, "") | secrets}


class RouteForm(ActionForm):
    """A route."""

    name = text_field("Name", LONGEST_NAME)
    is_enabled = forms.BooleanField(label="Enabled", required=False, initial=True)
    channels = forms.TypedMultipleChoiceField(
        label="Channels",
        coerce=int,
        widget=forms.CheckboxSelectMultiple,
    )
    severity = forms.ChoiceField(label="Least severity", choices=SEVERITIES, initial="warning")
    checks = lines_field("Checks", "Ids or globs, one per line: broker_*. Empty: all checks.")
    cluster = forms.ChoiceField(label="Cluster", required=False)
    subject_pattern = text_field(
        "Subject",
        LONGEST_PATTERN,
        "A glob over names of topics, groups, brokers: orders-*. Empty: all.",
        required=False,
    )
    days = forms.TypedMultipleChoiceField(
        label="Days",
        choices=list(enumerate(DAYS)),
        coerce=int,
        initial=list(range(len(DAYS))),
        widget=forms.CheckboxSelectMultiple,
    )
    starts = forms.TimeField(label="From", required=False, widget=_CLOCK)
    ends = forms.TimeField(
        label="To",
        required=False,
        help_text="No times: the whole day. An end before the start is on the next day.",
        widget=_CLOCK,
    )
    time_zone = text_field("Time zone", 64, "Europe/Berlin or UTC.")
    group_by = forms.ChoiceField(
        label="One message for",
        choices=[(one.value, one.label) for one in GroupBy],
        initial=GroupBy.CLUSTER.value,
    )
    wait_s = forms.IntegerField(
        label="Wait (s)", help_text="After the first incident, for others of its message."
    )
    repeat_s = forms.IntegerField(
        label="Repeat (s)", help_text="Until it is acknowledged: 14400 is four hours. 0: never."
    )
    sends_resolved = forms.BooleanField(
        label="Send a message when it is resolved", required=False, initial=True
    )

    def __init__(self, row: NotificationRoute, data: Any) -> None:
        told = shown(row) | {"channels": [one.pk for one in row.channels.all()]} if row.pk else {}
        numbers = {name: getattr(row, name) for name in ("wait_s", "repeat_s", "time_zone")}
        super().__init__(data, initial=numbers | told | {"checks": "\n".join(row.checks)})
        fields: dict[str, Any] = self.fields
        aliases = Cluster.objects.order_by("alias").values_list("alias", "alias")
        fields["cluster"].choices = [("", "All clusters"), *aliases]
        fields["channels"].choices = [
            (one.pk, f"{one.name} ({one.get_kind_display()})")
            for one in NotificationChannel.objects.order_by("name")
        ]

    def values(self) -> dict[str, Any]:
        """Return the values as the action takes them."""
        return {**self.cleaned_data, "checks": split_lines(self.cleaned_data["checks"])}
