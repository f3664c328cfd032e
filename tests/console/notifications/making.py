"""Channels and routes, as tests want them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.frame.security.sealing import seal
from console.notifications.models import NotificationChannel, NotificationRoute

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def make_channel(
    name: str = "on-call", kind: str = "webhook", **fields: Any
) -> NotificationChannel:
    secrets = fields.pop("secrets", {"url": "https://hooks.example.org/pelargonium"})
    values = {"address": "https://hooks.example.org/… #0badcafe", "changed_at": NOW} | fields
    return NotificationChannel.objects.create(name=name, kind=kind, sealed=seal(secrets), **values)


def make_route(*channels: NotificationChannel, **fields: Any) -> NotificationRoute:
    values = {"name": "urgent", "severity": "critical", "changed_at": NOW} | fields
    route = NotificationRoute.objects.create(**values)
    route.channels.set(channels or [make_channel()])
    return route
