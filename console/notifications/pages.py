"""Pages of notification routes and channels, for administrators."""

from __future__ import annotations

from collections.abc import Callable
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
from console.frame.pages.forms import ActionForm, attempt
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
def new_route_page(request: HttpRequest) -> HttpResponse:
    """Create a route."""
    return _route(request, NotificationRoute())


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def route_page(request: HttpRequest, route_id: int) -> HttpResponse:
    """Show a route, or change it."""
    return _route(request, _get(queries.list_routes(), route_id))


@require_POST
@page("administer")
def delete_route(request: HttpRequest, route_id: int) -> HttpResponse:
    row = _get(queries.list_routes(), route_id)
    attempt(request, lambda: actions.delete_route(row), f"{row.name} deleted.")
    return redirect(ROUTES_AT)


@require_safe
@page("administer")
def channels_page(request: HttpRequest) -> HttpResponseBase:
    """Show the channels with the state of their last delivery."""
    table = CHANNELS.read(request, queries.list_channels(), "notification-channels")
    context = {"table": table, "tabs": tabs_of(CHANNELS_AT)}
    return render_page(request, "notifications/channels.html", context)


@require_safe
@page("administer")
def kinds_page(request: HttpRequest) -> HttpResponse:
    """Show the kinds of channels: which one is new."""
    return render_page(request, "notifications/kinds.html", {"kinds": LABELS})


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
        said[0] = actions.send_test(row, _person(request), timezone.now())

    if attempt(request, send):
        messages.success(request, said[0])
    return redirect(CHANNELS_AT)


@require_POST
@page("administer")
def delete_channel(request: HttpRequest, channel_id: int) -> HttpResponse:
    """Delete a channel; refused while a route sends to it."""
    row = _get(queries.list_channels(), channel_id)
    attempt(request, lambda: actions.delete_channel(row), f"{row.name} deleted.")
    return redirect(CHANNELS_AT)


def _route(request: HttpRequest, row: NotificationRoute) -> HttpResponse:
    form, name = RouteForm(row, request.POST or None), row.name
    if _saved(request, form, lambda: _save_route(request, row, form)):
        return redirect(ROUTES_AT)
    has_channels = bool(form.fields["channels"].choices)  # type: ignore[attr-defined]  # a MultipleChoiceField has them
    call = f"GET /api/v1/notification-routes/{row.pk}/"
    context = {"form": form, "row": row, "name": name, "has_channels": has_channels, "call": call}
    return render_page(request, "notifications/route.html", context)


def _channel(request: HttpRequest, row: NotificationChannel) -> HttpResponse:
    form = ChannelForm(row, queries.secrets_set(row), request.POST or None)
    name, label = row.name, Channel(row.kind).label
    if _saved(request, form, lambda: _save_channel(request, row, form)):
        return redirect(CHANNELS_AT)
    call = f"GET /api/v1/notification-channels/{row.pk}/"
    context = {"form": form, "row": row, "name": name, "label": label, "call": call}
    return render_page(request, "notifications/channel.html", context)


def _save_route(request: HttpRequest, row: NotificationRoute, form: RouteForm) -> None:
    actions.save_route(row, form.cleaned_data, _person(request), timezone.now())


def _save_channel(request: HttpRequest, row: NotificationChannel, form: ChannelForm) -> None:
    actions.save_channel(row, form.values(), _person(request), timezone.now())


def _saved(request: HttpRequest, form: ActionForm, save: Callable[[], None]) -> bool:
    is_saved = request.method == "POST" and form.is_valid() and form.attempt(save)
    if is_saved:
        messages.success(request, f"{form.cleaned_data['name']} saved.")
    return is_saved


def _get(rows: Any, pk: int) -> Any:
    return or_404(rows.filter(pk=pk).first())


def _person(request: HttpRequest) -> Any:
    return request.user


def _names(row: NotificationRoute) -> str:
    return ", ".join(one.name for one in row.channels.all())


def _word(value: Any) -> str:
    return "Enabled" if value else "Disabled"


_CELLS = "notifications/cells/"
ROUTES = Table(
    (
        Column(
            "name",
            "Name",
            "name",
            link=lambda row: reverse("notifications:route", args=[row.pk]),
        ),
        Column("is_enabled", "State", "is_enabled", format=_word),
        Column("condition", "Condition", csv=condition_of, template=f"{_CELLS}condition.html"),
        Column("names", "Channels", csv=_names),
        Column("matches", "Open incidents", template=f"{_CELLS}matches.html"),
    ),
    search=("name", "subject_pattern", "cluster__alias", "channels__name"),
    default_sort="name",
)
CHANNELS = Table(
    (
        Column(
            "name",
            "Name",
            "name",
            link=lambda row: reverse("notifications:channel", args=[row.pk]),
        ),
        Column("kind", "Kind", "kind", format=lambda value: Channel(value).label),
        Column("is_enabled", "State", "is_enabled", format=_word),
        Column("last_state", "Last delivery", "last_state", template=f"{_CELLS}last.html"),
        Column("test", "Test", csv=lambda row: "", template=f"{_CELLS}test.html"),
        Column("address", "Address", "address", template=f"{_CELLS}address.html"),
    ),
    search=("name", "address"),
    filters={"kind": Choice("Kind", LABELS, equals("kind"))},
    default_sort="name",
)
