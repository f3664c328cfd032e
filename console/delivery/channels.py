"""The channels side by side: how each sends, which server it calls, and whether it is set up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from console.delivery import folder, mail, webhook
from console.delivery.models import Channel

_TESTS: Mapping[str, Callable[[str, datetime], str]] = {
    Channel.EMAIL: mail.send_test,
    Channel.FOLDER: folder.send_test,
    Channel.WEBHOOK: webhook.send_test,
}


@dataclass(frozen=True, slots=True)
class Setup:
    """Whether a channel can be used; `detail` says where it leads or what is missing, nothing secret."""

    label: str
    is_set_up: bool
    detail: str


def send_test(channel: str, address: str, now: datetime) -> str:
    """Send a small test to a checked address and return a sentence; raises `Refused`, `TryAgain`."""
    return _TESTS[channel](address, now)


def server_of(channel: str, address: str) -> str:
    """Return what a delivery depends on: when it is away, others for it need not be tried at once."""
    if channel == Channel.WEBHOOK:
        return webhook.server_of(address)
    return mail.server() if channel == Channel.EMAIL else settings.REPORT_FOLDER


def list_setups() -> list[Setup]:
    """Return how each channel is set up."""
    has_mail = bool(settings.EMAIL_HOST and settings.DEFAULT_FROM_EMAIL)
    sign_in = f", signed in as {settings.EMAIL_HOST_USER}" if settings.EMAIL_HOST_USER else ""
    secured = {"starttls": "STARTTLS", "tls": "TLS", "none": "no TLS"}[settings.MAIL_TLS]
    domains = f", only to {', '.join(settings.MAIL_DOMAINS)}" if settings.MAIL_DOMAINS else ""
    hosts = ", ".join(settings.OUTBOUND_HOSTS)
    called = f"Allowed hosts: {hosts}" if hosts else "OUTBOUND_HOSTS names no host"
    return [
        Setup(
            "E-mail",
            has_mail,
            f"{mail.server()} ({secured}{sign_in}), from {settings.DEFAULT_FROM_EMAIL}{domains}"
            if has_mail
            else "Set MAIL_HOST and MAIL_FROM",
        ),
        Setup(
            "Folder",
            bool(settings.REPORT_FOLDER),
            settings.REPORT_FOLDER or "Set REPORT_FOLDER",
        ),
        Setup(
            "Webhook",
            bool(settings.WEBHOOK_KEY and hosts),
            called if settings.WEBHOOK_KEY else "Set WEBHOOK_KEY",
        ),
    ]
