"""The forms of accounts; actions report errors at the fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf import settings

from console.accounts.models import RIGHTS, Role
from console.frame.pages.forms import ActionForm


class PersonForm(ActionForm):
    """A new account."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(
        choices=Role.choices,
        initial=Role.VIEWER,
        help_text="Applies to all clusters. A higher role on single clusters can be granted afterwards.",
    )


class RoleForm(ActionForm):
    """The role of an account, everywhere."""

    role = forms.ChoiceField(choices=Role.choices, help_text="Applies to all clusters.")


class GrantForm(ActionForm):
    """A role on one cluster."""

    cluster = forms.ChoiceField()
    role = forms.ChoiceField(choices=RIGHTS)

    def __init__(self, aliases: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["cluster"].choices = [(alias, alias) for alias in aliases]  # type: ignore[attr-defined]  # it is a ChoiceField


class TokenForm(ActionForm):
    """A new token."""

    name = forms.CharField(
        max_length=100, help_text="Program that uses the token, e.g. nightly-report."
    )
    role = forms.ChoiceField(choices=RIGHTS, help_text="Never exceeds your own permissions.")
    days = forms.IntegerField(
        label="Valid for (days)",
        min_value=1,
        initial=90,
        help_text="The token expires after this time.",
    )
    clusters = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Clusters that the token may access. None selected: all clusters that you may view.",
    )

    def __init__(self, aliases: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["clusters"].choices = [(alias, alias) for alias in aliases]  # type: ignore[attr-defined]  # it is a MultipleChoiceField
        self.fields["days"].widget.attrs["max"] = settings.TOKEN_DAYS
        if not aliases:
            del self.fields["clusters"]
