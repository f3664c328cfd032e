"""The page of what is mirrored to a cluster: MirrorClient's questions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.clusters import equivalents, queries
from console.clusters.mirror import answers as mirror
from console.clusters.models import Cluster, Noun
from console.clusters.pages import around_cluster, find_cluster
from console.frame.errors import ActionRefused
from console.frame.pages.forms import ActionForm
from console.frame.pages.render import render_page
from console.frame.security.access import page, require


class MirrorForm(ActionForm):
    """How topics are named here, and a group to ask for."""

    policy = forms.ChoiceField(
        label="Names",
        required=False,
        choices=[
            (mirror.DEFAULT, "Source alias in front: east.orders (default policy)"),
            (mirror.IDENTITY, "Same name: orders (identity policy)"),
        ],
    )
    separator = forms.RegexField(
        r"^[A-Za-z0-9._-]{1,10}$",
        required=False,
        help_text="Between alias and topic. Empty: a dot.",
    )
    source = forms.CharField(
        label="Source alias",
        max_length=100,
        required=False,
        help_text="Alias of the source cluster.",
    )
    group = forms.CharField(
        max_length=255,
        required=False,
        help_text="Shows the translated offsets of this group, from the checkpoints topic.",
    )

    def clean(self) -> dict[str, Any]:
        """A group is one of a certain cluster."""
        values = super().clean() or {}
        if values.get("group") and not values.get("source"):
            self.add_error("source", "Enter the source cluster of the group.")
        return values


@require_safe
@page("view", queries.where)
def mirror_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show the source clusters, and the translated offsets of one of their groups."""
    cluster = find_cluster(alias)
    form = MirrorForm(request.GET)
    asked = form.cleaned_data if form.is_valid() else {}
    policy = mirror.policy_from(asked)
    context = {
        **around_cluster(cluster, "mirror", equivalents.of_mirror(cluster), Noun.TOPICS),
        "form": form,
        "asked": asked,
        "mirrored": mirror.mirrored(cluster, policy),
        "offsets": _offsets(request, cluster, policy, form, asked) if asked.get("group") else None,
    }
    return render_page(request, "clusters/mirror/page.html", context)


def _offsets(
    request: HttpRequest, cluster: Cluster, policy: Any, form: MirrorForm, asked: dict[str, Any]
) -> list[mirror.RemoteOffset] | None:
    require(request.user, "operate", cluster.pk)
    try:
        return mirror.consumer_offsets(cluster, policy, asked["group"], asked["source"])
    except ActionRefused as refused:
        form.add_error("group", refused.message)
        return None
