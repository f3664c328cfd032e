"""Pages of placements: list, comparison with replicas, assignment and change with preview."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.availability.page_context import around_cluster, find_cluster
from console.availability.placements import actions, drafts, equivalents
from console.availability.placements.effects import Standings, standings_of
from console.availability.placements.forms import PlacementForm, initial_for, initial_of
from console.availability.placements.models import TopicPlacement
from console.availability.placements.placements import PlacementRules, list_placements
from console.availability.placements.tables import PLACEMENTS
from console.availability.what_if.cluster_models import snapshot_of
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.freshness import Freshness
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.page import cut
from jobs.cluster.errors import InvalidFields
from jobs.numbers import format_count

WRONG, ALL = "wrong", "all"


@require_safe
@page("view", clusters.where)
def placements_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the placements of a cluster, and the mismatches of its replicas."""
    cluster = find_cluster(alias)
    table = PLACEMENTS.read(request, list_placements(cluster), f"{alias}-placements")
    picture = snapshot_of(cluster)
    rules = PlacementRules(list_placements(cluster))
    standings = standings_of(picture, rules)
    shown = narrowed(
        standings, request.GET.get("topic", ""), is_wrong=request.GET.get("show") == WRONG
    )
    context = {
        **around_cluster(request, cluster, "placements"),
        "table": table,
        "facts": placement_facts(standings),
        "topics": cut(map(standings.topic, shown), len(shown), request.GET, "topics"),
        "show": request.GET.get("show", ALL),
        "asked_topic": request.GET.get("topic", ""),
        "gaps": [*picture.gaps, *rules.problems],
        "picture_freshness": Freshness("Placement", picture.seen_at),
        "has_racks": any(picture.racks.values()),
        "equivalents": equivalents.of_placements(cluster),
        "topics_call": equivalents.of_placed_topics(cluster),
    }
    return render_page(request, "availability/placements/list.html", context, is_live=True)


@require_http_methods(["GET", "POST"])
@page("operate", clusters.where)
def new_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Assign a placement: preview, then save."""
    cluster = find_cluster(alias)
    form = PlacementForm(request.POST or None, initial=initial_for(cluster, request.GET.dict()))
    return _edit(request, cluster, form, None)


@require_http_methods(["GET", "POST"])
@page("operate", clusters.where)
def placement_page(request: HttpRequest, alias: str, placement_id: int) -> HttpResponse:
    """Change a placement: preview, then save."""
    row = find_placement(alias, placement_id)
    form = PlacementForm(request.POST or None, initial=initial_of(row))
    return _edit(request, find_cluster(alias), form, row)


@require_POST
@page("operate", clusters.where)
def remove(request: HttpRequest, alias: str, placement_id: int) -> HttpResponse:
    """Remove a placement."""
    row = find_placement(alias, placement_id)
    try:
        actions.remove_placement(row)
        messages.success(request, f"{row.pattern} has no placement of its own here any more.")
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
    return redirect("availability:placements", alias)


def find_placement(alias: str, placement_id: int) -> TopicPlacement:
    """Return a placement of a cluster; raises Http404."""
    return or_404(
        list_placements().filter(cluster__alias=alias, pk=placement_id).first(),
        f"{alias} has no placement {placement_id}. It may have been removed.",
    )


def _edit(
    request: HttpRequest, cluster: Cluster, form: PlacementForm, row: TopicPlacement | None
) -> HttpResponse:
    context: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        try:
            saved = _try_save(request, cluster, form, row)
            if saved is not None:
                messages.success(request, f"{saved.pattern}: the placement counts from now on.")
                return redirect("availability:placements", cluster.alias)
            draft = drafts.draft_of(cluster, form.values(), row)
            context = {
                "preview": drafts.preview(draft),
                "draft": draft,
                "confirm": drafts.confirmation_of(draft),
            }
        except InvalidFields as invalid:
            form.take_placement_errors(invalid.errors)
        except ActionRefused as refusal:
            form.add_error(None, refusal.message)
    context |= {
        **around_cluster(request, cluster, "placements"),
        "form": form,
        "row": row,
        "equivalents": equivalents.of_placement(cluster, row),
    }
    return render_page(request, "availability/placements/placement.html", context)


def _try_save(
    request: HttpRequest, cluster: Cluster, form: PlacementForm, row: TopicPlacement | None
) -> TopicPlacement | None:
    """Save the previewed values; None when the form has other values: they need a preview first."""
    confirm = request.POST.get("confirm", "")
    if request.POST.get("step") != "save":
        return None
    if confirm != drafts.confirmation_of(drafts.draft_of(cluster, form.values(), row)):
        messages.warning(
            request,
            "The values or the placements changed since the preview. Check the new preview, then save.",
        )
        return None
    now = timezone.now()
    if row is None:
        return actions.assign_placement(cluster, form.values(), confirm, now)
    return actions.change_placement(row, form.values(), confirm, now)


def narrowed(standings: Standings, topic: str, *, is_wrong: bool) -> list[int]:
    """Return the indexes of topics with a placement whose names hold a text."""
    text, topics = topic.lower(), standings.units.topics
    found = [index for index in standings.placed if text in topics[index].name.lower()]
    return [index for index in found if standings.is_wrong(index)] if is_wrong else found


ONE_SITE = "isr-in-one-rack"


def placement_facts(found: Standings) -> list[dict[str, Any]]:
    """Return the tiles: topics with a placement, mismatches, out-of-sync replicas, observers."""
    wrong = sum(found.is_wrong(index) for index in found.placed)
    one_site = found.count_violations(ONE_SITE)
    missing = sum(found.missing[index] for index in found.placed)
    return [
        {
            "label": "Topics with a placement",
            "value": format_count(len(found.placed)),
            "note": f"of {format_count(len(found))}",
            "definition": "By topic config, or assigned in crosslog by name or pattern.",
        },
        _counted("Mismatches", wrong, "warning", "topics", "Topics with at least one mismatch."),
        _counted(
            "ISR in one rack",
            one_site,
            "warning",
            "partitions",
            "Partitions whose in-sync replicas are all in one rack although the placement names several.",
        ),
        _counted(
            "Sync replicas missing",
            missing,
            "warning",
            "partitions",
            "Partitions with a sync replica outside the ISR; observers are not counted.",
        ),
        {
            "label": "Brokers with observers",
            "value": format_count(len(found.observers)),
            "definition": "Brokers with at least one observer replica.",
        },
    ]


def _counted(label: str, count: int, severity: str, note: str, definition: str) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "label": label,
        "value": format_count(count),
        "note": note,
        "definition": definition,
    }
    return fact | ({"severity": severity} if count else {"severity": "healthy"})
