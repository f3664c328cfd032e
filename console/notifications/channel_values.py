"""What is entered for a channel, checked: addresses, URLs, keys and tokens."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from django.conf import settings

from console.delivery.destinations import LONGEST, check_recipients
from console.delivery.models import Channel
from console.frame.pages.forms import split_lines
from console.frame.security.masking import mark_of, shown_address
from console.frame.security.outbound import Outbound, OutboundRefused
from console.notifications.kinds import KEY, KINDS, URL
from jobs.cluster.errors import InvalidFields
from jobs.cluster.untrusted_text import register_secret

AT = "secrets."
# A shorter one would be cut out of words in logs.
_SHORTEST_SECRET = 8
_SHORTEST_KEY, _ENCODED = 16, "whsec_"
_HOSTS = {
    Channel.PAGERDUTY.value: "events.pagerduty.com",
    Channel.TELEGRAM.value: "api.telegram.org",
    "opsgenie us": "api.opsgenie.com",
    "opsgenie eu": "api.eu.opsgenie.com",
}


def check(kind: str, address: str, secrets: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the address as it is stored and shown, and the secrets, empty ones left out.

    What only a service can judge, the test of the channel says. Raises `InvalidFields` with `address` and
    `secrets.NAME`; no secret is in a sentence.
    """
    told, address = KINDS[kind], address.strip()
    given = {name: text.strip() for name, text in secrets.items() if text and text.strip()}
    problems = {name: _secret_problem(name, text) for name, text in given.items()}
    known = {one.name for one in told.secrets}
    unknown = (
        f"This kind of channel has no such field. It has: {', '.join(sorted(known)) or 'none'}."
    )
    problems |= dict.fromkeys(given.keys() - known, unknown)
    wanted = {one.name for one in told.secrets if one.is_required} - given.keys()
    problems |= dict.fromkeys(wanted, "Enter it: this kind of channel needs it.")
    if kind == Channel.WEBHOOK and (KEY in given or not settings.WEBHOOK_KEY):
        problems[KEY] = problems.get(KEY) or _key_problem(given.get(KEY, ""))
    errors = {f"{AT}{name[:60]}": text for name, text in problems.items() if text}
    stored = ""
    if bool(address) != bool(told.address):
        errors["address"] = "Enter it." if told.address else "This kind of channel has no address."
    try:
        stored = _address(kind, address, given)
    except ValueError as wrong:
        errors.setdefault("address" if told.address else f"{AT}{told.secrets[0].name}", str(wrong))
    if errors:
        raise InvalidFields(errors)
    for text in given.values():
        register_secret(text)
    return stored, given


def _secret_problem(name: str, text: str) -> str:
    """Return what is wrong with a secret of any kind; empty when nothing is."""
    has_length = _SHORTEST_SECRET <= len(text) <= LONGEST
    if not has_length or not text.isascii() or not text.isprintable() or " " in text:
        return (
            f"Enter {_SHORTEST_SECRET} to {LONGEST} ASCII characters without blanks and control "
            "characters."
        )
    return url_problem(text) if name == URL else ""


def _key_problem(key: str) -> str:
    with suppress(binascii.Error):
        if key.startswith(_ENCODED):
            base64.b64decode(key.removeprefix(_ENCODED), validate=True)
        if len(key) >= _SHORTEST_KEY:
            return ""
    return f"Enter {_SHORTEST_KEY} characters or more, base64 after {_ENCODED}, or set WEBHOOK_KEY."


def url_problem(url: str) -> str:
    """Return what is wrong with a URL, empty when nothing is."""
    if not url.lower().startswith(("https://", "http://")):
        return "Enter the whole URL, with https:// in front."
    host = ""
    with suppress(ValueError):
        host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        Outbound.from_settings(f"[{host}]").check_name(url)
    except OutboundRefused as refusal:
        return refusal.message
    with suppress(OutboundRefused):
        Outbound.from_settings().check_name(url)
        return ""
    return f"Add {host} to OUTBOUND_HOSTS: crosslog may not call it yet."


def _address(kind: str, address: str, given: Mapping[str, str]) -> str:
    """Return what is stored and shown; raises `ValueError`."""
    if kind == Channel.EMAIL:
        lines = [{"channel": kind, "address": line} for line in split_lines(address)]
        try:
            return "\n".join(one["address"] for one in check_recipients(lines))
        except InvalidFields as wrong:
            raise ValueError(*wrong.errors.values()) from None
    if len(address) > LONGEST or not address.isprintable():
        raise ValueError(f"Enter up to {LONGEST} visible characters.")
    if kind == Channel.OPSGENIE:
        address = address.lower()
    if URL in given:
        return shown_address(given[URL])
    host = _HOSTS.get(f"{kind} {address}") or _HOSTS.get(kind)
    if not host:
        raise ValueError("The region is us or eu.")
    problem = url_problem(f"https://{host}/")
    if problem:
        raise ValueError(problem)
    return address or f"{host} {mark_of(given.get(KEY, ''))}"
