"""What follows from the incidents of a round: notices, entries of timelines, and deliveries.

All is written in the transaction of the incidents. What is not written now is due in the next round: it
follows from the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import F, Q

from console.delivery.models import Channel, Delivery
from console.delivery.outbox import queue
from console.findings.incidents.models import EventKind, Incident, IncidentEvent
from console.notifications.models import Notice, NotificationChannel, NotificationRoute
from jobs.notifications.message import MOST_ITEMS, Event, Item, Message
from jobs.notifications.routes import (
    OPENED_EVERY,
    Due,
    GroupBy,
    OpenIncident,
    Route,
    Sent,
    due_messages,
)
from jobs.notifications.texts import subject_of
from jobs.reports.values import stamp
from jobs.severity import Severity

NOTIFICATION = "notification"
LONGEST_SUBJECT = 300
_BATCH = 500
# Keys in one query.
_MOST_KEYS = 5_000
_OF_NOTICE = (
    "pk", "channel_id", "incident_id", "route_id", "group", "rank", "first_at", "sent_at", "repeats",
    "resolved_at", "incident__ended_at",
)  # fmt: skip
_OF_INCIDENT = (
    "pk", "check_id", "rank", "state", "opened_at", "subject", "title",
    "cluster_id", "log__cluster_id", "flow__source_id", "flow__target_id",
)  # fmt: skip


def notify(now: datetime) -> int:
    """Write what is due and return how many messages; two rounds at once write one after the other."""
    enabled = NotificationChannel.objects.filter(is_enabled=True).order_by("pk")
    channels = {row.pk: row for row in enabled.select_for_update(no_key=True)}
    if not channels:
        return 0
    turn = _Turn(now, channels, _read_notices(channels, now))
    sent = [one.sent for one in turn.notices.values()]
    due = due_messages(_read_routes(channels), _read_incidents(), sent, now)
    turn.write(due)
    return len(due)


@dataclass(frozen=True, slots=True)
class _Notice:
    pk: int
    repeats: int
    sent: Sent


@dataclass
class _Turn:
    """What one round writes; `notices` are by channel and incident."""

    now: datetime
    channels: Mapping[int, NotificationChannel]
    notices: Mapping[tuple[int, int], _Notice]

    def write(self, due: Sequence[Due]) -> None:
        """Write messages, and what channels were sent with them."""
        ids = {pk for one in due for pk in one.incidents}
        related = Incident.objects.select_related("cluster", "flow", "log")
        rows = related.in_bulk(ids) if ids else {}
        worst = sorted(rows, key=lambda pk: (-rows[pk].rank, rows[pk].began_at, pk))
        places = {pk: number for number, pk in enumerate(worst)}
        queue(
            delivery
            for one in due
            for delivery in self._deliveries(
                one, [rows[pk] for pk in sorted(one.incidents, key=places.__getitem__)]
            )
        )
        self._open([one for one in due if one.event is Event.OPENED], rows)
        self._repeat(due, rows)
        self._close()
        events = (self._entry(one, pk) for one in due for pk in one.incidents)
        IncidentEvent.objects.bulk_create(events, batch_size=_BATCH)

    def _open(self, due: Iterable[Due], rows: Mapping[int, Incident]) -> None:
        notices = [
            Notice(
                channel_id=one.channel,
                route_id=one.route,
                incident_id=pk,
                group=one.group,
                rank=rows[pk].rank,
                first_at=self.now,
                sent_at=self.now,
            )
            for one in due
            for pk in one.incidents
        ]
        Notice.objects.bulk_create(notices, batch_size=_BATCH)

    def _repeat(self, due: Iterable[Due], rows: Mapping[int, Incident]) -> None:
        worse: dict[int, list[int]] = {}
        reminded = list[int]()
        for one in due:
            for pk in one.incidents:
                if one.event is Event.WORSE:
                    worse.setdefault(rows[pk].rank, []).append(self.notices[one.channel, pk].pk)
                elif one.event is Event.REMINDER:
                    reminded.append(self.notices[one.channel, pk].pk)
        for rank, keys in sorted(worse.items()):
            _update(keys, rank=rank, sent_at=self.now)
        _update(reminded, repeats=F("repeats") + 1, sent_at=self.now)
        # The clock was set back: the time to the next reminder begins now.
        ahead = [one.pk for one in self.notices.values() if one.sent.sent_at > self.now]
        _update(ahead, sent_at=self.now)

    def _close(self) -> None:
        """Note all that is over, also where its route sends no word about it."""
        _update([one.pk for one in self.notices.values() if one.sent.is_over], resolved_at=self.now)

    def _entry(self, one: Due, pk: int) -> IncidentEvent:
        channel = self.channels[one.channel]
        text = f"Sent to {channel.name} ({channel.get_kind_display()}): {one.event}."
        return IncidentEvent(incident_id=pk, at=self.now, kind=EventKind.NOTIFIED, text=text)

    def _deliveries(self, one: Due, rows: Sequence[Incident]) -> Iterator[Delivery]:
        """Yield the deliveries of a message; `rows` are its incidents, the worst first."""
        channel = self.channels[one.channel]
        message = Message(
            event=one.event,
            group=one.group,
            severity=Severity.of_rank(rows[0].rank).value,
            total=len(rows),
            at=stamp(self.now) or "",
            items=[_item(row) for row in rows[:MOST_ITEMS]],
        )
        content, key = message.to_mapping(), self._key(one, rows)
        subject = subject_of(message)[:LONGEST_SUBJECT]
        is_mail = channel.kind == Channel.EMAIL
        for address in channel.address.split() if is_mail else [channel.address]:
            yield Delivery(
                source=NOTIFICATION,
                subject=subject,
                key=f"{key}:{_hash(address)[:16]}" if is_mail else key,
                sender=channel,
                content=content,
                channel=channel.kind,
                address=address,
                created_at=self.now,
                next_at=self.now,
            )

    def _key(self, one: Due, rows: Iterable[Incident]) -> str:
        """Return the same key for the same message: an incident can become worse twice."""
        told = []
        for row in sorted(rows, key=lambda row: row.pk):
            known = self.notices.get((one.channel, row.pk))
            told.append(f"{row.pk}:{known.repeats if known else 0}:{row.rank}")
        return f"{NOTIFICATION}:{one.event}:{one.channel}:{_hash(','.join(told))[:32]}"


def _read_routes(channels: Iterable[int]) -> list[Route]:
    """Return all routes, also those that are disabled, with their enabled channels; two queries."""
    links = NotificationRoute.channels.through.objects.filter(notificationchannel__in=channels)
    channels_of: dict[int, list[int]] = {}
    for route, channel in links.order_by("notificationchannel").values_list(
        "notificationroute", "notificationchannel"
    ):
        channels_of.setdefault(route, []).append(channel)
    return [
        Route(
            row.pk,
            tuple(channels_of.get(row.pk, ())),
            Severity(row.severity).rank,
            tuple(row.checks),
            row.cluster_id,
            row.subject_pattern,
            frozenset(row.days),
            row.starts,
            row.ends,
            row.time_zone,
            GroupBy(row.group_by),
            row.wait_s,
            row.repeat_s,
            row.sends_resolved,
            row.is_enabled,
        )
        for row in NotificationRoute.objects.order_by("pk")
    ]


def _read_incidents() -> list[OpenIncident]:
    rows: Any = Incident.objects.filter(ended_at=None).order_by("pk").values_list(*_OF_INCIDENT)
    return [OpenIncident(*(*row[:7], tuple(filter(None, row[7:])))) for row in rows]


def _read_notices(channels: Iterable[int], now: datetime) -> dict[tuple[int, int], _Notice]:
    """Return what was not resolved, and what was opened lately."""
    asked = Q(resolved_at=None) | Q(first_at__gt=now - OPENED_EVERY)
    rows = Notice.objects.filter(asked, channel__in=channels).order_by("pk")
    found = {}
    row: Sequence[Any]
    for row in rows.values_list(*_OF_NOTICE):
        pk, channel, incident, route, group, rank, first_at, sent_at, repeats, resolved, ended = row
        is_over = ended is not None and resolved is None
        sent = Sent(channel, incident, route, group, rank, first_at, sent_at, is_over)
        found[channel, incident] = _Notice(pk, repeats, sent)
    return found


def _update(keys: Sequence[int], **values: Any) -> None:
    for start in range(0, len(keys), _MOST_KEYS):
        Notice.objects.filter(pk__in=keys[start : start + _MOST_KEYS]).update(**values)


def _item(row: Incident) -> Item:
    return Item(
        id=row.pk,
        key=row.key,
        title=row.title,
        sentence=row.sentence,
        severity=row.severity,
        state=row.state,
        check=row.check_id,
        place=row.place,
        subject_kind=row.subject_kind,
        subject=row.subject,
        todo=row.todo,
        began_at=stamp(row.began_at) or "",
        ended_at=stamp(row.ended_at) or "",
        link=f"{settings.CROSSLOG_URL}{row.href}" if settings.CROSSLOG_URL else "",
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
