"""Reports as signed calls of other programs, through the outbound guard."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings

from console.frame.security.outbound import Answer, Outbound, OutboundFailed, OutboundRefused
from console.reports.delivery.contents import Contents, File
from console.reports.delivery.results import Refused, TryAgain, quoted
from console.reports.models import Delivery
from jobs.cluster.untrusted_text import cut_out, register_secret
from jobs.reports.rendering.formats import Format
from jobs.version import VERSION

# What is larger is left out of the body: `document` or `content` is null, and `link` leads to it.
LARGEST_DOCUMENT_BYTES = 2_000_000
LARGEST_FILES_BYTES = 5_000_000
_LATER = {408, 425, 429}
# Of an answer; a piece of a path that is shorter is a word, unless it has a digit.
_LOOKED_AT_BYTES = 20_000
_LONG_PIECE = 8
_SHORT_PIECE = 4


def server_of(address: str) -> str:
    """Return scheme, host and port of a webhook."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Return `v1=` and the HMAC-SHA256 of `timestamp.body` in hex."""
    digest = hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"v1={digest}"


def send(delivery: Delivery, contents: Contents, now: datetime) -> str:
    """Send a report to one address and return what was answered; raises `Refused`, `TryAgain`."""
    return _posted(delivery.address, str(delivery.pk), _report(delivery, contents), now)


def send_test(address: str, now: datetime) -> str:
    """Send the event `report.test`; raises `Refused`, `TryAgain`."""
    return _posted(address, "test", {"event": "report.test"}, now)


def _report(delivery: Delivery, contents: Contents) -> dict[str, Any]:
    run, document = contents.run, contents.document
    told = document.to_mapping()
    is_small = len(contents.raw_document) <= LARGEST_DOCUMENT_BYTES
    return {
        "event": "report.ready",
        "delivery": delivery.pk,
        "run": str(run.pk),
        "name": run.name,
        "kind": run.kind,
        "period": told["period"],
        "headline": run.headline,
        "error": run.error,
        "verdicts": told["verdicts"],
        "link": contents.link or None,
        "files": _files(contents.files, is_small=is_small),
        "document": told if is_small else None,
    }


def _files(files: list[File], *, is_small: bool) -> list[dict[str, Any]]:
    """Return the chosen files, in base64 as long as there is room; JSON is the document that is there."""
    told = []
    room = LARGEST_FILES_BYTES
    for file in files:
        is_there = file.format is Format.JSON and is_small
        fits = len(file.content) <= room and not is_there
        room -= len(file.content) if fits else 0
        told.append(
            {
                "name": file.name,
                "format": file.format.value,
                "media_type": file.media_type,
                "sha256": file.sha256,
                "bytes": len(file.content),
                "content": base64.b64encode(file.content).decode() if fits else None,
            }
        )
    return told


def _posted(address: str, delivery: str, told: dict[str, Any], now: datetime) -> str:
    key = settings.WEBHOOK_KEY
    register_secret(key)
    body = json.dumps(told, sort_keys=True).encode()
    timestamp = str(int(now.timestamp()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"crosslog/{VERSION}",
        "X-Crosslog-Delivery": delivery,
        "X-Crosslog-Timestamp": timestamp,
        "X-Crosslog-Signature": signature(key, timestamp, body),
    }
    try:
        answer = Outbound.from_settings().call("POST", address, headers=headers, body=body)
    except OutboundRefused as refusal:
        raise Refused(refusal.message) from None
    except OutboundFailed as failure:
        raise TryAgain(failure.message, is_away=True) from None
    return _judged(answer, address)


def _judged(answer: Answer, address: str) -> str:
    """Return what a receiver answered when it took the call; raises `Refused`, `TryAgain`."""
    body = answer.body[:_LOOKED_AT_BYTES].decode("utf-8", "replace")
    said = quoted(cut_out(body, _secret_parts(address))[:1000])
    sentence = f"{server_of(address)} answered {answer.status}{f': {said}' if said else ''}."
    match answer.status // 100:
        case 2:
            return sentence
        case 3:
            raise Refused(f"{sentence} Redirects are not followed: enter the address it leads to.")
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
