"""Pages that change the registry of clusters."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from console.clusters import actions, queries
from console.clusters.facts import cluster_tabs
from console.clusters.models import CONNECTION_FIELDS, Cluster
from console.frame.errors import ActionRefused
from console.frame.pages.forms import ActionForm, RemovalForm
from console.frame.pages.render import render_page
from console.frame.security.access import page
from jobs.cluster.connection import SaslMechanism, SecurityProtocol
from jobs.cluster.errors import InvalidFields
from jobs.cluster.secrets import ENV_PREFIX


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def new_page(request: HttpRequest) -> HttpResponse:
    """Register a cluster."""
    form = NewClusterForm(request.POST or None)
    cluster = _try_create(form) if request.method == "POST" and form.is_valid() else None
    if cluster is None:
        return render_page(request, "clusters/new.html", {"form": form})
    messages.success(request, _welcome(cluster))
    return redirect("clusters:detail", cluster.alias)


@require_http_methods(["GET", "HEAD", "POST"])
# Everywhere: a setting may refer to the secret of any cluster and send it to any address.
@page("administer")
def settings_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Change how a cluster is reached; confirm a new cluster id; remove the cluster."""
    cluster = _cluster(alias)
    form = ChangeClusterForm(cluster, request.POST or None)
    if request.method == "POST" and form.is_valid() and _try_change(cluster, form):
        messages.success(request, f"The settings of {alias} were saved.")
        return redirect("clusters:detail", alias)
    # A failed try has changed the object: what is shown around the form is what is stored.
    cluster = _cluster(alias)
    context = {
        "cluster": cluster,
        "status": queries.status_of(cluster, timezone.now()),
        "tabs": cluster_tabs(cluster, "settings"),
        "form": form,
        "removal": RemovalForm(cluster.alias, "cluster's alias"),
    }
    return render_page(request, "clusters/settings.html", context)


@require_POST
@page("operate", queries.where)
def check(request: HttpRequest, alias: str) -> HttpResponse:
    """Check a registered cluster now."""
    try:
        actions.recheck_cluster(_cluster(alias), timezone.now())
        messages.success(request, f"{alias} answers and is the registered cluster.")
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
    return redirect("clusters:detail", alias)


@require_POST
@page("administer", queries.where)
def confirm(request: HttpRequest, alias: str) -> HttpResponse:
    """Accept that another cluster stands behind the address."""
    try:
        actions.confirm_cluster_id(_cluster(alias), request.POST.get("cluster_id", ""))
        messages.success(request, f"{alias} is the new cluster now: it is read within seconds.")
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
    return redirect("clusters:settings", alias)


@require_POST
@page("administer", queries.where)
def delete(request: HttpRequest, alias: str) -> HttpResponse:
    """Remove a cluster, after its alias was typed."""
    cluster = _cluster(alias)
    form = RemovalForm(alias, "cluster's alias", request.POST)
    if not form.is_valid():
        messages.error(request, f"{alias} was not removed. Type its alias to confirm: {alias}")
        return redirect("clusters:settings", alias)
    try:
        actions.delete_cluster(cluster)
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
        return redirect("clusters:settings", alias)
    messages.success(request, f"{alias} was removed. Nothing was changed on the cluster itself.")
    return redirect("clusters:list")


def _cluster(alias: str) -> Cluster:
    cluster = queries.get_cluster(alias)
    if cluster is None:
        raise Http404
    return cluster


def _try_create(form: NewClusterForm) -> Cluster | None:
    try:
        return actions.create_cluster(
            form.values(), timezone.now(), save_unchecked=form.is_unchecked
        )
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except ActionRefused as refusal:
        form.take_errors(refusal.fields, refusal.message)
    return None


def _try_change(cluster: Cluster, form: ChangeClusterForm) -> bool:
    try:
        actions.change_cluster(
            cluster, form.values(), timezone.now(), save_unchecked=form.is_unchecked
        )
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except ActionRefused as refusal:
        form.take_errors(refusal.fields, refusal.message)
    return not form.errors


def _welcome(cluster: Cluster) -> str:
    if not cluster.cluster_id:
        return f"{cluster.alias} was saved although it did not answer. It is tried again by itself."
    return f"{cluster.alias} answers: cluster {cluster.cluster_id}. Its first rows come in seconds."


# The form of a cluster: typed fields only, never free client configuration.

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
