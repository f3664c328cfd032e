"""The audit trail: who did what to what, when, from where, and what it was before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.http import HttpRequest
from django.utils import timezone

from console.accounts.models import AuditEntry, Outcome, User
from console.frame.errors import ActionRefused
from console.frame.security.current_request import address_of, current_request, request_id_of
from console.frame.security.masking import masked
from console.frame.security.read_only import refuse_when_read_only

P = ParamSpec("P")
T = TypeVar("T")


def audit(  # noqa: PLR0913 - one keyword for each question that the trail answers
    action: str,
    subject: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    cluster: str = "",
    outcome: Outcome = Outcome.DONE,
    by: HttpRequest | User | None = None,
) -> AuditEntry:
    """Write what was done or tried; without `by`, whoever asks at this moment did it.

    With `before` and `after`, only what differs is kept. Secrets and addresses are masked by
    their names.
    """
    request = by if isinstance(by, HttpRequest) else current_request()
    token: Any = getattr(request, "auth", None)
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
    entry.save()
    return entry


def change(action: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a function as one that changes something for a person, under this name in the trail.

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
