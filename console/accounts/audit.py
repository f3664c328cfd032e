"""The audit log: user, action, subject, time, address, and values before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import wraps
from ipaddress import IPv6Address
from typing import Any, ParamSpec, TypeVar

from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from console.accounts.models import AuditEntry, Outcome, SignInFailures, User
from console.frame.errors import ActionRefused
from console.frame.security.current_request import address_of, current_request, request_id_of
from console.frame.security.masking import masked
from console.frame.security.read_only import refuse_when_read_only

P = ParamSpec("P")
T = TypeVar("T")

# What requests try in vain is written so often in a minute: for a person or an address, and for all
# addresses without a person. What is more is counted, and the count is one entry.
MOST_PER_MINUTE, MOST_OF_STRANGERS = 20, 200
MINUTE = timedelta(minutes=1)
COUNTED = "trail.counted"
_KIND, _PERSON, _STRANGERS = "refused", "person", "addresses"


def audit(  # noqa: PLR0913 - one keyword per field of an entry
    action: str,
    subject: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    cluster: str = "",
    outcome: Outcome = Outcome.DONE,
    by: HttpRequest | User | None = None,
) -> AuditEntry:
    """Write what was done or tried; without `by`, by the user of the current request.

    With `before` and `after`, only what differs is kept. Secrets and addresses are masked by
    their names. Of many attempts in vain the entry is not saved, only counted.
    """
    request = by if isinstance(by, HttpRequest) else current_request()
    token: Any = getattr(request, "auth", None) or getattr(by, "acting_token", None)
    actor = by if isinstance(by, User) else _person_of(request)
    entry = AuditEntry(
        at=timezone.now(),
        actor=actor,
        actor_name=actor.get_username() if actor else "",
        token_name=f"{token.name} ({token.prefix})" if hasattr(token, "prefix") else "",
        action=action,
        outcome=outcome,
        subject=masked(subject)[:300],
        cluster=cluster,
        address=address_of(request),
        request_id=request_id_of(request),
    )
    entry.before, entry.after = differences(before, after)
    if outcome == Outcome.DONE or request is None or not _is_too_many(entry):
        entry.save()
    return entry


def audit_row(verb: str, row: Any, **values: Any) -> None:
    """Write what was done to a row, by the name of its model: `check_setting.change`."""
    noun = str(row._meta.verbose_name)
    subject = f"{noun.replace(' ', '-')}:{row.pk}"
    audit(f"{noun.replace(' ', '_')}.{verb}", subject, **values)


def write_counts(now: datetime) -> int:
    """Write what was only counted, of minutes that are over; return how many entries."""
    over = SignInFailures.objects.filter(kind=_KIND, since__lte=now - MINUTE)
    written = 0
    for row in over:
        with transaction.atomic():
            is_ours = over.filter(pk=row.pk, count=row.count).delete()[0]
            written += bool(is_ours and _write_count(row, now))
    return written


def change(action: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a function as one that changes something for a person, under this name in the audit log.

    While crosslog is read-only it refuses, and the refusal is written. What it changes and the entry
    that it writes are saved together or not at all.
    """

    def marked(do: Callable[P, T]) -> Callable[P, T]:
        @wraps(do)
        def done(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                refuse_when_read_only()
            except ActionRefused:
                audit(action, _first_name(args), outcome=Outcome.REFUSED)
                raise
            return do(*args, **kwargs)

        done.changes = action  # type: ignore[attr-defined]  # a test reads which actions are marked
        return done

    return marked


def differences(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return both sides without secrets; when both are given, only the fields that differ."""
    if before is None or after is None:
        return _plain(before), _plain(after)
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return (
        _plain({name: before.get(name) for name in names}),
        _plain({name: after.get(name) for name in names}),
    )


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else {name: masked(v, name) for name, v in values.items()}


def _is_too_many(entry: AuditEntry) -> bool:
    """Count an attempt in vain; True when so many of this minute are written that it is counted only."""
    if entry.actor is not None:
        return _count(f"{_PERSON}:{entry.actor.pk}", MOST_PER_MINUTE, entry.at)
    own = _count(f"address:{_network_of(entry.address)}", MOST_PER_MINUTE, entry.at)
    # What is left out for its address is in that count already.
    return own or _count(_STRANGERS, MOST_OF_STRANGERS, entry.at)


def _count(key: str, most: int, now: datetime) -> bool:
    row, _ = SignInFailures.objects.get_or_create(kind=_KIND, key=key, defaults={"since": now})
    mine = SignInFailures.objects.filter(pk=row.pk)
    if row.since <= now - MINUTE and mine.filter(count=row.count).update(count=0, since=now):
        _write_count(row, now)
    mine.update(count=F("count") + 1)
    return mine.filter(count__gt=most).exists()


def _write_count(row: SignInFailures, now: datetime) -> bool:
    """Write how many attempts of a minute were counted only; False when there was none."""
    left_out = row.count - (MOST_OF_STRANGERS if row.key == _STRANGERS else MOST_PER_MINUTE)
    if left_out <= 0:
        return False
    kind, _, name = row.key.partition(":")
    person = User.objects.filter(pk=name).first() if kind == _PERSON else None
    subject = f"{_PERSON}:{person.get_username()}" if person else row.key
    told = {"attempts": left_out, "since": row.since.isoformat(timespec="seconds")}
    AuditEntry(
        at=now,
        actor=person,
        actor_name=person.get_username() if person else "",
        action=COUNTED,
        outcome=Outcome.REFUSED,
        subject=subject,
        after=told,
    ).save()
    return True


def _network_of(address: str) -> str:
    """Return an address; of IPv6 the /64, in which one machine has as many addresses as it wants."""
    try:
        return IPv6Address(address).exploded[:19]
    except ValueError:
        return address


def _person_of(request: HttpRequest | None) -> User | None:
    user = getattr(request, "user", None)
    # `user` may be a lazy object, which a foreign key does not take.
    return User.objects.get(pk=user.pk) if user is not None and user.pk else None


def _first_name(args: tuple[Any, ...]) -> str:
    """Return what an action was to change, as far as its first argument says it."""
    first = args[0] if args else ""
    if isinstance(first, Mapping):
        return str(first.get("alias") or first.get("name") or "")
    return str(first)[:300]
