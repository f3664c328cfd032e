"""What is entered for a channel, checked: addresses, URLs, keys and tokens."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from django.conf import settings

from console.delivery.destinations import LONGEST, MOST, check_address
from console.delivery.models import Channel
from console.frame.pages.forms import split_lines
from console.frame.security.masking import mark_of, shown_address
from console.frame.security.outbound import Outbound, OutboundRefused
from console.notifications.kinds import KEY, KINDS, TOKEN, URL, Kind
from jobs.cluster.errors import InvalidFields
from jobs.cluster.untrusted_text import register_secret
from jobs.visible import visible_line, without_paths

AT = "secrets."
_SHORTEST_KEY, _ENCODED = 16, "whsec_"
_SLACK = "hooks.slack.com"
_SLACK_PATH = re.compile(r"/services/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]+/?")
_BOT, _CHAT = re.compile(r"\d{1,20}:[\w-]{20,100}", re.ASCII), re.compile(r"-?\d{1,20}|@\w{5,32}")
_OPSGENIE = {"us": "api.opsgenie.com", "eu": "api.eu.opsgenie.com"}
_HOSTS = {Channel.PAGERDUTY: "events.pagerduty.com", Channel.TELEGRAM: "api.telegram.org"}


def check(kind: str, address: str, secrets: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the address as it is stored and shown, and the secrets, empty ones left out.

    Raises `InvalidFields` with `address` and `secrets.NAME`; no secret is in a sentence.
    """
    told = KINDS[kind]
    given = {name: text.strip() for name, text in secrets.items() if text and text.strip()}
    for text in given.values():
        register_secret(text)
    errors = _missing(told, address.strip(), given)
    for name, text in given.items():
        problem = _secret_problem(kind, name, text)
        if problem:
            errors.setdefault(f"{AT}{name[:60]}", problem)
    stored = ""
    try:
        stored = _address(kind, address.strip(), given)
    except ValueError as wrong:
        errors.setdefault("address" if told.address else f"{AT}{told.secrets[0].name}", str(wrong))
    if kind == Channel.WEBHOOK and KEY not in given and not settings.WEBHOOK_KEY:
        errors[f"{AT}{KEY}"] = "Enter a key, or set WEBHOOK_KEY."
    if errors:
        raise InvalidFields(errors)
    return stored, given


def _missing(told: Kind, address: str, given: Mapping[str, str]) -> dict[str, str]:
    known = {one.name for one in told.secrets}
    wanted = {one.name for one in told.secrets if one.is_required} - given.keys()
    errors = {f"{AT}{name}": "Enter it: this kind of channel needs it." for name in wanted}
    unknown = given.keys() - known
    text = f"This kind of channel has no such field. It has: {', '.join(sorted(known)) or 'none'}."
    errors |= {f"{AT}{name[:60]}": text for name in unknown}
    if bool(address) != bool(told.address):
        errors["address"] = "Enter it." if told.address else "This kind of channel has no address."
    return errors


def _secret_problem(kind: str, name: str, text: str) -> str:
    """Return what is wrong with a secret; empty when nothing is."""
    if len(text) > LONGEST or not text.isascii() or not text.isprintable() or " " in text:
        return f"Enter up to {LONGEST} ASCII characters without blanks and control characters."
    if name == URL:
        return _slack_problem(text) if kind == Channel.SLACK else url_problem(text)
    if kind == Channel.TELEGRAM and name == TOKEN and not _BOT.fullmatch(text):
        return "A bot token is like 123456:ABC-DEF, as BotFather shows it."
    return _key_problem(text) if kind == Channel.WEBHOOK else ""


def _key_problem(key: str) -> str:
    if len(key) < _SHORTEST_KEY:
        return f"A signing key has at least {_SHORTEST_KEY} characters."
    if key.startswith(_ENCODED):
        try:
            base64.b64decode(key.removeprefix(_ENCODED), validate=True)
        except binascii.Error:
            return "After whsec_ a key is base64."
    return ""


def _slack_problem(url: str) -> str:
    if url_problem(url, may_call=True):
        return url_problem(url, may_call=True)
    parts = urlsplit(url)
    if parts.hostname != _SLACK or not _SLACK_PATH.fullmatch(parts.path):
        return f"An incoming webhook of Slack is https://{_SLACK}/services/ and three parts."
    return url_problem(url)


def url_problem(url: str, *, may_call: bool = False) -> str:
    """Return what is wrong with a URL, empty when nothing is; with `may_call` whatever its host is."""
    if not url.lower().startswith(("https://", "http://")):
        return "Enter the whole URL, with https:// in front."
    host = ""
    with suppress(ValueError):
        host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        Outbound.from_settings(f"[{host}]").check_name(url)
    except OutboundRefused as refusal:
        return refusal.message
    try:
        Outbound.from_settings().check_name(url)
    except OutboundRefused:
        return "" if may_call else f"Add {host} to OUTBOUND_HOSTS: crosslog may not call it yet."
    return ""


def _address(kind: str, address: str, given: Mapping[str, str]) -> str:
    """Return what is stored and shown; raises `ValueError`."""
    if kind == Channel.EMAIL:
        return _mailboxes(split_lines(address))
    if kind == Channel.OPSGENIE:
        region = address.lower()
        if region not in _OPSGENIE:
            raise ValueError("The region is us or eu.")
        _require_host(_OPSGENIE[region])
        return region
    if kind == Channel.TELEGRAM and not _CHAT.fullmatch(address):
        raise ValueError("A chat id is a number like -1001234567890, or @name of a channel.")
    if kind in _HOSTS:
        host = _HOSTS[Channel(kind)]
        _require_host(host)
        return address or f"{host} {mark_of(given.get(KEY, ''))}"
    return shown_address(given.get(URL, ""))


def _require_host(host: str) -> None:
    problem = url_problem(f"https://{host}/")
    if problem:
        raise ValueError(problem)


def _mailboxes(lines: list[str]) -> str:
    if len(lines) > MOST:
        raise ValueError(f"At most {MOST} addresses; these are {len(lines)}.")
    found = []
    for line in lines:
        try:
            found.append(check_address(Channel.EMAIL, line))
        except ValueError as wrong:
            raise ValueError(f"{visible_line(without_paths(line))[:100]}: {wrong}") from None
    return "\n".join(dict.fromkeys(found))
