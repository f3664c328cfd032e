"""Signed calls of other programs (Standard Webhooks), through the outbound guard."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings

from console.delivery.results import Refused, TryAgain, quoted
from console.frame.security.outbound import Answer, Outbound, OutboundFailed, OutboundRefused
from jobs.cluster.untrusted_text import cut_out, register_secret
from jobs.reports.values import stamp
from jobs.version import VERSION

_ENCODED = "whsec_"
_MOVED = {301, 308}
_LATER = {408, 425, 429}
# Of an answer; a piece of a path that is shorter is a word, unless it has a digit.
_LOOKED_AT_BYTES = 20_000
_LONG_PIECE = 8
_SHORT_PIECE = 4


def server_of(address: str) -> str:
    """Return scheme, host and port of a webhook."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def signature(key: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Return `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.

    A key `whsec_...` is base64 of its bytes; any other text is the key itself.
    """
    is_encoded = key.startswith(_ENCODED)
    raw = base64.b64decode(key.removeprefix(_ENCODED)) if is_encoded else key.encode()
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{base64.b64encode(hmac.new(raw, signed, hashlib.sha256).digest()).decode()}"


def event(type_: str, at: datetime, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a webhook; `at` is when it happened."""
    return {"type": type_, "timestamp": stamp(at), "data": data}


def send_test(address: str, now: datetime) -> str:
    """Send the event `report.test`; raises `Refused`, `TryAgain`."""
    told = event("report.test", now, {})
    return post(address, settings.WEBHOOK_KEY, f"test-{int(now.timestamp())}", told, now)


def post(address: str, key: str, message_id: str, told: Mapping[str, Any], now: datetime) -> str:
    """Send JSON to one address, signed if there is a key, and return what was answered.

    `message_id` is the same at each attempt. Raises `Refused`, `TryAgain`.
    """
    body = json.dumps(told, sort_keys=True).encode()
    timestamp = str(int(now.timestamp()))
    headers = {"webhook-id": message_id, "webhook-timestamp": timestamp}
    if key:
        register_secret(key)
        try:
            headers["webhook-signature"] = signature(key, message_id, timestamp, body)
        except ValueError:
            raise Refused(f"The signing key is not base64 behind {_ENCODED}.") from None
    return send_json(address, body, headers)


def send_json(address: str, body: bytes, headers: Mapping[str, str]) -> str:
    """Send a body with these headers as well, and return what was answered; raises `Refused`, `TryAgain`."""
    all_headers = {
        "Content-Type": "application/json",
        "User-Agent": f"crosslog/{VERSION}",
        **headers,
    }
    return judged(
        lambda: Outbound.from_settings().call("POST", address, headers=all_headers, body=body),
        address,
    )


def judged(call: Callable[[], Answer], address: str) -> str:
    """Return what a receiver answered when it took a call; raises `Refused`, `TryAgain`."""
    try:
        answer = call()
    except OutboundRefused as refusal:
        raise Refused(refusal.message) from None
    except OutboundFailed as failure:
        raise TryAgain(failure.message, is_away=True) from None
    body = answer.body[:_LOOKED_AT_BYTES].decode("utf-8", "replace")
    said = quoted(cut_out(body, _secret_parts(address))[:1000])
    sentence = f"{server_of(address)} answered {answer.status}{f': {said}' if said else ''}."
    match answer.status // 100:
        case 2:
            return sentence
        case 3 if answer.status in _MOVED:
            raise Refused(f"{sentence} Redirects are not followed: enter the address it leads to.")
        case 3:
            raise TryAgain(f"{sentence} Redirects are not followed.")
        case 4 if answer.status not in _LATER:
            raise Refused(sentence)
    raise TryAgain(sentence)


def _secret_parts(address: str) -> set[str]:
    """Return what a receiver may repeat of an address: all after the host, and long pieces of it."""
    parts = urlsplit(address)
    target = f"{parts.path}?{parts.query}"
    pieces = {one for one in re.split(r"[/?&=;]", target) if _is_long(one)}
    pieces |= {one for _, one in parse_qsl(parts.query) if len(one) >= _SHORT_PIECE}
    whole = {one for one in (target.rstrip("?"), parts.path, parts.query) if len(one) > len("/in")}
    found = pieces | whole
    return found | {unquote(one) for one in found}


def _is_long(piece: str) -> bool:
    has_digit = any(letter.isdigit() for letter in piece)
    return len(piece) >= (_SHORT_PIECE if has_digit else _LONG_PIECE)
