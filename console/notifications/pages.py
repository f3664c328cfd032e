"""Pages of notification routes and channels, for administrators."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.delivery.models import Channel
from console.delivery.pages import tabs_of
from console.frame.errors import or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.notifications import actions, queries
from console.notifications.forms import ChannelForm, RouteForm
from console.notifications.kinds import KINDS
from console.notifications.models import KINDS as LABELS
from console.notifications.models import NotificationChannel, NotificationRoute
from console.notifications.route_values import condition_of, never_matches

ROUTES_AT, CHANNELS_AT = "notifications:routes", "notifications:channels"


@require_safe
@page("administer")
def routes_page(request: HttpRequest) -> HttpResponseBase:
    """Show the routes, each with its condition in words and how many open incidents it matches."""
    table = ROUTES.read(request, queries.list_routes(), "notification-routes")
    counts = queries.count_matches(table.rows)
    for row in table.rows:
        row.condition, row.never = condition_of(row), never_matches(row)
        row.names, row.matches = _names(row), counts[row.pk]
    has_channels = NotificationChannel.objects.exists()
    context = {"table": table, "tabs": tabs_of(ROUTES_AT), "has_channels": has_channels}
    return render_page(request, "notifications/routes.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def route_page(request: HttpRequest, route_id: int | None = None) -> HttpResponse:
    """Show a route, or change it; without a key, create one."""
    is_new = route_id is None
    row = NotificationRoute() if is_new else _get(queries.list_routes(), route_id)
    form = RouteForm(row, request.POST or None)
    has_channels = bool(form.fields["channels"].choices)  # type: ignore[attr-defined]  # a MultipleChoiceField has them
    return _edit(request, row, form, ROUTES_AT, {"has_channels": has_channels, "noun": "route"})


@require_POST
@page("administer")
def delete_route(request: HttpRequest, route_id: int) -> HttpResponse:
    return _delete(request, _get(queries.list_routes(), route_id), ROUTES_AT)


@require_safe
@page("administer")
def channels_page(request: HttpRequest) -> HttpResponseBase:
    """Show the channels with the state of their last delivery, and the kinds of which one can be new."""
    table = CHANNELS.read(request, queries.list_channels(), "notification-channels")
    context = {"table": table, "tabs": tabs_of(CHANNELS_AT), "kinds": LABELS}
    return render_page(request, "notifications/channels.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def new_channel_page(request: HttpRequest, channel_kind: str) -> HttpResponse:
    """Create a channel of a kind."""
    or_404(KINDS.get(channel_kind))
    return _channel(request, NotificationChannel(kind=channel_kind))


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def channel_page(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Show a channel without its secrets, or change it; its kind stays."""
    return _channel(request, _get(queries.list_channels(), channel_id))


@require_POST
@page("administer")
def send_test(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Send a test message; the next page says what was answered."""
    row, said = _get(queries.list_channels(), channel_id), [""]

    def send() -> None:
        person: Any = request.user
        said[0] = actions.send_test(row, person, timezone.now())

    if attempt(request, send):
        messages.success(request, said[0])
    return redirect(CHANNELS_AT)


@require_POST
@page("administer")
def delete_channel(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Delete a channel; refused while a route sends to it."""
    return _delete(request, _get(queries.list_channels(), channel_id), CHANNELS_AT)


def _channel(request: HttpRequest, row: NotificationChannel) -> HttpResponse:
    form = ChannelForm(row, queries.secrets_of(row), request.POST or None)
    more = {"label": Channel(row.kind).label, "has_channels": True, "noun": "channel"}
    return _edit(request, row, form, CHANNELS_AT, more)


def _edit(request: HttpRequest, row: Any, form: Any, back: str, more: Any) -> HttpResponse:
    """Show the form of a row; save what is sent."""
    person: Any = request.user
    name, noun, now = row.name, more["noun"], timezone.now()
    if form.is_valid() and form.attempt(lambda: actions.save(row, form.values(), person, now)):
        messages.success(request, f"{row.name} saved.")
        return redirect(back)
    call = f"GET /api/v1/notification-{noun}s/{row.pk}/"
    context = {"form": form, "row": row, "name": name, "call": call, "back": reverse(back), **more}
    if row.pk:
        context["delete"] = reverse(f"notifications:delete-{noun}", args=[row.pk])
    return render_page(request, "notifications/edit.html", context)


def _delete(request: HttpRequest, row: Any, back: str) -> HttpResponse:
    attempt(request, lambda: actions.delete(row), f"{row.name} deleted.")
    return redirect(back)


def _get(rows: Any, pk: int | None) -> Any:
    return or_404(rows.filter(pk=pk).first())


def _names(row: NotificationRoute) -> str:
    return ", ".join(one.name for one in row.channels.all())


def _word(value: Any) -> str:
    return "Enabled" if value else "Disabled"


def _name(of: str) -> Column:
    return Column("name", "Name", "name", link=lambda row: reverse(of, args=[row.pk]))


_STATE = Column("is_enabled", "State", "is_enabled", format=_word)
_CELLS = "notifications/cells/"
ROUTES = Table(
    (
        _name("notifications:route"),
        _STATE,
        Column("condition", "Condition", csv=condition_of, template=f"{_CELLS}prose.html"),
        Column("names", "Channels", csv=_names),
        Column("matches", "Open incidents", template=f"{_CELLS}matches.html"),
    ),
    search=("name", "subject_pattern", "cluster__alias", "channels__name"),
    default_sort="name",
)
CHANNELS = Table(
    (
        _name("notifications:channel"),
        Column("kind", "Kind", "kind", format=lambda value: Channel(value).label),
        _STATE,
        Column("last_state", "Last delivery", "last_state", template=f"{_CELLS}last.html"),
        Column("test", "Test", csv=lambda row: "", template=f"{_CELLS}test.html"),
        Column("address", "Address", "address", template=f"{_CELLS}prose.html"),
    ),
    search=("name", "address"),
    filters={"kind": Choice("Kind", LABELS, equals("kind"))},
    default_sort="name",
)
