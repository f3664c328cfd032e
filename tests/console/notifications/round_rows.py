"""Channels and routes, as tests want them."""

from __future__ import annotations

from typing import Any

from console.notifications.models import NotificationChannel, NotificationRoute
from tests.console.making import NOW


def make_channel(
    name: str = "Ops Slack", kind: str = "slack", **fields: Any
) -> NotificationChannel:
    values = {"address": "hooks.example.org/…", "changed_at": NOW} | fields
    return NotificationChannel.objects.create(name=name, kind=kind, **values)


def make_route(
    *channels: NotificationChannel, name: str = "All", **fields: Any
) -> NotificationRoute:
    """Make a route of all incidents that waits for nothing."""
    values = {"severity": "info", "wait_s": 0, "changed_at": NOW} | fields
    route = NotificationRoute.objects.create(name=name, **values)
    route.channels.set(channels)
    return route
