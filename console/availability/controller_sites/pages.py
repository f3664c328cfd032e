"""The page of controller sites."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from console.availability.controller_sites.sites import ControllerPlace, places_of, save_sites
from console.availability.page_context import around_cluster, find_cluster
from console.availability.placements import equivalents
from console.availability.what_if.cluster_models import snapshot_of
from console.clusters import queries as clusters
from console.frame.pages.forms import ActionForm
from console.frame.pages.render import render_page
from console.frame.security.access import page


class ControllerSitesForm(ActionForm):
    """A field for each controller that is not a broker with a rack; the action validates."""

    def __init__(self, places: list[ControllerPlace], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for one in places:
            if not one.rack:
                self.fields[f"sites.{one.node_id}"] = _site_field(one)

    def values(self) -> dict[str, str]:
        """Return the site of each controller; call after `is_valid`."""
        return {name.removeprefix("sites."): text for name, text in self.cleaned_data.items()}


def _site_field(place: ControllerPlace) -> forms.CharField:
    return forms.CharField(
        label=f"Controller {place.node_id}",
        required=False,
        initial=place.site,
        widget=forms.TextInput(
            attrs={"list": "sites", "autocomplete": "off", "spellcheck": "false"}
        ),
    )


@require_http_methods(["GET", "POST"])
@page("operate", clusters.where)
def controller_sites_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show and save the sites of controllers that are not brokers."""
    cluster = find_cluster(alias)
    picture = snapshot_of(cluster)
    places = places_of(cluster, picture.voters, picture.racks)
    form = ControllerSitesForm(places, request.POST or None)
    if form.is_valid() and form.attempt(
        lambda: save_sites(cluster, form.values(), places, timezone.now())
    ):
        messages.success(request, "Sites saved. Failure simulation uses them.")
        return redirect("availability:matrix", alias)
    context = {
        **around_cluster(request, cluster, "what-if"),
        "form": form,
        "voters": places,
        "brokers": [one for one in places if one.rack],
        "racks": sorted({rack for rack in picture.racks.values() if rack}),
        "equivalents": equivalents.of_controller_sites(cluster),
    }
    return render_page(request, "availability/controller_sites/page.html", context)
