"""A page with every component of the frame, for tests of look and behaviour without any room."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.auth.views import LoginView, LogoutView
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import RequestContext, Template
from django.urls import include, path
from django.utils import timezone

from console.frame.pages.error_pages import not_found, permission_denied, server_error
from console.frame.pages.freshness import Freshness
from console.frame.pages.render import render_page
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import page
from console.frame.tables.columns import Choice, Column
from console.frame.tables.table import Table
from jobs.numbers import format_count
from tests.gallery.forms import ClusterForm

PAGE = Path(__file__).with_name("gallery.html")
COLUMNS = [
    Column(
        "codename", "Permission", order_by="codename", link=lambda row: f"/table/?q={row.codename}"
    ),
    Column("content_type.app_label", "App", order_by="content_type__app_label"),
    Column("name", "Name", order_by="name"),
    Column(
        "pk",
        "Number",
        order_by="pk",
        numeric=True,
        format=format_count,
        definition="The primary key of the row.",
    ),
    Column("content_type.model", "Model", is_hidden=True),
]
KIND = Choice(
    "Kind",
    [("add", "Add"), ("view", "View")],
    lambda rows, value: rows.filter(Q(codename__startswith=f"{value}_")),
)
FACTS = [
    {
        "label": "Fail over now",
        "value": "46 of 52",
        "note": "groups ready · worst would re-read 1,204 records",
    },
    {
        "label": "Lag",
        "value": "1.8 s",
        "note": "east → west, highest in the last hour 4.1 s",
        "definition": "Head record's timestamp minus the timestamp of the last replicated record.",
    },
    {
        "label": "Partitions at risk",
        "value": "2",
        "severity": "critical",
        "note": "at min ISR · 0 under · 0 offline of 4,812",
    },
    {
        "label": "Flows",
        "value": "3 of 4",
        "severity": "warning",
        "word": "1 retrying",
        "note": "payments-west since 03:08",
    },
    {"label": "Rate", "value": None, "note": "no sample yet"},
]
TABS = [
    {"label": "Overview", "href": "/gallery/", "is_current": True},
    {"label": "Topics", "href": "/table/", "count": 128},
    {"label": "Partitions", "href": "#", "count": 4812},
    {"label": "Groups", "href": "#", "count": 2, "is_bad": True},
    {"label": "Settings", "href": "#"},
]
STATES = [
    ("ok", "Caught up"),
    ("info", "Copying"),
    ("warning", "Retrying"),
    ("critical", "At min ISR"),
    ("critical", "Offline"),
    ("none", "Unknown"),
]


@page("view")
def gallery(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    context: dict[str, Any] = {
        "facts": FACTS,
        "tabs": TABS,
        "states": STATES,
        "table": _table(request),
        "time_range": TimeRange.from_query(request.GET.dict(), now),
        "fresh": Freshness("topics", now - timedelta(seconds=4), duration_ms=41),
        "stale": Freshness(
            "groups",
            now - timedelta(minutes=12),
            now - timedelta(minutes=11),
            "east: no broker answered within 10 s.",
            "Check that host and port are right.",
        ),
        "since": now - timedelta(hours=3, minutes=52),
        "samples": [3, 4, 3, 5, 9, 14, 8, None, None, 4, 3, 2],
        "form": ClusterForm(request.POST or None),
    }
    return HttpResponse(Template(PAGE.read_text()).render(RequestContext(request, context)))


@page("view")
def table(request: HttpRequest) -> HttpResponse:
    rows = _table(request)
    return render_page(request, "components/_table.html", {"table": rows, "label": "Permissions"})


@page("operate")
def operate(request: HttpRequest) -> HttpResponse:
    return HttpResponse("done")


@page("view")
def series(request: HttpRequest) -> JsonResponse:
    time_range = TimeRange.from_query(request.GET.dict(), timezone.now())
    if time_range.problem:
        return JsonResponse({"detail": "Some fields are wrong."}, status=400)
    step = time_range.step_s(int(request.GET.get("points", "200")))
    first = int(time_range.start.timestamp())
    at = list(range(first, int(time_range.end.timestamp()), step))
    lag = [
        round(900 + 800 * math.sin(i / 9) + (9000 * math.exp(-(((i - 90) / 8) ** 2))))
        for i in range(len(at))
    ]
    other = [None if 40 < i < 50 else round(300 + 200 * math.cos(i / 14)) for i in range(len(at))]
    events = (
        [
            {
                "at": at[len(at) // 3],
                "kind": "ISR shrank",
                "url": "/table/",
                "label": "Broker 2 fenced, ISR of 38 partitions shrank",
                "severity": "critical",
            }
        ]
        if at
        else []
    )
    return JsonResponse({"at": at, "lag": lag, "other": other, "events": events})


@page("view")
def broken_series(request: HttpRequest) -> JsonResponse:
    return JsonResponse(
        {"code": "unreachable", "detail": "The database did not answer.", "fields": {}}, status=503
    )


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a mistake, on purpose")


def _table(request: HttpRequest) -> Any:
    rows = Permission.objects.select_related("content_type")
    found = Table(
        COLUMNS,
        search=("codename", "name"),
        filters={"kind": KIND},
        default_sort="codename",
        per_page=20,
    )
    return found.read(request, rows, "table")


handler403 = permission_denied
handler404 = not_found
handler500 = server_error

urlpatterns = [
    path("", gallery),
    path("gallery/", gallery, name="gallery"),
    path("table/", table),
    path("operate/", operate),
    path("series/", series),
    path("broken-series/", broken_series),
    path("broken/", broken),
    path("frame/", include("console.frame.urls")),
    path("help/", include("console.frame.help.urls")),
    path("login/", LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    # The rail links to one's own account.
    path("", include("console.accounts.urls")),
]
