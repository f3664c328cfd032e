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
from console.checks.catalogue import TITLES, by_area, list_checks, quantities, quantity
from console.checks.forms import SettingForm, WindowForm
from console.findings.check_settings import CheckSetting
from console.frame.errors import or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, can_anywhere, page, visible
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.schedules.timing import local_text
from jobs.checks.check import CHECKS, Check

_CELL = "checks/cells/"


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponse:
    """Show all checks, or those of an area or with words."""
    area, text = request.GET.get("area", ""), request.GET.get("q", "")[:200]
    counts = queries.count_open(request.user)
    shown = [
        (title, [(one, counts.get(one.id, 0), _thresholds(one)) for one in checks])
        for title, checks in by_area(list_checks(area, text))
    ]
    context = {"areas": shown, "area": area, "q": text, "titles": TITLES.items()}
    return render_page(request, "checks/list.html", context)


@require_safe
@page("view", anywhere)
def settings_page(request: HttpRequest) -> HttpResponseBase:
    """Show the settings; with `check` in the query a form for a new one, filled in by the query."""
    check, form = CHECKS.by_id.get(request.GET.get("check", "")), None
    if check and can_anywhere(request.user, "operate"):
        given = {name: request.GET.get(name, "") for name in ("cluster", "flow", "topic", "group")}
        patterns = {f"{name}_pattern": given[name] for name in ("topic", "group")}
        form = SettingForm(check, request.user, initial=given | patterns)
    return _render_settings(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def new_setting_page(request: HttpRequest) -> HttpResponseBase:
    """Create a setting of the check in the query."""
    check = CHECKS.by_id.get(request.GET.get("check", ""))
    if check is None:
        return _render_settings(request, None)
    form, person = SettingForm(check, request.user, request.POST or None), _person(request)
    if form.is_valid() and form.attempt(
        lambda: actions.create_setting(form.values(), person, timezone.now())
    ):
        messages.success(request, "Setting saved. It applies from the next round.")
        return redirect("checks:settings")
    return _render_settings(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("view", anywhere)
def setting_page(request: HttpRequest, setting_id: int) -> HttpResponse:
    """Show a setting, or change it; its check, cluster and flow stay."""
    row, person = _setting(request, setting_id), _person(request)
    if request.method == "POST":
        actions.require_on(person, row.clusters)
    check = CHECKS.by_id.get(row.check_id)
    form = SettingForm(check, person, request.POST or None, row=row) if check else None
    if (
        form
        and form.is_valid()
        and form.attempt(lambda: actions.change_setting(row, form.values(), person, timezone.now()))
    ):
        messages.success(request, "Setting saved. It applies from the next round.")
        return redirect("checks:settings")
    may_change = actions.may_change(person, row.clusters)
    context = {"form": form, "row": _setting(request, setting_id), "may_change": may_change}
    return render_page(request, "checks/setting.html", context)


@require_POST
@page("operate", queries.where_setting)
def remove_setting(request: HttpRequest, setting_id: int) -> HttpResponse:
    row, person = _setting(request, setting_id), _person(request)
    attempt(request, lambda: actions.delete_setting(row, person), "Setting removed.")
    return redirect("checks:settings")


@require_safe
@page("view", anywhere)
def maintenance_page(request: HttpRequest) -> HttpResponse:
    """Show the maintenance windows, and a form for a new one."""
    form = WindowForm(request.user) if can_anywhere(request.user, "operate") else None
    return _render_windows(request, form)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", anywhere)
def new_window_page(request: HttpRequest) -> HttpResponse:
    form, person = WindowForm(request.user, request.POST or None), _person(request)
    if form.is_valid() and form.attempt(
        lambda: windows.create_window(form.cleaned_data, person, timezone.now())
    ):
        messages.success(request, "Maintenance window saved.")
        return redirect("checks:maintenance")
    return _render_windows(request, form)


@require_POST
@page("operate", anywhere)
def preview_window(request: HttpRequest) -> HttpResponse:
    """Show the next times of the form of a window."""
    form, now = WindowForm(request.user, request.POST), timezone.now()
    problems = [one for name, texts in form.errors.items() if name != "title" for one in texts]
    context: dict[str, Any] = {"problems": problems}
    if not problems:
        row = windows.read_window({**form.cleaned_data, "title": "-"}, now)
        context["times"] = [(at, _local(row, at)) for at in queries.list_starts(row, now)]
        context["duration_s"] = row.duration_s
    return render_page(request, "checks/_preview.html", context)


@require_POST
@page("operate", queries.where_window)
def remove_window(request: HttpRequest, window_id: int) -> HttpResponse:
    row, person = or_404(queries.get_window(request.user, window_id)), _person(request)
    attempt(request, lambda: windows.delete_window(row, person), f"{row.title} removed.")
    return redirect("checks:maintenance")


def _render_settings(request: HttpRequest, form: SettingForm | None) -> HttpResponseBase:
    table = _with_menu().read(request, queries.list_settings(), "check-settings")
    context = {
        "table": table,
        "form": form,
        "areas": by_area(list_checks()),
        "may_add": can_anywhere(request.user, "operate"),
    }
    return render_page(request, "checks/settings.html", context)


def _render_windows(request: HttpRequest, form: WindowForm | None) -> HttpResponse:
    now, user = timezone.now(), request.user
    rows = []
    for row in visible(user, queries.list_windows()):
        starts, until = queries.list_starts(row, now), queries.active_until(row, now)
        rows.append(
            {
                "row": row,
                "until": until,
                "next": next((_local(row, at) for at in starts if at > now), ""),
                "may_remove": actions.may_change(user, row.clusters),
            }
        )
    context = {"rows": rows, "form": form, "may_add": can_anywhere(user, "operate")}
    return render_page(request, "checks/maintenance.html", context)


def _local(row: Any, at: Any) -> str:
    return local_text(at, row.time_zone)


def _thresholds(check: Check) -> list[tuple[str, str, str]]:
    return [(one.name, quantity(one), one.text) for one in check.all_thresholds]


def _setting(request: HttpRequest, setting_id: int) -> CheckSetting:
    return or_404(queries.get_setting(request.user, setting_id))


def _person(request: HttpRequest) -> Any:
    return request.user


def _values(row: CheckSetting) -> str:
    return quantities(CHECKS.by_id.get(row.check_id), row.thresholds)


def _title(check_id: str) -> str:
    check = CHECKS.by_id.get(check_id)
    return check.title if check else check_id


def _page(row: CheckSetting) -> str:
    return reverse("checks:setting", args=[row.pk])


SETTINGS = Table(
    (
        Column("check_id", "Check", "check_id", format=_title, link=_page),
        Column("scope", "Scope", template=f"{_CELL}scope.html"),
        Column("thresholds", "Thresholds", csv=_values, template=f"{_CELL}values.html"),
        Column("note", "Note", "note"),
        Column("changed_by.username", "Changed by", "changed_by__username"),
        Column("changed_at", "Changed", "changed_at", template="findings/cells/moment.html"),
    ),
    search=("check_id", "note", "topic_pattern", "group_pattern", "cluster__alias", "flow__name"),
    default_sort="check_id",
    ties=("pk",),
)


def _with_menu() -> Table:
    options = [(one.id, one.title) for one in list_checks()]
    return replace(SETTINGS, filters={"check": Choice("Check", options, equals("check_id"))})
