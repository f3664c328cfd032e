"""The table of deliveries."""

from __future__ import annotations

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.tables.table import Choice, Column, Table
from console.reports.models import Channel, Delivery, DeliveryState

_AGO = "reports/delivery/cells/ago.html"


def _page(delivery: Delivery) -> str:
    return reverse("reports:run", args=[delivery.run_id])


def _in_state(rows: QuerySet[Delivery], state: str) -> QuerySet[Delivery]:
    return rows.filter(state=state)


def _by(rows: QuerySet[Delivery], channel: str) -> QuerySet[Delivery]:
    return rows.filter(channel=channel)


DELIVERIES = Table(
    (
        Column("created_at", "Created", "pk", template=_AGO),
        Column("run.name", "Report", "run__name", link=_page),
        Column("channel", "Channel", "channel", format=lambda value: Channel(value).label),
        Column("shown_address", "Recipient", "address"),
        Column("state", "State", "state", template="reports/delivery/cells/state.html"),
        Column("attempts", "Attempts", "attempts", numeric=True),
        Column("next_at", "Next attempt", "next_at", template=_AGO),
        Column("sentence", "Last result", template="reports/delivery/cells/sentence.html"),
        Column("delivered_at", "Delivered", "delivered_at", template=_AGO, is_hidden=True),
    ),
    search=("run__name", "address"),
    filters={
        "state": Choice("State", DeliveryState.choices, _in_state),
        "channel": Choice("Channel", Channel.choices, _by),
    },
    default_sort="-created_at",
)
