"""Actions on channels and routes: check, then write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

from django.db import IntegrityError, transaction

from console.accounts.audit import audit_row, change
from console.accounts.models import Outcome, User
from console.clusters.models import Cluster
from console.delivery.results import Refused, TryAgain
from console.delivery.webhook import server_of
from console.frame.errors import ActionRefused
from console.frame.security.sealing import NotReadable, seal, unseal
from console.notifications.channel_values import AT, check
from console.notifications.kinds import KINDS, TOKEN, URL
from console.notifications.models import LONGEST_NAME, NotificationChannel, NotificationRoute
from console.notifications.queries import secrets_of
from console.notifications.route_values import problems_of
from console.notifications.sending.channels import send_test as send_test_at_once
from jobs.cluster.errors import InvalidFields
from jobs.cluster.untrusted_text import cut_out

Row = NotificationChannel | NotificationRoute
MOST = 200
ROUTE_FIELDS = (
    "is_enabled", "severity", "checks", "subject_pattern", "days", "starts", "ends", "time_zone",
    "group_by", "wait_s", "repeat_s", "sends_resolved",
)  # fmt: skip
_NOT_READABLE = "The secrets of this channel cannot be read: SECRET_KEY is another one. Enter them."


@change("notification.save")
def save(row: Any, values: Mapping[str, Any], person: User, now: datetime) -> Any:
    """Create a channel or a route, or change what is in `values`.

    Raises `InvalidFields` at all fields that are wrong.
    """
    do = _save_channel if isinstance(row, NotificationChannel) else _save_route
    return do(row, values, person, now)


def _save_channel(
    row: NotificationChannel, values: Mapping[str, Any], person: User, now: datetime
) -> NotificationChannel:
    """Save a channel; of `secrets` an empty one is removed, those that are not named stay."""
    before = shown(row) if row.pk else None
    if not row.pk:
        row.kind = values.get("kind", row.kind)
    if row.kind not in KINDS:
        raise InvalidFields({"kind": f"The kind is one of {', '.join(KINDS)}."})
    errors = _take_name(row, values)
    row.is_enabled = values.get("is_enabled", row.is_enabled)
    given = {name: text or "" for name, text in (values.get("secrets") or {}).items()}
    stored = row.address if KINDS[row.kind].address else ""
    address = values.get("address", stored)
    if given or before is None or address.splitlines() != stored.splitlines():
        kept = secrets_of(row)
        try:
            row.address, secrets = check(row.kind, address, kept | given)
            row.sealed = seal(secrets) if secrets else ""
        except InvalidFields as invalid:
            errors |= invalid.errors
        if TOKEN in kept and URL in given and TOKEN not in given and _is_moved(kept, given):
            errors[f"{AT}{TOKEN}"] = "Enter it again: the URL is on another host."
    _write(row, before, errors, person, now, replaced=sorted(given))
    return row


@change("notification_channel.test")
def send_test(row: NotificationChannel, person: User, now: datetime) -> str:
    """Send a test message at once and return what was answered.

    Raises `ActionRefused` when it was not delivered, with the reason.
    """
    try:
        secrets = unseal(row.sealed)
    except NotReadable:
        raise ActionRefused("not_readable", _NOT_READABLE) from None
    try:
        sentence = cut_out(send_test_at_once(row.kind, secrets, row.address, now), secrets.values())
    except (Refused, TryAgain) as failed:
        sentence = cut_out(failed.sentence, secrets.values())
        audit_row("test", row, after={"sentence": sentence}, outcome=Outcome.FAILED, by=person)
        raise ActionRefused("not_delivered", sentence) from None
    audit_row("test", row, after={"sentence": sentence}, by=person)
    return sentence


def _save_route(
    row: NotificationRoute, values: Mapping[str, Any], person: User, now: datetime
) -> NotificationRoute:
    """Save a route; `cluster` is an alias, None or empty for all; `channels` are keys."""
    before = shown(row) if row.pk else None
    for name in ROUTE_FIELDS:
        setattr(row, name, values.get(name, getattr(row, name)))
    row.days = sorted(set(row.days))
    errors = _take_name(row, values) | problems_of(row)
    if "cluster" in values:
        alias = values["cluster"]
        row.cluster = Cluster.objects.filter(alias=alias).first() if alias else None
        if alias and row.cluster is None:
            errors["cluster"] = f"There is no cluster {alias[:63]}."
    channels = None
    if "channels" in values or before is None:
        keys = set(values.get("channels") or ())
        channels = list(NotificationChannel.objects.filter(pk__in=keys))
        if not keys:
            errors["channels"] = "Select at least one channel."
        elif len(channels) < len(keys):
            gone = sorted(keys - {one.pk for one in channels})
            errors["channels"] = f"There is no channel {', '.join(map(str, gone[:5]))}."
    _write(row, before, errors, person, now, channels=channels)
    return row


@change("notification.delete")
def delete(row: Row) -> None:
    """Delete a route, or a channel; raises `ActionRefused` while a route sends to it."""
    routes = row.routes.all() if isinstance(row, NotificationChannel) else ()
    if names := ", ".join(one.name for one in routes[:5]):
        text = f"Routes send to {row.name}: {names}. Remove it from them first."
        raise ActionRefused("in_use", text)
    with transaction.atomic():
        audit_row("delete", row, before=shown(row))
        row.delete()


def shown(row: Row) -> dict[str, Any]:
    """Return the fields of a row as forms and the audit log have them."""
    if isinstance(row, NotificationChannel):
        return {name: getattr(row, name) for name in ("name", "kind", "address", "is_enabled")}
    values = {name: getattr(row, name) for name in ("name", *ROUTE_FIELDS)}
    values = {k: f"{v:%H:%M}" if isinstance(v, time) else v for k, v in values.items()}
    names = sorted(row.channels.values_list("name", flat=True))
    return {**values, "cluster": row.cluster.alias if row.cluster else "", "channels": names}


def _take_name(row: Row, values: Mapping[str, Any]) -> dict[str, str]:
    """Put the name into a row; return what is wrong with it."""
    row.name = values.get("name", row.name).strip()
    if not row.name or len(row.name) > LONGEST_NAME or not row.name.isprintable():
        return {"name": f"Enter a name of up to {LONGEST_NAME} visible characters."}
    return {}


def _is_moved(kept: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """Return whether a token that is kept would be sent to another host."""
    try:
        return server_of(kept[URL]) != server_of(given[URL].strip())
    except ValueError:
        return True


def _write(  # noqa: PLR0913 - one keyword per part of a row
    row: Any,
    before: Mapping[str, Any] | None,
    errors: dict[str, str],
    person: User,
    now: datetime,
    *,
    channels: list[NotificationChannel] | None = None,
    replaced: list[str] | None = None,
) -> None:
    if errors:
        raise InvalidFields(errors)
    if before is None and type(row).objects.count() >= MOST:
        raise ActionRefused("too_many", f"There are {MOST} {_noun(row)}s. Delete one.")
    row.changed_at, row.changed_by = now, person
    try:
        with transaction.atomic():
            row.save()
            if channels is not None:
                row.channels.set(channels)
            after = shown(row) | ({"replaced": replaced} if replaced else {})
            audit_row("change" if before else "create", row, before=before, after=after)
    except IntegrityError:
        text = f"There is a {_noun(row).split()[-1]} {row.name}. Enter another name."
        raise InvalidFields({"name": text}) from None


def _noun(row: Row) -> str:
    return str(row._meta.verbose_name)
