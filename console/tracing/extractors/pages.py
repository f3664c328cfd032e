"""Pages of extractors: the list of a cluster, and the page that builds one from samples."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.clusters import queries as clusters
from console.clusters.equivalents import Equivalents, call_of
from console.clusters.models import Cluster
from console.clusters.pages import around_cluster, find_cluster
from console.frame.errors import ActionRefused
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.tracing.extractors import actions
from console.tracing.extractors.forms import ExtractorForm, initial_of
from console.tracing.extractors.models import StoredExtractor
from console.tracing.extractors.queries import find_extractor, list_extractors
from console.tracing.extractors.trial import Trial, show_record, try_extractor
from jobs.cluster.descriptions import TopicPartition
from jobs.tracing.extractors.forms import Value
from jobs.tracing.extractors.presets import PRESETS
from jobs.tracing.extractors.roles import ROLES, RoleType
from jobs.tracing.extractors.samples import Sample

_NOTHING = (
    "An extractor says where ID, step, time and error of records are. Analyses of event tracing can also use "
    "a preset as it is."
)
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
# Until the year 9000.
_MOST_MS = 7000 * 365 * 86_400_000


@require_safe
@page("view", clusters.where)
def list_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show the extractors of a cluster."""
    cluster = find_cluster(alias)
    call = Equivalents(call_of("extractors", cluster=alias), "")
    context = {
        **around_cluster(cluster, "extractors", call),
        "rows": list_extractors(cluster),
        "presets": list(PRESETS),
        "nothing": _NOTHING,
    }
    return render_page(request, "tracing/extractors/list.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page("administer", clusters.where)
def new_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Build an extractor."""
    cluster = find_cluster(alias)
    given = {name: request.GET.get(name, "") for name in ("preset", "topic")}
    return _build(request, cluster, StoredExtractor(cluster=cluster), given)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page("administer", clusters.where)
def extractor_page(request: HttpRequest, alias: str, extractor_id: int) -> HttpResponse:
    """Change an extractor."""
    cluster = find_cluster(alias)
    row = find_extractor(cluster, extractor_id)
    return _build(request, cluster, row, {**row.definition, "name": row.name})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page("administer", clusters.where)
def record_page(
    request: HttpRequest, alias: str, topic: str, partition: int, offset: int
) -> HttpResponse:
    """Name the place of a record; a POST reads it and shows it without what the extractor redacts."""
    cluster = find_cluster(alias)
    where, extractor = TopicPartition(topic, partition), request.GET.get("extractor", "")
    context: dict[str, Any] = {"where": where, "offset": offset, "extractor": extractor}
    if request.method == "POST":
        person: Any = request.user
        try:
            sample = show_record(cluster, where, offset, extractor, person)
            context["sample"] = around_sample(sample)
        except ActionRefused as refusal:
            context["refusal"] = refusal.message
    around = around_cluster(
        cluster, "extractors", Equivalents("POST /api/v1/extractors/record/", "")
    )
    return render_page(request, "tracing/extractors/record.html", {**around, **context})


@require_POST
@page("administer", clusters.where)
def remove(request: HttpRequest, alias: str, extractor_id: int) -> HttpResponse:
    """Remove an extractor."""
    row = find_extractor(find_cluster(alias), extractor_id)
    person: Any = request.user
    attempt(request, lambda: actions.remove(row, person), f"{row.name} was removed.")
    return redirect("tracing:extractors", alias)


def _build(
    request: HttpRequest, cluster: Cluster, row: StoredExtractor, given: dict[str, Any]
) -> HttpResponse:
    data: Any = request.POST.copy() if request.method == "POST" else None
    if data and data.get("take") in PRESETS:
        data["preset"] = data["take"]
    form = ExtractorForm(data, initial_of(given))
    person: Any = request.user
    trial: list[Trial] = []
    if data is not None and form.is_valid():
        definition, name = form.definition(), form.cleaned_data["name"]
        if data.get("step") == "save":
            if form.attempt(lambda: actions.save(row, name, definition, person, timezone.now())):
                messages.success(request, f"{row.name} was saved.")
                return redirect("tracing:extractors", cluster.alias)
        else:
            topic = form.cleaned_data["topic"]
            form.attempt(lambda: trial.append(try_extractor(cluster, topic, definition, person)))
    call = (
        f"GET /api/v1/extractors/{row.pk}/"
        if row.pk
        else call_of("extractors", cluster=cluster.alias)
    )
    context = {
        **around_cluster(cluster, "extractors", Equivalents(call, "")),
        "row": row if row.pk else None,
        "form": form,
        **(around_trial(trial[0]) if trial else {}),
    }
    return render_page(request, "tracing/extractors/extractor.html", context)


def around_trial(trial: Trial) -> dict[str, Any]:
    """Return what the page shows of a trial: labels of roles, times as moments."""
    return {
        "trial": trial,
        "samples": [around_sample(one) for one in trial.samples],
        "found": _by_label(trial.found),
        "problems": [(ROLES[role].label, text, n) for role, text, n in trial.problems],
        "presets": [(one.preset, _by_label(one.found)) for one in trial.presets],
    }


def around_sample(one: Sample) -> dict[str, Any]:
    """Return what pages show of a record: labels of roles, times as moments."""
    return {
        "record": one,
        "at": _moment(one.timestamp_ms),
        "values": [(ROLES[role].label, _told(role, v)) for role, v in one.values.items()],
        "content": [("Key", one.key), ("Value", one.value), *one.headers],
        "problems": [(ROLES[role].label, text) for role, text in one.problems.items()],
    }


def _by_label(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(ROLES[role].label, count) for role, count in counts.items()]


def _told(role: str, value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    at = _moment(value) if ROLES[role].type is RoleType.TIME else None
    return str(value) if at is None else at.isoformat(timespec="milliseconds")


def _moment(ms: Value) -> datetime | None:
    """Return the moment of a time in ms; None without one, and outside of the calendar."""
    if not isinstance(ms, int) or abs(ms) > _MOST_MS:
        return None
    return _BEGIN + timedelta(milliseconds=ms)
