"""Pages of schedules. A schedule belongs to no cluster, so most need a role everywhere."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from rest_framework.exceptions import APIException

from console.frame.errors import or_404
from console.frame.pages.forms import ActionForm, attempt
from console.frame.pages.render import render_page
from console.frame.rest.parsing import JsonParser
from console.frame.security.access import anywhere, can, page
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.schedules import actions, queries, timing
from console.schedules.models import Outcome, Schedule
from console.schedules.starters import check_arguments, get_starter, label_of, plain_facts
from jobs.cluster.errors import InvalidFields


@require_GET
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show all schedules."""
    table = SCHEDULES.read(request, queries.list_schedules(), "schedules")
    return render_page(request, "schedules/list.html", {"table": table}, is_live=True)


@require_GET
@page("view")
def detail_page(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Show one schedule: its job, next runs and last runs."""
    schedule = _schedule(schedule_id)
    firings = [
        {
            "row": row,
            "due": schedule.local(row.due_at) if row.due_at else "",
            "href": queries.href_of(schedule, row.ref),
        }
        for row in queries.list_firings(schedule)
    ]
    context = {
        **_facts(schedule.kind, schedule.arguments),
        "schedule": schedule,
        "stopped": queries.why_stopped(schedule),
        "next_times": [
            (at, schedule.local(at)) for at in queries.list_next_times(schedule, timezone.now())
        ],
        "firings": firings,
        "may_operate": can(request.user, "operate"),
    }
    return render_page(request, "schedules/detail.html", context, is_live=True)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate")
def new_page(request: HttpRequest) -> HttpResponse:
    """Create a schedule of the job that the query gives in `kind`, `arguments` and `title`."""
    asked = request.POST if request.method == "POST" else request.GET
    kind, text = asked.get("kind", ""), asked.get("arguments", "")
    form = ScheduleForm(request.POST or None, initial={"name": asked.get("title", "")[:200]})
    try:
        given = _read_arguments(text)
        arguments = check_arguments(kind, given)
    except InvalidFields as wrong:
        context = {"problems": list(wrong.errors.values()) if kind else []}
        return render_page(request, "schedules/nothing.html", context)
    made: list[Schedule] = []
    if request.method == "POST" and form.is_valid():
        values = {**form.cleaned_data, "kind": kind, "arguments": given}
        person: Any = request.user
        form.attempt(lambda: made.append(actions.create_schedule(values, person, timezone.now())))
    if made:
        messages.success(request, f"Schedule {made[0].name} created.")
        return redirect("schedules:detail", made[0].pk)
    shown = {**_facts(kind, arguments), "form": form, "kind": kind, "arguments": text}
    return render_page(request, "schedules/new.html", shown)


@require_POST
@page("operate")
def preview(request: HttpRequest) -> HttpResponse:
    """Show the next runs by the form of a schedule."""
    cron, zone = request.POST.get("cron", ""), request.POST.get("time_zone", "")
    context: dict[str, Any] = {"problems": []}
    try:
        times = queries.peek_times(cron, zone, timezone.now())
        context |= {"words": timing.in_words(cron)}
        context |= {"times": [(at, timing.local_text(at, zone)) for at in times]}
    except InvalidFields as wrong:
        context["problems"] = list(wrong.errors.values())
    return render_page(request, "schedules/_preview.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate")
def settings_page(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Change a schedule; what it starts stays."""
    schedule = _schedule(schedule_id)
    form = ChangeScheduleForm(schedule, request.POST or None)
    if (
        request.method == "POST"
        and form.is_valid()
        and form.attempt(
            lambda: actions.change_schedule(schedule_id, form.cleaned_data, timezone.now())
        )
    ):
        messages.success(request, "Schedule saved.")
        return redirect("schedules:detail", schedule_id)
    return render_page(request, "schedules/settings.html", {"schedule": schedule, "form": form})


@require_POST
@page("operate")
def run_now(request: HttpRequest, schedule_id: int) -> HttpResponse:
    person: Any = request.user
    pk = _schedule(schedule_id).pk
    if attempt(request, lambda: actions.run_now(pk, person, timezone.now())):
        messages.success(request, "Job started.")
    return redirect("schedules:detail", schedule_id)


@require_POST
@page("operate")
def set_enabled(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Disable a schedule, or enable it again."""
    values = {"is_enabled": request.POST.get("is_enabled") == "true"}
    pk = _schedule(schedule_id).pk
    attempt(request, lambda: actions.change_schedule(pk, values, timezone.now()))
    return redirect("schedules:detail", schedule_id)


@require_POST
@page("operate")
def delete(request: HttpRequest, schedule_id: int) -> HttpResponse:
    pk = _schedule(schedule_id).pk
    if not attempt(request, lambda: actions.delete_schedule(pk)):
        return redirect("schedules:settings", schedule_id)
    messages.success(request, "Schedule deleted. Its running jobs continue.")
    return redirect("schedules:list")


def _schedule(schedule_id: int) -> Schedule:
    return or_404(queries.get_schedule(schedule_id), f"There is no schedule {schedule_id}.")


def _facts(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the job as a page shows it."""
    starter = get_starter(kind)
    facts = starter.describe(arguments) if starter else plain_facts(arguments)
    return {"kind_label": label_of(kind), "facts": facts, "is_known": starter is not None}


def _read_arguments(text: str) -> dict[str, Any]:
    try:
        return JsonParser().parse(BytesIO((text or "{}").encode("utf-8", "replace")))
    except APIException:
        raise InvalidFields({"arguments": "The arguments are not a JSON object."}) from None


def _kind(schedule: Schedule) -> str:
    return label_of(schedule.kind)


def _page(schedule: Schedule) -> str:
    return reverse("schedules:detail", args=[schedule.pk])


_OUTCOMES = [
    (Outcome.STARTED, "Started"),
    (Outcome.LEFT_OUT, "Skipped"),
    (Outcome.FAILED, "Failed"),
]


def _enabled(rows: QuerySet[Schedule], value: str) -> QuerySet[Schedule]:
    return rows.filter(is_enabled=value == "yes")


SCHEDULES = Table(
    (
        Column("name", "Name", "name", link=_page),
        Column("kind", "Job", "kind", csv=_kind, format=label_of),
        Column("cron", "Schedule", "cron", template="schedules/cells/times.html"),
        Column(
            "next_at",
            "Next run",
            "next_at",
            definition="In the time zone of the schedule.",
            template="schedules/cells/next.html",
        ),
        Column("last_outcome", "Last run", "last_at", template="schedules/cells/last.html"),
        Column("created_by.username", "Owner"),
        Column("time_zone", "Time zone", "time_zone", is_hidden=True),
    ),
    search=("name", "kind", "last_sentence"),
    filters={
        "outcome": Choice("Last run", _OUTCOMES, equals("last_outcome")),
        "enabled": Choice("Enabled", [("yes", "Enabled"), ("no", "Disabled")], _enabled),
    },
    default_sort="name",
)


def _text(label: str, help_text: str, longest: int, initial: str = "") -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(
        label=label, help_text=help_text, max_length=longest, initial=initial, widget=widget
    )


class ScheduleForm(ActionForm):
    """A name and times."""

    name = _text("Name", "Shown in lists.", 200)
    cron = _text(
        "Cron expression",
        f"{timing.HELP} */15 * * * * is every quarter of an hour.",
        timing.LONGEST_CRON,
        "0 3 * * *",
    )
    time_zone = _text(
        "Time zone",
        "Europe/Berlin, America/New_York, UTC. A local time that a clock change skips runs right after "
        "the gap, one that it repeats runs once.",
        64,
        "UTC",
    )
    is_enabled = forms.BooleanField(
        label="Enabled",
        required=False,
        initial=True,
        help_text="Off: the schedule starts no jobs.",
    )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        cron, zone = given.get("cron", ""), given.get("time_zone", "UTC")
        self.complete(lambda: queries.peek_times(cron, zone, timezone.now()))
        return self.cleaned_data


class ChangeScheduleForm(ScheduleForm):
    """The same of a schedule that is there."""

    def __init__(self, schedule: Schedule, *args: Any, **kwargs: Any) -> None:
        initial = {name: getattr(schedule, name) for name in actions.CHANGEABLE}
        super().__init__(*args, **{"initial": initial, **kwargs})
