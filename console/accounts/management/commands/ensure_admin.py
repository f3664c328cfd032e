"""`manage.py ensure_admin`: the first start makes an admin; every other start changes nothing."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.accounts.actions import FIRST_ADMIN, create_first_admin


class Command(BaseCommand):
    """Create an admin with a random password while no account exists; the password is printed once."""

    help = "Create an admin with a random password while no account exists; prints it once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--password-file",
            type=Path,
            help="take the first password from this file, and do not print it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the admin and print the password to standard output, unless it came from a file."""
        path: Path | None = options["password_file"]
        password = create_first_admin(_password_in(path) if path else "")
        if password is None or path is not None:
            return
        self.stdout.write("The first administrator was created. This password is not shown again:")
        self.stdout.write(f"  user:     {FIRST_ADMIN}")
        self.stdout.write(f"  password: {password}")
        self.stdout.write("Change it with: python manage.py changepassword admin")


def _password_in(path: Path) -> str:
    try:
        password = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    if not password:
        raise CommandError(f"{path} is empty; it should hold the first administrator's password.")
    return password
