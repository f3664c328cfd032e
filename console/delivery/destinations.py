"""Where a report is sent: checked when somebody enters it, and once more before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from console.delivery.models import Channel
from console.frame.pages.forms import split_lines
from console.frame.security.outbound import Outbound, OutboundRefused
from jobs.cluster.errors import InvalidFields
from jobs.visible import visible_line, without_paths

MOST = 50
LONGEST = 500
HELP = (
    "One per line: an e-mail address, folder:NAME for a folder below REPORT_FOLDER, "
    "or the https address of a webhook."
)
_FOLDER = "folder:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}")


def check_recipients(given: Any) -> list[dict[str, str]]:
    """Return recipients without duplicates; raises `InvalidFields` with `recipients`."""
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise _invalid("Give a list of recipients, each with channel and address.")
    if len(given) > MOST:
        raise _invalid(f"At most {MOST} recipients; these are {len(given)}.")
    found: dict[tuple[str, str], dict[str, str]] = {}
    for one in given:
        channel, address = str(one.get("channel", "")), str(one.get("address", "")).strip()
        try:
            address = check_address(channel, address)
        except ValueError as wrong:
            shown = visible_line(without_paths(address))[:100] or "A recipient"
            raise _invalid(f"{shown}: {wrong}") from None
        found.setdefault((channel, address), {"channel": channel, "address": address})
    return list(found.values())


def check_address(channel: str, address: str) -> str:
    """Return an address as it is stored; raises `ValueError` with a sentence."""
    if channel not in _CHECKS:
        raise ValueError(f"The channel is one of {', '.join(_CHECKS)}.")
    if not address or len(address) > LONGEST or not address.isprintable():
        raise ValueError(f"An address of up to {LONGEST} visible characters is needed.")
    return _CHECKS[channel](address)


def parse_lines(text: str) -> list[dict[str, str]]:
    """Return the recipients of a form field, one per line, not checked."""
    return [_parsed(line) for line in split_lines(text)]


def lines_of(recipients: Iterable[Mapping[str, str]]) -> str:
    """Return recipients as the text of a form field."""
    prefix = {Channel.FOLDER.value: _FOLDER}
    return "\n".join(f"{prefix.get(one['channel'], '')}{one['address']}" for one in recipients)


def _parsed(line: str) -> dict[str, str]:
    if line.startswith(_FOLDER):
        return {"channel": Channel.FOLDER.value, "address": line.removeprefix(_FOLDER).strip()}
    channel = Channel.WEBHOOK if "://" in line else Channel.EMAIL
    return {"channel": channel.value, "address": line}


def _mail_address(address: str) -> str:
    if not settings.EMAIL_HOST or not settings.DEFAULT_FROM_EMAIL:
        raise ValueError("E-mail is not set up: set MAIL_HOST and MAIL_FROM.")
    local, _, domain = address.rpartition("@")
    try:
        # Names of other alphabets as mail servers know them.
        domain = domain.encode("idna").decode().lower()
        validate_email(f"{local}@{domain}")
    except (ValidationError, UnicodeError):
        raise ValueError("This is no e-mail address like ops@example.org.") from None
    if not local.isascii() or '"' in local:
        raise ValueError("The part before the @ has only ASCII letters, digits and signs.")
    if settings.MAIL_DOMAINS and domain not in settings.MAIL_DOMAINS:
        allowed = ", ".join(settings.MAIL_DOMAINS)
        raise ValueError(f"E-mails go only to addresses of {allowed} (MAIL_DOMAINS).")
    return f"{local}@{domain}"


def _folder(address: str) -> str:
    if not settings.REPORT_FOLDER:
        raise ValueError("Folders are not set up: set REPORT_FOLDER.")
    names = PurePosixPath(address).parts
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise ValueError(
            "A folder is named relative to REPORT_FOLDER, by letters, digits, blanks, '.', '_' and '-': "
            "weekly/availability."
        )
    return "/".join(names)


def _webhook(address: str) -> str:
    if not settings.WEBHOOK_KEY:
        raise ValueError("Webhooks are not set up: set WEBHOOK_KEY or WEBHOOK_KEY_FILE.")
    try:
        Outbound.from_settings().check_name(address)
    except OutboundRefused as refusal:
        raise ValueError(refusal.message) from None
    return address


_CHECKS = {
    Channel.EMAIL.value: _mail_address,
    Channel.FOLDER.value: _folder,
    Channel.WEBHOOK.value: _webhook,
}


def _invalid(text: str) -> InvalidFields:
    return InvalidFields({"recipients": text})
