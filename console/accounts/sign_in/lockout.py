"""Failed sign-ins, counted per name and per address, in the database so that all processes agree."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256

from django.conf import settings
from django.db.models import F, Q

from console.accounts.models import SignInFailures
from console.frame.brief_writes import write_or_leave

USER, ADDRESS = "user", "address"
# Several people may sit behind one address.
ADDRESS_FACTOR = 4


def is_locked(username: str, address: str, now: datetime) -> bool:
    """Say whether this name, or this address, has to wait."""
    keys = Q(kind=USER, key=_key(username)) | Q(kind=ADDRESS, key=address)
    return SignInFailures.objects.filter(keys, locked_until__gt=now).exists()


def note_failure(username: str, address: str, now: datetime) -> set[str]:
    """Count a failure; return what it locked: "user", "address", both or nothing."""
    limits = {
        (USER, _key(username)): settings.SIGN_IN_FAILURES,
        (ADDRESS, address): settings.SIGN_IN_FAILURES * ADDRESS_FACTOR,
    }
    return {kind for (kind, key), limit in limits.items() if key and _count(kind, key, limit, now)}


def forget(username: str) -> None:
    """Forget the failures of a name whose password was right; those of its address stay.

    With Basic authentication every read comes here: nothing is written where nothing was counted.
    """
    counted = SignInFailures.objects.filter(kind=USER, key=_key(username))
    if counted.exists():
        write_or_leave("that a sign-in succeeded after failures", counted.delete)


def locked_until(usernames: Iterable[str], now: datetime) -> dict[str, datetime]:
    """Return until when which of these names are locked."""
    name_of = {_key(name): name for name in usernames}
    rows = SignInFailures.objects.filter(kind=USER, key__in=name_of, locked_until__gt=now)
    return {name_of[key]: until for key, until in rows.values_list("key", "locked_until") if until}


def unlock(username: str) -> bool:
    """Let a name sign in again at once; False when it was not locked or counted."""
    return bool(SignInFailures.objects.filter(kind=USER, key=_key(username)).delete()[0])


def forget_old(now: datetime) -> int:
    """Remove what counts no more; return how many."""
    window = now - timedelta(seconds=settings.SIGN_IN_LOCK_S)
    over = Q(locked_until=None) | Q(locked_until__lt=now)
    kinds = (USER, ADDRESS)
    return SignInFailures.objects.filter(over, kind__in=kinds, since__lt=window).delete()[0]


def _count(kind: str, key: str, limit: int, now: datetime) -> bool:
    """Count one failure; True when it is the one that locks. Counting is atomic, so none is lost."""
    row, _ = SignInFailures.objects.get_or_create(kind=kind, key=key, defaults={"since": now})
    mine = SignInFailures.objects.filter(pk=row.pk)
    if row.since < now - timedelta(seconds=settings.SIGN_IN_LOCK_S):
        mine.filter(since=row.since).update(count=0, since=now, locked_until=None)
    mine.update(count=F("count") + 1)
    until = now + timedelta(seconds=settings.SIGN_IN_LOCK_S)
    # Failures start over with the lock's end, and not with one try per lock.
    return bool(mine.filter(count__gte=limit).update(locked_until=until, count=0, since=now))


def _key(username: str) -> str:
    """Return the name's hash: people type their password as a name by mistake."""
    return sha256(username.casefold().encode()).hexdigest()
