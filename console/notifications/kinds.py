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


_WEBHOOK_KEY = SecretField(
    KEY,
    "Signing key",
    "`whsec_...` or a text of at least 16 characters. Empty: WEBHOOK_KEY.",
    is_required=False,
)
KINDS: Mapping[str, Kind] = {
    Channel.EMAIL.value: Kind(
        address="E-mail addresses", address_help="One per line: ops@example.org."
    ),
    Channel.WEBHOOK.value: Kind(
        (SecretField(URL, "URL", "Signed by Standard Webhooks."), _WEBHOOK_KEY)
    ),
    Channel.ALERTMANAGER.value: Kind(
        (
            SecretField(URL, "URL", "Gets the body of an Alertmanager webhook (version 4)."),
            SecretField(TOKEN, "Bearer token", "Sent as `Authorization`.", is_required=False),
        )
    ),
    Channel.SLACK.value: Kind((SecretField(URL, "Incoming webhook URL"),)),
    Channel.TEAMS.value: Kind((SecretField(URL, "Workflow URL"),)),
    Channel.PAGERDUTY.value: Kind((SecretField(KEY, "Integration key", "Of an Events API v2."),)),
    Channel.OPSGENIE.value: Kind(
        (SecretField(KEY, "API key"),), address="Region", address_help="us or eu."
    ),
    Channel.TELEGRAM.value: Kind(
        (SecretField(TOKEN, "Bot token"),), address="Chat id", address_help="-1001234567890"
    ),
}
