"""Names and passwords, with a lock after repeated failures: for the login page and the API alike."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone

from console.accounts.audit import audit
from console.accounts.models import Outcome, User
from console.accounts.sign_in import lockout
from console.frame.security.current_request import address_of


class PasswordBackend(ModelBackend):
    """Django's own check of a password, that stops after too many wrong ones.

    The answer is the same for a wrong password, an unknown name and a locked one.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """Return the person; raises `PermissionDenied` while name or address are locked."""
        if username is None or password is None:
            return None
        now, address = timezone.now(), address_of(request)
        if lockout.is_locked(username, address, now):
            raise PermissionDenied
        found = super().authenticate(request, username=username, password=password)
        if isinstance(found, User):
            lockout.forget(username)
            return found
        locked = lockout.note_failure(username, address, now)
        after = {"locked": sorted(locked)} if locked else None
        audit("sign-in", _subject(username), after=after, outcome=Outcome.FAILED, by=request)
        return None


def _subject(username: str) -> str:
    """Return the name as given, short: people type their password here by mistake, hence no more."""
    known = User.objects.filter(username=username).exists()
    return f"person:{username}" if known else "person:(unknown)"
