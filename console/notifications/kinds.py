"""The kinds of channels: what is entered for each, and what of it is secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.delivery.models import Channel

URL, KEY, TOKEN = "url", "key", "token"


@dataclass(frozen=True, slots=True)
class SecretField:
    """A text that is entered, encrypted and never shown."""

    name: str
    label: str
    help: str = ""
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind; `address` is the label of what is entered and shown, empty for none."""

    secrets: tuple[SecretField, ...] = ()
    address: str = ""
    address_help: str = ""


_SETTING = "in OUTBOUND_HOSTS, which is set in the environment of crosslog."
_HOST = f"Its host has to be {_SETTING}"
_WEBHOOK_KEY = SecretField(
    KEY,
    "Signing key",
    "whsec_... or a text of at least 16 characters. Empty: WEBHOOK_KEY.",
    is_required=False,
)
KINDS: Mapping[str, Kind] = {
    Channel.EMAIL.value: Kind(
        address="E-mail addresses",
        address_help="One per line: ops@example.org. Sent through MAIL_HOST, from MAIL_FROM.",
    ),
    Channel.WEBHOOK.value: Kind(
        (SecretField(URL, "URL", f"Signed as in Standard Webhooks. {_HOST}"), _WEBHOOK_KEY)
    ),
    Channel.ALERTMANAGER.value: Kind(
        (
            SecretField(
                URL, "URL", f"Gets the body of an Alertmanager webhook (version 4). {_HOST}"
            ),
            SecretField(
                TOKEN, "Bearer token", "Sent in the header Authorization.", is_required=False
            ),
        )
    ),
    Channel.SLACK.value: Kind(
        (SecretField(URL, "Incoming webhook URL", f"hooks.slack.com has to be {_SETTING}"),)
    ),
    Channel.TEAMS.value: Kind((SecretField(URL, "Workflow URL", _HOST),)),
    Channel.PAGERDUTY.value: Kind(
        (
            SecretField(
                KEY,
                "Integration key",
                f"Of an Events API v2. events.pagerduty.com has to be {_SETTING}",
            ),
        )
    ),
    Channel.OPSGENIE.value: Kind(
        (SecretField(KEY, "API key"),),
        address="Region",
        address_help=f"us or eu: api.opsgenie.com or api.eu.opsgenie.com has to be {_SETTING}",
    ),
    Channel.TELEGRAM.value: Kind(
        (SecretField(TOKEN, "Bot token", f"api.telegram.org has to be {_SETTING}"),),
        address="Chat id",
        address_help="-1001234567890, or @name of a channel.",
    ),
}
