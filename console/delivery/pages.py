"""The page of deliveries, for administrators."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from console.delivery import actions, channels, queries
from console.delivery.destinations import LONGEST
from console.delivery.models import OF_REPORTS, Channel, Delivery, DeliveryState
from console.frame.pages.forms import ActionForm, attempt
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table


@require_GET
@page("administer")
def delivery_page(request: HttpRequest) -> HttpResponseBase:
    """Show which channels are set up, and what became of deliveries."""
    return _shown(request, DeliveryTestForm())


@require_POST
@page("administer")
def send_test(request: HttpRequest) -> HttpResponseBase:
    """Send a test message and show what the server said."""
    form = DeliveryTestForm(request.POST)
    person: Any = request.user
    said: list[str] = []
    if form.is_valid():
        given = form.cleaned_data
        form.attempt(
            lambda: said.append(
                actions.send_test(given["channel"], given["address"], person, timezone.now())
            )
        )
    if not said:
        return _shown(request, form)
    messages.success(request, said[0])
    return redirect("delivery:list")


@require_POST
@page("administer")
def retry(request: HttpRequest, delivery_id: int) -> HttpResponse:
    """Try a delivery again that was refused or given up."""
    done = "The delivery is tried again within 10 s."
    attempt(request, lambda: actions.retry(delivery_id, timezone.now()), done)
    return redirect("delivery:list")


def _shown(request: HttpRequest, form: DeliveryTestForm) -> HttpResponseBase:
    table = DELIVERIES.read(request, queries.list_deliveries(request.user), "deliveries")
    tabs = tabs_of("delivery:list")
    context = {"table": table, "form": form, "setups": channels.list_setups(), "tabs": tabs}
    return render_page(request, "delivery/list.html", context)


class DeliveryTestForm(ActionForm):
    """A channel and an address."""

    channel = forms.ChoiceField(label="Channel", choices=OF_REPORTS)
    address = forms.CharField(
        label="Address",
        max_length=LONGEST,
        help_text="An e-mail address, the name of a folder below REPORT_FOLDER, or the URL of a webhook "
        "whose host is in OUTBOUND_HOSTS.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


_AGO = "delivery/cells/ago.html"


def tabs_of(current: str) -> list[dict[str, Any]]:
    """Return the tabs of notifications; `current` is the name of a route."""
    tabs = {
        "notifications:routes": "Routes",
        "notifications:channels": "Channels",
        "delivery:list": "Deliveries",
    }
    return [
        {"label": label, "href": reverse(name), "is_current": name == current}
        for name, label in tabs.items()
    ]


def _page(delivery: Delivery) -> str:
    """Return the page of a report; empty: no link."""
    return reverse("reports:run", args=[delivery.run_id]) if delivery.run_id else ""


DELIVERIES = Table(
    (
        Column("created_at", "Created", "pk", template=_AGO),
        Column("subject", "Message", "subject", link=_page),
        Column("state", "State", "state", template="delivery/cells/state.html"),
        Column("channel", "Channel", "channel", format=lambda value: Channel(value).label),
        Column("shown_address", "Recipient", "address"),
        Column("attempts", "Attempts", "attempts", numeric=True),
        Column("next_at", "Next attempt", "next_at", template=_AGO),
        Column("sentence", "Last result", template="delivery/cells/sentence.html"),
        Column("delivered_at", "Delivered", "delivered_at", template=_AGO, is_hidden=True),
    ),
    search=("subject", "address"),
    filters={
        "state": Choice("State", DeliveryState.choices, equals("state")),
        "channel": Choice("Channel", Channel.choices, equals("channel")),
    },
    default_sort="-created_at",
)
