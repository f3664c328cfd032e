"""How a notification is sent by each kind of channel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import escape

from console.delivery import mail, webhook
from console.delivery.destinations import check_address
from console.delivery.models import Channel, Delivery, DeliveryState
from console.delivery.outbox import SOURCES, Source
from console.delivery.results import Refused, TryAgain
from console.frame.pages.forms import split_lines
from console.frame.security import sealing
from console.notifications.kinds import KEY, TOKEN, URL
from jobs.cluster.untrusted_text import register_secret
from jobs.notifications.message import Event, Item, Message
from jobs.notifications.texts import TEST_TITLE, body_of, subject_of
from jobs.notifications.webhook_bodies import alertmanager_of, event_of
from jobs.reports.values import stamp
from jobs.severity import Severity
from jobs.visible import visible_line

NOTIFICATION = "notification"
# An alert is worth more attempts than a report.
_BACK_OFF = tuple(timedelta(seconds=seconds) for seconds in (5, 15, 60, 300, 900))


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A message on its way; `id` is the same at each attempt, `mail_id` is the Message-ID, "" of a test."""

    message: Message
    id: str
    mail_id: str
    receiver: str
    at: datetime


def send(delivery: Delivery, at: datetime, memory: dict[str, Any]) -> str:
    """Send a notification with what its channel holds now; raises `Refused`, `TryAgain`."""
    channel = delivery.sender
    if channel is None:
        raise Refused("This channel was removed.")
    name = visible_line(channel.name)
    if not channel.is_enabled:
        raise Refused(f"Channel {name} is disabled.")
    is_mail = delivery.channel == Channel.EMAIL
    if is_mail and delivery.address not in split_lines(channel.address):
        raise Refused(f"{delivery.address} was removed from channel {name}.")
    try:
        secrets = sealing.unseal(channel.sealed)
    except sealing.NotReadable:
        text = f"Enter the secrets of channel {name} once more: SECRET_KEY was changed."
        raise Refused(text) from None
    message = Message.from_mapping(delivery.content)
    if message.event is Event.REMINDER and _is_said_later(delivery, message):
        return "Not sent: a later message of the same incidents is on its way."
    _let_earlier_go_first(delivery, at)
    mail_id = mail.message_id_of(delivery) if is_mail else ""
    outgoing = _Outgoing(message, _id_of(delivery), mail_id, channel.name, at)
    address = delivery.address if is_mail else channel.address
    sentence = _send(delivery.channel, secrets, address, outgoing)
    _waiting(delivery).filter(pk__gt=delivery.pk, next_at__gt=at).update(next_at=at)
    return sentence


def send_test(kind: str, secrets: Mapping[str, str], address: str, now: datetime) -> str:
    """Send a test message at once, to each of the addresses; raises `Refused`, `TryAgain`."""
    for text in secrets.values():
        register_secret(text)
    at = stamp(now) or ""
    sentence = "crosslog can send notifications to this channel."
    severity = Severity.INFO.value
    texts = {"check": "crosslog_test", "place": "crosslog", "todo": ""}
    cause = {"subject_kind": "crosslog", "subject": "", "began_at": at, "ended_at": ""}
    item = Item(0, "test", TEST_TITLE, sentence, severity, "open", **texts, **cause, link="")
    message = Message(Event.TEST, "test", severity, 1, at, (item,))
    outgoing = _Outgoing(message, f"test-{int(now.timestamp() * 1000)}", "", "test", now)
    addresses = split_lines(address) if kind == Channel.EMAIL else [address]
    return " ".join(_send(kind, secrets, one, outgoing) for one in addresses)


def server(delivery: Delivery) -> str:
    """Return what a delivery depends on: scheme and host, the mail server, or the kind."""
    if delivery.channel == Channel.EMAIL:
        return mail.server()
    address = delivery.sender.address if delivery.sender else ""
    return webhook.server_of(address) if "://" in address else delivery.channel


def register() -> None:
    """Let the outbox send notifications."""
    SOURCES[NOTIFICATION] = Source(send, server, _BACK_OFF)


