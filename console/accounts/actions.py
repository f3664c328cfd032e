"""What can be done with accounts."""

from __future__ import annotations

import secrets

from django.db import transaction

from console.accounts.models import Role, User

FIRST_ADMIN = "admin"


def create_first_admin(password: str = "") -> str | None:
    """Create an admin with this password, else a random one, and return it.

    None when anybody has an account.
    """
    password = password or secrets.token_urlsafe(15)
    with transaction.atomic():
        if User.objects.exists():
            return None
        User.objects.create_user(FIRST_ADMIN, password=password, role=Role.ADMIN)
    return password
