"""A form with every kind of field."""

from __future__ import annotations

from django import forms


class ClusterForm(forms.Form):
    """Like the form of a cluster, without its rules."""

    alias = forms.SlugField(
        help_text="Letters, digits, dots and dashes. Part of the names of remote topics."
    )
    bootstrap_servers = forms.CharField(help_text="host:port, separated by commas.")
    security_protocol = forms.ChoiceField(
        choices=[("PLAINTEXT", "PLAINTEXT"), ("SASL_SSL", "SASL_SSL")], required=False
    )
    sasl_password = forms.CharField(
        required=False, help_text="env:NAME or file:/path; never the secret itself."
    )
    ssl_check_hostname = forms.BooleanField(
        required=False, initial=True, label="Check the host name"
    )
    topics = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}), required=False)