def _send(kind: str, secrets: Mapping[str, str], address: str, outgoing: _Outgoing) -> str:
    message, url = outgoing.message, secrets.get(URL, "")
    match kind:
        case Channel.EMAIL:
            return _send_mail(address, outgoing)
        case Channel.WEBHOOK:
            key = secrets.get(KEY) or settings.WEBHOOK_KEY
            if not key:
                raise Refused("This channel has no signing key: enter one, or set WEBHOOK_KEY.")
            type_, data = event_of(message)
            told = webhook.event(type_, datetime.fromisoformat(message.at), data)
            return webhook.post(url, key, outgoing.id, told, outgoing.at)
        case Channel.ALERTMANAGER:
            body = alertmanager_of(message, outgoing.receiver, settings.CROSSLOG_URL)
            headers = _authorization(secrets.get(TOKEN, ""))
            return webhook.send_json(url, json.dumps(body).encode(), headers)
    from console.notifications.sending import services  # loads Apprise

    return services.push(kind, secrets, address, message, outgoing.id)


def _authorization(token: str) -> dict[str, str]:
    if not (token.isascii() and token.isprintable()):
        raise Refused("The bearer token has characters that no header can have: enter it again.")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _send_mail(address: str, outgoing: _Outgoing) -> str:
    try:
        to = check_address(Channel.EMAIL, address)
    except ValueError as wrong:
        raise Refused(str(wrong)) from None
    message = outgoing.message
    built = mail.begin(to, subject_of(message), outgoing.at)
    if outgoing.mail_id:
        built["Message-ID"] = outgoing.mail_id
        built["In-Reply-To"] = built["References"] = mail.thread_id_of(message.group)
    list_link = ""
    if settings.CROSSLOG_URL and message.event is not Event.TEST:
        list_link = f"{settings.CROSSLOG_URL}{reverse('findings:incidents')}"
    text = body_of(message, list_link)
    links = {list_link, *(item.link for item in message.items)}
    built.set_content(text, cte="quoted-printable")
    built.add_alternative(_html(text, links), subtype="html", cte="quoted-printable")
    return mail.send(mail.Mail(built), to)


def _html(text: str, links: set[str]) -> str:
    """Return plain text as HTML; only a line that is one of our links is a link."""

    def shown(line: str) -> str:
        return f'<a href="{escape(line)}">{escape(line)}</a>' if line in links else escape(line)

    parts = ("<br>\n".join(map(shown, part.split("\n"))) for part in text.strip().split("\n\n"))
    return "".join(["<!doctype html>\n", *(f"<p>{part}</p>\n" for part in parts)])


def _let_earlier_go_first(delivery: Delivery, at: datetime) -> None:
    """Keep the order of a group: after "resolved", an "opened" that was late would open it again."""
    earlier = _waiting(delivery).filter(pk__lt=delivery.pk)
    if earlier.exists():
        earlier.filter(next_at__gt=at).update(next_at=at)
        raise TryAgain("Earlier messages of the same incidents are sent first.")


def _waiting(delivery: Delivery) -> QuerySet[Delivery]:
    """Return what is not delivered yet of a group to one address, with the delivery itself."""
    return Delivery.objects.filter(
        source=NOTIFICATION,
        sender=delivery.sender,
        address=delivery.address,
        state=DeliveryState.PENDING,
        content__group=delivery.content["group"],
    )


def _is_said_later(delivery: Delivery, message: Message) -> bool:
    """Return whether later messages have all incidents of a reminder: a channel may be down for a day."""
    later = _waiting(delivery).filter(pk__gt=delivery.pk).values_list("content", flat=True)
    said = {item["id"] for content in later for item in content["items"]}
    return {item.id for item in message.items} <= said


def _id_of(delivery: Delivery) -> str:
    """Return the id by which a receiver recognises a second copy; it has no dot, which signatures need."""
    whole = f"{delivery.key} {stamp(delivery.created_at)}"
    return f"notification-{hashlib.sha256(whole.encode()).hexdigest()[:32]}"
