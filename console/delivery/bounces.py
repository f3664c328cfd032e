"""Bounces: a mail server's note that an e-mail it had accepted was not delivered (RFC 3464)."""

from __future__ import annotations

import re
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from typing import cast

from console.delivery.models import Channel, Delivery, DeliveryState
from console.delivery.outbox import log_with
from console.delivery.results import quoted

LARGEST_BYTES = 10_000_000
_OURS = re.compile(r"<crosslog-\d+-[0-9a-f]{32}@[^<>\s]+>")


def take_bounce(raw: bytes, now: datetime) -> Delivery | None:
    """Mark the delivery that a delivery status notification is about as REFUSED, and return it.

    None for any other message, a delay, and a delivery that is not known or refused already.
    """
    message = message_from_bytes(raw[:LARGEST_BYTES], policy=policy.default)
    if message.get_content_type() != "multipart/report":
        return None
    if str(message.get_param("report-type", "")).lower() != "delivery-status":
        return None
    reason, message_id = _reason(message), _original_id(message)
    if not reason or not message_id:
        return None
    found = Delivery.objects.filter(channel=Channel.EMAIL, message_id=message_id)
    delivery = found.exclude(state=DeliveryState.REFUSED).select_related("run").first()
    if delivery is None:
        return None
    sentence = f"The e-mail came back: {reason}."
    log = log_with(delivery, now, DeliveryState.REFUSED, sentence)
    values = {"state": DeliveryState.REFUSED, "next_at": None, "claimed_until": None, "log": log}
    if not found.filter(state=delivery.state).update(**values, delivered_at=None):
        return None
    delivery.refresh_from_db()
    return delivery


def _reason(message: EmailMessage) -> str:
    """Return why the delivery to a recipient failed; empty when none did."""
    for part in message.walk():
        if part.get_content_type() != "message/delivery-status":
            continue
        # Blocks of fields: the first one is about the message, each of the others about a recipient.
        blocks = part.get_payload()
        for block in cast("list[Message]", blocks if isinstance(blocks, list) else []):
            if str(block.get("Action", "")).strip().lower() == "failed":
                why = block.get("Diagnostic-Code") or block.get("Status") or "no reason is given"
                who = block.get("Final-Recipient") or block.get("Original-Recipient") or ""
                address = quoted(str(who).rpartition(";")[2])
                return f"{address}: {quoted(str(why))}" if address else quoted(str(why))
    return ""


def _original_id(message: EmailMessage) -> str:
    """Return the Message-ID of ours that came back; empty when there is none."""
    for part in message.walk():
        texts: list[str] = []
        if part.get_content_type() == "text/rfc822-headers":
            payload = part.get_payload(decode=True)
            headers = payload if isinstance(payload, bytes) else b""
            texts.append(str(message_from_bytes(headers, policy=policy.default)["Message-ID"]))
        elif part is not message:
            texts.append(str(part["Message-ID"]))
        for text in texts:
            if found := _OURS.search(text):
                return found.group()
    return ""
