"""Pages that change the registry of clusters."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from console.clusters import actions, queries
from console.clusters.facts import cluster_tabs
from console.clusters.forms import ChangeClusterForm, NewClusterForm
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.frame.pages.forms import RemovalForm
from console.frame.pages.render import render_page
from console.frame.security.access import page
from jobs.cluster.errors import InvalidFields


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
