"""The bodies of webhooks: crosslog's own events, and those of an Alertmanager (version 4). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from jobs.notifications.message import Event, Item, Message
from jobs.notifications.texts import subject_of
from jobs.visible import visible_line

_TYPES = {
    Event.OPENED: "incident.opened",
    Event.WORSE: "incident.worse",
    Event.REMINDER: "incident.reminder",
    Event.RESOLVED: "incident.resolved",
    Event.TEST: "notification.test",
}
# What a person reads; `key` and `subject` are names as Kafka has them.
_TEXTS = ("title", "sentence", "place", "todo")
_NOT_ENDED = "0001-01-01T00:00:00Z"
_OF_CLUSTER = "Cluster "


def event_of(message: Message) -> tuple[str, dict[str, Any]]:
    """Return type and data of an event."""
    incidents = [
        asdict(item) | {name: visible_line(getattr(item, name)) for name in _TEXTS}
        for item in message.items
    ]
    data = {"summary": subject_of(message), "group": message.group, "severity": message.severity}
    return _TYPES[message.event], {**data, "total": message.total, "incidents": incidents}


def alertmanager_of(message: Message, receiver: str, console_url: str) -> dict[str, Any]:
    """Return the body that an Alertmanager sends to a webhook; `console_url` is "" without CROSSLOG_URL."""
    group = {"group": visible_line(message.group)}
    is_over = message.event is Event.RESOLVED and not message.still_open
    alerts = [_alert(item, group) for item in message.items]
    return {
        "version": "4",
        "groupKey": message.group,
        "truncatedAlerts": max(0, message.total - len(alerts)),
        "status": "resolved" if is_over else "firing",
        "receiver": visible_line(receiver),
        "groupLabels": group,
        "commonLabels": _common([one["labels"] for one in alerts]),
        "commonAnnotations": _common([one["annotations"] for one in alerts]),
        "externalURL": console_url,
        "alerts": alerts,
    }


def _alert(item: Item, group: Mapping[str, str]) -> dict[str, Any]:
    labels = {
        "alertname": "".join(map(str.capitalize, item.check.replace("-", "_").split("_"))),
        "severity": item.severity,
        "place": item.place,
        "check": item.check,
        "subject": item.subject,
    }
    if item.place.startswith(_OF_CLUSTER):
        labels["cluster"] = item.place.removeprefix(_OF_CLUSTER)
    annotations = {"summary": item.title, "description": item.sentence, "runbook": item.todo}
    return {
        "status": "resolved" if item.ended_at else "firing",
        "labels": {**_filled(labels), **group},
        "annotations": _filled(annotations),
        "startsAt": item.began_at,
        "endsAt": item.ended_at or _NOT_ENDED,
        "generatorURL": item.link,
        "fingerprint": hashlib.sha256(item.key.encode("utf-8", "surrogatepass")).hexdigest()[:16],
    }


def _filled(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts without the empty ones: Prometheus has no empty label."""
    return {name: visible_line(text) for name, text in texts.items() if text}


def _common(maps: list[dict[str, str]]) -> dict[str, str]:
    shared = set.intersection(*(set(one.items()) for one in maps)) if maps else set()
    return dict(sorted(shared))
