"""The form of a cluster: typed fields only, never free client configuration."""

from __future__ import annotations

from typing import Any

from django import forms

from console.clusters.models import CONNECTION_FIELDS, Cluster
from console.frame.pages.forms import ActionForm
from jobs.cluster.connection import SaslMechanism, SecurityProtocol
from jobs.cluster.secrets import ENV_PREFIX

_REFERENCE = f"env:{ENV_PREFIX}NAME or file:NAME"


def _secret(label: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=255,
        help_text=f"{help_text} A reference: {_REFERENCE}.",
        widget=forms.TextInput(
            attrs={"placeholder": _REFERENCE, "autocomplete": "off", "spellcheck": "false"}
        ),
    )


class SettingsForm(ActionForm):
    """How to reach a cluster; what is wrong is said by `actions`, at the field."""

    bootstrap_servers = forms.CharField(
        label="Bootstrap servers",
        max_length=4000,
        help_text="host:port, several with commas. The others are found from there.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    security_protocol = forms.ChoiceField(
        label="Security protocol", choices=[(p.value, p.value) for p in SecurityProtocol]
    )
    sasl_mechanism = forms.ChoiceField(
        label="SASL mechanism",
        required=False,
        choices=[("", "none"), *((m.value, m.value) for m in SaslMechanism)],
    )
    sasl_username = forms.CharField(
        label="User name",
        required=False,
        max_length=255,
        help_text="With OAUTHBEARER: the client id.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    sasl_password = _secret(
        "Password", "The secret itself is never stored. With OAUTHBEARER: the client secret."
    )
    sasl_oauthbearer_token_url = forms.CharField(
        label="Token endpoint",
        required=False,
        max_length=1000,
        help_text="For OAUTHBEARER: the URL that gives tokens for client credentials.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    sasl_oauthbearer_scope = forms.CharField(
        label="Scope",
        required=False,
        max_length=255,
        help_text="For OAUTHBEARER: what the token is asked for. May stay empty.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    ssl_ca = _secret("CA certificates", "PEM; empty: what this machine trusts.")
    ssl_certificate = _secret("Client certificate", "PEM, for mutual TLS.")
    ssl_key = _secret("Client key", "PEM, for mutual TLS.")
    ssl_key_password = _secret("Password of the client key", "Only for an encrypted key.")
    ssl_check_hostname = forms.BooleanField(
        label="Check the host name in the broker's certificate", required=False, initial=True
    )
    save_unchecked = forms.BooleanField(
        label="Save although the cluster cannot be reached",
        required=False,
        help_text="It is asked again every few seconds; its id is learned from the first answer.",
    )

    def values(self) -> dict[str, Any]:
        """Return the settings as `actions` takes them; call after `is_valid`."""
        return {k: v for k, v in self.cleaned_data.items() if k != "save_unchecked"}

    @property
    def is_unchecked(self) -> bool:
        """Whether it is to be saved without an answer of the cluster; call after `is_valid`."""
        return bool(self.cleaned_data["save_unchecked"])


class NewClusterForm(SettingsForm):
    """A cluster to be registered."""

    field_order = ("alias",)
    alias = forms.CharField(
        max_length=63,
        help_text="Short and lasting: remote topics carry it in their names, as in east.orders.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class ChangeClusterForm(SettingsForm):
    """Settings of a registered cluster."""

    is_enabled = forms.BooleanField(
        label="Collect from this cluster",
        required=False,
        help_text="Off: its rows stay as they are.",
    )
    field_order = (*CONNECTION_FIELDS, "is_enabled", "save_unchecked")

    def __init__(self, cluster: Cluster, *args: Any, **kwargs: Any) -> None:
        names = (*CONNECTION_FIELDS, "is_enabled")
        initial = {name: getattr(cluster, name) for name in names}
        super().__init__(*args, **{"initial": initial, **kwargs})
