"""Slack, Microsoft Teams, PagerDuty, Opsgenie and Telegram: one call of Apprise's plugin per message.

Names of topics and groups may hold markup of a service. Each service is sent a form of text in which it
interprets none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

from console.delivery.models import Channel
from console.delivery.results import Refused
from console.delivery.webhook import judged
from console.frame.security.outbound import Outbound
from console.notifications.kinds import KEY, KINDS, TOKEN, URL
from console.notifications.sending.apprise_door import opened, plugin_module
from jobs.cluster.untrusted_text import register_secret
from jobs.notifications.message import Event, Message
from jobs.notifications.texts import body_of, subject_of
from jobs.numbers import format_count

# What each service takes of a text, in UTF-16 units of its escaped form.
_SLACK_MOST, _TEAMS_MOST, _TELEGRAM_MOST = 3000, 4000, 4096
_PAGERDUTY_MOST = _OPSGENIE_MOST = 15_000
# Opsgenie's priorities: P1 is the highest.
_PRIORITIES = {"critical": 1, "warning": 3}
# Services with one alert for a group: it is closed with the last of its incidents.
_CLOSED_AS_A_WHOLE = (Channel.PAGERDUTY, Channel.OPSGENIE)
# What counts of an entered URL. Its other parts would be options of Apprise, as a file to send.
_SLACK_PARTS = ("token_a", "token_b", "token_c", "mode")
_TEAMS_PARTS = ("host", "port", "workflow", "signature", "power_automate", "routing_id", "version")


def push(
    kind: str,
    secrets: Mapping[str, str],
    address: str,
    message: Message,
    message_id: str,
    guard: Outbound | None = None,
) -> str:
    """Send a message to a service and return what it answered; raises `Refused`, `TryAgain`.

    `address` is the region of Opsgenie or the chat of Telegram. The guard is by default that of OUTBOUND_*.
    """
    from apprise.exception import AppriseImproperlyConfigured

    if kind in _CLOSED_AS_A_WHOLE and message.event is Event.RESOLVED and message.still_open:
        left = format_count(message.still_open)
        return f"{Channel(kind).label} was not called: incidents of the group still open: {left}."
    for field in KINDS[kind].secrets:
        secret = secrets.get(field.name, "")
        if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise _not_valid(kind, field.label)
        register_secret(secret)
    with opened(guard or Outbound.from_settings()) as calls:
        try:
            is_taken = _SENDERS[kind](secrets, address.strip(), message, message_id)
        except AppriseImproperlyConfigured:
            # What it says has the secret in it.
            raise _not_valid(kind) from None
    if not calls.address:
        raise _not_valid(kind)
    sentence = judged(calls.answer, calls.address)
    if not is_taken:
        raise Refused(
            f"{sentence} {Channel(kind).label} answers otherwise when it takes a message."
        )
    return sentence


def _slack(secrets: Mapping[str, str], _: str, message: Message, _id: str) -> bool:
    module = plugin_module("slack")
    parts = module.NotifySlack.parse_native_url(secrets[URL]) or {}
    plugin = _made(module.NotifySlack, **_kept(parts, _SLACK_PARTS), use_blocks=True)
    # Blocks of the format `text` are `plain_text`, in which Slack reads entities and no markup.
    text = escape(_text(message, _SLACK_MOST), quote=False)
    return bool(plugin.send(text, notify_type=_type(message), body_format="text"))


def _teams(secrets: Mapping[str, str], _: str, message: Message, _id: str) -> bool:
    module = plugin_module("workflows")
    parts = module.NotifyWorkflows.parse_native_url(secrets[URL]) or {}
    plugin = _made(module.NotifyWorkflows, **_kept(parts, _TEAMS_PARTS))
    payload_of = plugin.gen_payload
    opens = {
        one.link: {"selectAction": {"type": "Action.OpenUrl", "url": one.link}}
        for one in message.items
    }

    def card(body: str, **rest: Any) -> Any:
        """Return the plugin's payload with texts in which Teams reads no Markdown and no mentions."""
        payload = payload_of("", **rest)
        shown = [{"type": "TextRun", "text": line or " "} for line in body.splitlines()]
        payload["attachments"][0]["content"]["body"] = [
            {"type": "RichTextBlock", "inlines": [run | opens.get(run["text"], {})]}
            for run in shown
        ]
        return payload

    plugin.gen_payload = card
    return bool(plugin.send(_text(message, _TEAMS_MOST), notify_type=_type(message)))


