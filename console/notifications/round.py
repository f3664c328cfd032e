"""What follows from the incidents of a round: notices, entries of timelines, and deliveries.

All is written in the transaction of the incidents. What is not written now is due in the next round: it
follows from the rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import F, OuterRef, Q, Subquery

from console.delivery.models import Channel, Delivery
from console.delivery.outbox import queue
from console.findings.incidents.models import EventKind, Incident, IncidentEvent
from console.notifications import queries
from console.notifications.models import Notice, NotificationChannel, NotificationRoute
from console.notifications.sending.channels import NOTIFICATION
from jobs.notifications.message import MOST_ITEMS, Event, Item, Message
from jobs.notifications.routes import OPENED_EVERY, Due, Route, Sent, due_messages
from jobs.notifications.texts import subject_of
from jobs.reports.values import stamp
from jobs.severity import Severity

_BATCH = 500
# Keys in one query.
_MOST_KEYS = 5_000
_OF_ROUTE = (
    "pk", "severity", "checks", "cluster_id", "subject_pattern", "days", "starts", "ends", "time_zone",
    "group_by", "wait_s", "repeat_s", "sends_resolved", "is_enabled",
)  # fmt: skip
_OF_NOTICE = (
    "channel_id", "incident_id", "route_id", "group", "rank", "first_at", "sent_at", "is_over", "pk",
    "repeats",
)  # fmt: skip
_OF_ITEM = (
    "key", "title", "sentence", "severity", "state", "place", "subject_kind", "subject", "todo",
)  # fmt: skip


def notify(now: datetime) -> int:
    """Write what is due and return how many messages; two rounds at once write one after the other."""
    enabled = NotificationChannel.objects.filter(is_enabled=True).order_by("pk")
    channels = {row.pk: row for row in enabled.select_for_update(no_key=True)}
    if not channels:
        return 0
    sent, incidents = _read_sent(channels, now), queries.list_open()
    due = due_messages(_read_routes(channels), incidents, sent.values(), now)
    known = {one.id for one in incidents}
    groups = Counter((one.channel, one.group) for one in sent.values() if one.incident in known)
    for one in due:
        groups[one.channel, one.group] += len(one.incidents) if one.event is Event.OPENED else 0
    _Turn(now, channels, sent, groups).write(due)
    return len(due)


@dataclass
class _Turn:
    """What one round writes; `sent` is by channel and incident, `still_open` by channel and group."""

    now: datetime
    channels: Mapping[int, NotificationChannel]
    sent: Mapping[tuple[int, int], Sent]
    still_open: Mapping[tuple[int, str], int]

    def write(self, due: Sequence[Due]) -> None:
        """Write messages, and what channels were sent with them."""
        ids = {pk for one in due for pk in one.incidents}
        related = Incident.objects.select_related("cluster", "flow", "log")
        rows = related.in_bulk(ids) if ids else {}
        queue(delivery for one in due for delivery in self._deliveries(one, rows))
        opened = [
            Notice(
                channel_id=one.channel, route_id=one.route, incident_id=pk, group=one.group,
                rank=rows[pk].rank, first_at=self.now, sent_at=self.now,
            )
            for one in due if one.event is Event.OPENED for pk in one.incidents
        ]  # fmt: skip
        Notice.objects.bulk_create(opened, batch_size=_BATCH)
        self._update_notices(due)
        events = (self._entry(one, pk) for one in due for pk in one.incidents)
        IncidentEvent.objects.bulk_create(events, batch_size=_BATCH)

    def _update_notices(self, due: Sequence[Due]) -> None:
        told: dict[Event, list[int]] = {event: [] for event in Event}
        for one in due:
            if one.event is not Event.OPENED:
                told[one.event] += [self.sent[one.channel, pk].key for pk in one.incidents]
        rank = Incident.objects.filter(pk=OuterRef("incident")).values("rank")
        _update(told[Event.WORSE], rank=Subquery(rank), sent_at=self.now)
        _update(told[Event.REMINDER], repeats=F("repeats") + 1, sent_at=self.now)
        # The clock was set back: the time to the next reminder begins now.
        _update([one.key for one in self.sent.values() if one.sent_at > self.now], sent_at=self.now)
        # Also where the route sends no word about the end.
        _update([one.key for one in self.sent.values() if one.is_over], resolved_at=self.now)

    def _entry(self, one: Due, pk: int) -> IncidentEvent:
        channel = self.channels[one.channel]
        text = f"Sent to {channel.name} ({channel.get_kind_display()}): {one.event}."
        return IncidentEvent(incident_id=pk, at=self.now, kind=EventKind.NOTIFIED, text=text)

    def _deliveries(self, one: Due, incidents: Mapping[int, Incident]) -> Iterator[Delivery]:
        """Yield the deliveries of a message."""
        found = (incidents[pk] for pk in one.incidents)
        rows = sorted(found, key=lambda row: (-row.rank, row.began_at, row.pk))
        channel, items = self.channels[one.channel], [_item(row) for row in rows[:MOST_ITEMS]]
        severity, at = Severity.of_rank(rows[0].rank).value, stamp(self.now) or ""
        still_open = self.still_open[one.channel, one.group]
        message = Message(one.event, one.group, severity, len(rows), at, items, still_open)
        is_mail = channel.kind == Channel.EMAIL
        key = self._key(one, rows)
        for address in channel.address.split() if is_mail else [channel.address]:
            yield Delivery(
                source=NOTIFICATION,
                subject=subject_of(message),
                key=f"{key}:{_hash(address)[:16]}" if is_mail else key,
                sender=channel,
                content=message.to_mapping(),
                channel=channel.kind,
                address=address,
                created_at=self.now,
                next_at=self.now,
            )

    def _key(self, one: Due, rows: Iterable[Incident]) -> str:
        """Return the same key for the same message: an incident can become worse twice."""
        told = []
        for row in sorted(rows, key=lambda row: row.pk):
            known = self.sent.get((one.channel, row.pk))
            told.append(f"{row.pk}:{known.repeats if known else 0}:{row.rank}")
        return f"{NOTIFICATION}:{one.event}:{one.channel}:{_hash(','.join(told))[:32]}"


def _read_routes(channels: Iterable[int]) -> list[Route]:
    """Return all routes, also those that are disabled, with their enabled channels; two queries."""
    links = NotificationRoute.channels.through.objects.filter(notificationchannel__in=channels)
    channels_of: dict[int, list[int]] = {}
    pairs = links.values_list("notificationroute", "notificationchannel")
    for route, channel in pairs.order_by("notificationchannel"):
        channels_of.setdefault(route, []).append(channel)
    rows: Any = NotificationRoute.objects.order_by("pk").values_list(*_OF_ROUTE)
    return [
        Route(pk, channels_of.get(pk, ()), Severity(severity).rank, *told)
        for pk, severity, *told in rows
    ]


def _read_sent(channels: Iterable[int], now: datetime) -> dict[tuple[int, int], Sent]:
    """Return what was not resolved, and what was opened lately."""
    asked = Q(resolved_at=None) | Q(first_at__gt=now - OPENED_EVERY)
    is_over = Q(resolved_at=None, incident__ended_at__isnull=False)
    notices = Notice.objects.filter(asked, channel__in=channels).annotate(is_over=is_over)
    rows: Any = notices.order_by("pk").values_list(*_OF_NOTICE)
    return {(row[0], row[1]): Sent(*row) for row in rows}


def _update(keys: Sequence[int], **values: Any) -> None:
    for start in range(0, len(keys), _MOST_KEYS):
        Notice.objects.filter(pk__in=keys[start : start + _MOST_KEYS]).update(**values)


def _item(row: Incident) -> Item:
    return Item(
        id=row.pk,
        check=row.check_id,
        began_at=stamp(row.began_at) or "",
        ended_at=stamp(row.ended_at) or "",
        link=f"{settings.CROSSLOG_URL}{row.href}" if settings.CROSSLOG_URL else "",
        **{name: getattr(row, name) for name in _OF_ITEM},
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
