"""Pages that change the registry of clusters."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from console.clusters import actions, queries
from console.clusters.facts import cluster_tabs
from console.clusters.models import CONNECTION_FIELDS, Cluster
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import ActionForm, RemovalForm, attempt
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
    """Change the connection, confirm a new cluster id, remove the cluster."""
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
    cluster = _cluster(alias)
    done = f"The connection to {alias} works; the cluster ID is the registered one."
    attempt(request, lambda: actions.recheck_cluster(cluster, timezone.now()), done)
    return redirect("clusters:detail", alias)


@require_POST
@page("administer", queries.where)
def confirm(request: HttpRequest, alias: str) -> HttpResponse:
    """Confirm the id of a cluster that was replaced."""
    cluster, new_id = _cluster(alias), request.POST.get("cluster_id", "")
    done = f"Cluster ID of {alias} confirmed. Collection starts within seconds."
    attempt(request, lambda: actions.confirm_cluster_id(cluster, new_id), done)
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
    done = f"Cluster {alias} was removed. The Kafka cluster was not changed."
    if not attempt(request, lambda: actions.delete_cluster(cluster), done):
        return redirect("clusters:settings", alias)
    return redirect("clusters:list")


def _cluster(alias: str) -> Cluster:
    return or_404(queries.get_cluster(alias))


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
        return f"Cluster {cluster.alias} was saved without a connection. Collection starts when it answers."
    return f"Cluster {cluster.alias} ({cluster.cluster_id}) was registered. Collection starts within seconds."


# The form of a cluster: typed fields only, never free client configuration.

_REFERENCE = f"env:{ENV_PREFIX}NAME or file:NAME"


# What `protocol_fields.js` reads: which security protocols use a field.
_SASL, _OAUTHBEARER, _TLS = ({"data-needs": one} for one in ("sasl", "oauthbearer", "tls"))
_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


def _line(
    label: str, help_text: str, used_by: dict[str, str], longest: int = 255
) -> forms.CharField:
    widget = forms.TextInput(attrs={**_PLAIN, **used_by})
    return forms.CharField(
        label=label, required=False, max_length=longest, help_text=help_text, widget=widget
    )


def _secret(label: str, help_text: str, used_by: dict[str, str]) -> forms.CharField:
    more = {**used_by, "placeholder": _REFERENCE}
    return _line(label, f"{help_text} Secret reference: {_REFERENCE}.", more)


class SettingsForm(ActionForm):
    """Connection settings; `actions` reports errors at the field."""

    bootstrap_servers = forms.CharField(
        label="Bootstrap servers",
        max_length=4000,
        help_text="host:port, separated by commas. Other brokers are discovered.",
        widget=forms.TextInput(attrs=_PLAIN),
    )
    security_protocol = forms.ChoiceField(
        label="Security protocol", choices=[(p.value, p.value) for p in SecurityProtocol]
    )
    sasl_mechanism = forms.ChoiceField(
        label="SASL mechanism",
        required=False,
        choices=[("", "none"), *((m.value, m.value) for m in SaslMechanism)],
        widget=forms.Select(attrs=_SASL),
    )
    sasl_username = _line("User name", "With OAUTHBEARER: the client ID.", _SASL)
    sasl_password = _secret("Password", "With OAUTHBEARER: the client secret.", _SASL)
    sasl_oauthbearer_token_url = _line(
        "Token endpoint",
        "For OAUTHBEARER: URL of the OAuth 2 token endpoint (client credentials).",
        _OAUTHBEARER,
        1000,
    )
    sasl_oauthbearer_scope = _line(
        "Scope", "For OAUTHBEARER: scope of the token request.", _OAUTHBEARER
    )
    ssl_ca = _secret(
        "CA certificates", "PEM. Empty: the CA certificates of the operating system.", _TLS
    )
    ssl_certificate = _secret("Client certificate", "PEM, for mutual TLS.", _TLS)
    ssl_key = _secret("Client key", "PEM, for mutual TLS.", _TLS)
    ssl_key_password = _secret("Password of the client key", "Only for an encrypted key.", _TLS)
    ssl_check_hostname = forms.BooleanField(
        label="Check the host name in the broker's certificate",
        required=False,
        initial=True,
        widget=forms.CheckboxInput(attrs=_TLS),
    )
    save_unchecked = forms.BooleanField(
        label="Save without connection check",
        required=False,
        help_text="Collection starts when the cluster answers; the first answer sets its cluster ID.",
    )

    def clean(self) -> None:
        """Report what does not fit together beside wrong single fields."""
        self.complete(lambda: actions.read_settings(self.values()))

    def values(self) -> dict[str, Any]:
        """Return the settings as `actions` takes them; call after `is_valid`."""
        return {k: v for k, v in self.cleaned_data.items() if k != "save_unchecked"}

    @property
    def is_unchecked(self) -> bool:
        """Whether the cluster is saved without a connection check; call after `is_valid`."""
        return bool(self.cleaned_data["save_unchecked"])


class NewClusterForm(SettingsForm):
    """A cluster to be registered."""

    field_order = ("alias",)
    alias = forms.CharField(
        max_length=63,
        help_text="Permanent. Prefix of remote topics, e.g. east.orders.",
        widget=forms.TextInput(attrs=_PLAIN),
    )


class ChangeClusterForm(SettingsForm):
    """Settings of a registered cluster."""

    is_enabled = forms.BooleanField(
        label="Collect from this cluster",
        required=False,
        help_text="Off: the data collected before stays.",
    )
    field_order = (*CONNECTION_FIELDS, "is_enabled", "save_unchecked")

    def __init__(self, cluster: Cluster, *args: Any, **kwargs: Any) -> None:
        names = (*CONNECTION_FIELDS, "is_enabled")
        initial = {name: getattr(cluster, name) for name in names}
        super().__init__(*args, **{"initial": initial, **kwargs})