def _pagerduty(secrets: Mapping[str, str], _: str, message: Message, message_id: str) -> bool:
    plugin = _made(
        plugin_module("pagerduty").NotifyPagerDuty,
        apikey=secrets[KEY],
        integrationkey=secrets[KEY],
        source="crosslog",
        details={"text": _text(message, _PAGERDUTY_MOST), "message": message_id},
        action="resolve" if message.event is Event.RESOLVED else "trigger",
        dedup=_key(message),
    )
    return bool(plugin.send(subject_of(message), notify_type=_type(message)))


def _opsgenie(secrets: Mapping[str, str], region: str, message: Message, message_id: str) -> bool:
    module = plugin_module("opsgenie")
    region = region.lower() or "us"
    if region not in module.OPSGENIE_REGIONS:
        raise _not_valid(Channel.OPSGENIE, KINDS[Channel.OPSGENIE].address)
    plugin = _made(
        module.NotifyOpsgenie,
        apikey=secrets[KEY],
        targets=[],
        region_name=region,
        alias=_key(message),
        priority=_PRIORITIES.get(message.severity, 5),
        details={"message": message_id},
        action="new",
    )
    text = _text(message, _OPSGENIE_MOST)
    if message.event is not Event.RESOLVED:
        return bool(plugin.send(text, subject_of(message), _type(message)))
    # The plugin closes what it remembers of this process: an alias lasts longer.
    url = f"{module.OPSGENIE_API_LOOKUP[region]}/{_key(message)}/close"
    closing = {"source": "crosslog", "note": text}
    by_alias = {"identifierType": "alias"}
    return bool(plugin._fetch(module.requests.post, url, closing, by_alias)[0])  # noqa: SLF001  see above


def _telegram(secrets: Mapping[str, str], chat: str, message: Message, _id: str) -> bool:
    telegram = plugin_module("telegram").NotifyTelegram
    plugin = _made(telegram, bot_token=secrets[TOKEN], targets=[chat], detect_owner=False)
    if len(plugin.targets) != 1:
        raise _not_valid(Channel.TELEGRAM, KINDS[Channel.TELEGRAM].address)
    text = escape(_text(message, _TELEGRAM_MOST), quote=False)
    return bool(plugin.send(text, notify_type=_type(message), body_format="html"))


_SENDERS = {
    Channel.SLACK.value: _slack,
    Channel.TEAMS.value: _teams,
    Channel.PAGERDUTY.value: _pagerduty,
    Channel.OPSGENIE.value: _opsgenie,
    Channel.TELEGRAM.value: _telegram,
}


def _made(plugin_class: Any, **told: Any) -> Any:
    """Return a plugin that adds no images, waits for nothing and writes nothing to a disk."""
    from apprise import AppriseAsset

    asset = AppriseAsset(app_id="crosslog", app_desc="crosslog", storage_mode="memory")
    plugin = plugin_class(asset=asset, include_image=False, include_footer=False, **told)
    plugin.request_rate_per_sec = 0
    return plugin


def _kept(parts: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: parts.get(name) for name in names}


def _not_valid(kind: str, field: str = "") -> Refused:
    name = field or KINDS[kind].secrets[0].label
    return Refused(f"{Channel(kind).label}: the field {name} is not valid. Enter it again.")


def _key(message: Message) -> str:
    """Return the key of all messages of a group; groups have longer names than services take."""
    return f"crosslog-{hashlib.sha256(message.group.encode()).hexdigest()}"


def _type(message: Message) -> Any:
    from apprise import NotifyType

    by_severity = {"critical": "failure", "warning": "warning"}
    is_over = message.event is Event.RESOLVED
    return NotifyType("success" if is_over else by_severity.get(message.severity, "info"))


def _text(message: Message, most: int) -> str:
    """Return subject and body with as many incidents as fit; the body counts the others."""
    subject = text = subject_of(message)
    for count in range(max(len(message.items), 1), 0, -1):
        body = body_of(replace(message, items=message.items[:count]))
        text = f"{subject}\n\n{body}".rstrip()
        if _units(text) <= most:
            return text
    note = f"\n[The text is cut. Incidents: {format_count(message.total)}]"
    kept = text[:most]
    while _units(kept) + len(note) > most:
        kept = kept[:-1]
    return (kept.rpartition("\n")[0].rstrip() or kept) + note


def _units(text: str) -> int:
    return len(escape(text, quote=False).encode("utf-16-le")) // 2
