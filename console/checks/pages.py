"""Pages of the catalogue, of settings and of maintenance windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.checks import actions, queries, windows
from console.checks.catalogue import TITLES, by_area, list_checks
from console.checks.forms import SettingForm, WindowForm
from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow
from console.frame.errors import or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can_anywhere, page, visible
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.schedules.timing import local_text
from jobs.checks.check import CHECKS


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponse:
    """Show all checks, or those of an area or with words."""
    area, text = request.GET.get("area", ""), request.GET.get("q", "")[:200]
    counts = queries.count_open(request.user)
    shown = [
        (title, [(one, counts.get(one.id, 0)) for one in checks])
        for title, checks in by_area(list_checks(area, text))
    ]
    context = {"areas": shown, "area": area, "q": text, "titles": TITLES.items()}
    return render_page(request, "checks/list.html", context)


@require_safe
@page("view", anywhere)
def settings_page(request: HttpRequest) -> HttpResponseBase:
    """Show the settings; with `check` in the query a form for a new one, filled in by the query."""
    return _settings(request, CheckSetting(check_id=request.GET.get("check", "")))


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def new_setting_page(request: HttpRequest) -> HttpResponseBase:
    """Create a setting of the check in the query."""
    return _settings(request, CheckSetting(check_id=request.GET.get("check", "")))


@require_http_methods(["GET", "HEAD", "POST"])
@page("view", anywhere)
def setting_page(request: HttpRequest, setting_id: int) -> HttpResponseBase:
    """Show a setting, or change it; its check, cluster and flow stay."""
    row = _seen(request, queries.list_settings(), setting_id)
    if request.method == "POST":
        actions.require_on(_person(request), row.clusters)
    return _settings(request, row)


@require_POST
@page("operate", queries.where_setting)
def remove_setting(request: HttpRequest, setting_id: int) -> HttpResponse:
    row = _seen(request, queries.list_settings(), setting_id)
    attempt(request, lambda: actions.remove(row, _person(request)), "Setting removed.")
    return redirect("checks:settings")


@require_safe
@page("view", anywhere)
def maintenance_page(request: HttpRequest) -> HttpResponse:
    """Show the maintenance windows, and a form for a new one."""
    return _windows(request)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def new_window_page(request: HttpRequest) -> HttpResponse:
    """Create a maintenance window."""
    return _windows(request)


@require_POST
@page("operate", anywhere)
def preview_window(request: HttpRequest) -> HttpResponse:
    """Show the next times of the form of a window."""
    form, now = WindowForm(request.user, request.POST), timezone.now()
    problems = [one for name, texts in form.errors.items() if name != "title" for one in texts]
    context: dict[str, Any] = {"problems": problems}
    if not problems:
        row = windows.read_window({**form.cleaned_data, "title": "-"}, now)
        starts = queries.list_starts(row, now)
        context["times"] = [(at, local_text(at, row.time_zone)) for at in starts]
        context["duration_s"] = row.duration_s
    return render_page(request, "checks/_preview.html", context)


@require_POST
@page("operate", queries.where_window)
def remove_window(request: HttpRequest, window_id: int) -> HttpResponse:
    row = _seen(request, queries.list_windows(), window_id)
    attempt(request, lambda: actions.remove(row, _person(request)), f"{row.title} removed.")
    return redirect("checks:maintenance")


def _settings(request: HttpRequest, row: CheckSetting) -> HttpResponseBase:
    """Show the settings with the form of one that is saved or new; save what is sent."""
    person, check, form = _person(request), CHECKS.by_id.get(row.check_id), None
    may_add = can_anywhere(person, "operate")
    may_change = actions.may_change(person, row.clusters) if row.pk else may_add
    if check and may_change:
        query = request.GET.dict()
        patterns = {f"{name}_pattern": query.get(name, "") for name in ("topic", "group")}
        form = SettingForm(check, person, request.POST or None, query | patterns, row)
    scope = row.scope if row.pk else ""
    if (
        form
        and form.is_valid()
        and form.attempt(lambda: actions.save_setting(row, form.values(), person, timezone.now()))
    ):
        messages.success(request, "Setting saved. It applies from the next round.")
        return redirect("checks:settings")
    choice = Choice("Check", [(one.id, one.title) for one in list_checks()], equals("check_id"))
    table = replace(SETTINGS, filters={"check": choice})
    context = {
        "table": table.read(request, queries.list_settings(), "check-settings"),
        "form": form,
        "row": row,
        "check": check,
        "scope": scope,
        "areas": by_area(list_checks()),
        "may_add": may_add,
        "may_change": may_change,
    }
    return render_page(request, "checks/settings.html", context)


def _windows(request: HttpRequest) -> HttpResponse:
    """Show the windows with the form of a new one; save what is sent."""
    person, now = _person(request), timezone.now()
    may_add = can_anywhere(person, "operate")
    form = WindowForm(person, request.POST or None) if may_add else None
    if (
        form
        and form.is_valid()
        and form.attempt(lambda: actions.create_window(form.cleaned_data, person, now))
    ):
        messages.success(request, "Maintenance window saved.")
        return redirect("checks:maintenance")
    rows = [
        {
            "row": row,
            "until": queries.active_until(row, now),
            "next": _next(row, now),
            "may_remove": actions.may_change(person, row.clusters),
        }
        for row in visible(person, queries.list_windows())
    ]
    return render_page(request, "checks/maintenance.html", {"rows": rows, "form": form})


def _next(row: MaintenanceWindow, now: Any) -> str:
    starts = (at for at in queries.list_starts(row, now) if at > now)
    return next((local_text(at, row.time_zone) for at in starts), "")


def _seen(request: HttpRequest, rows: Any, pk: int) -> Any:
    return or_404(visible(request.user, rows.filter(pk=pk)).first())


def _person(request: HttpRequest) -> Any:
    return request.user


def _title(check_id: str) -> str:
    check = CHECKS.by_id.get(check_id)
    return check.title if check else check_id


def _page(row: CheckSetting) -> str:
    return reverse("checks:setting", args=[row.pk])


SETTINGS = Table(
    (
        Column("check_id", "Check", "check_id", format=_title, link=_page),
        Column("scope", "Scope", template="checks/cells/scope.html"),
        Column("thresholds", "Thresholds", template="checks/cells/values.html"),
        Column("note", "Note", "note"),
        Column("changed_by.username", "Changed by", "changed_by__username"),
        Column("changed_at", "Changed", "changed_at", template="findings/cells/moment.html"),
    ),
    search=("check_id", "note", "topic_pattern", "group_pattern", "cluster__alias", "flow__name"),
    default_sort="check_id",
    ties=("pk",),
)
