"""The room of people."""

from importlib import import_module

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in


class AccountsConfig(AppConfig):
    name = "console.accounts"
    label = "accounts"
    verbose_name = "Accounts"

    def ready(self) -> None:
        """Let every way to sign in begin a session's time; load the checks of this room's settings."""
        sessions = import_module("console.accounts.sign_in.sessions")
        user_logged_in.connect(sessions.begin, dispatch_uid="session begins")
        import_module("console.accounts.sign_in.checks")
