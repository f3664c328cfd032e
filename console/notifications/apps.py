"""The room of notifications."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "console.notifications"
    label = "notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        """Let what is sent of incidents be written with them."""
        from console.findings.incidents.store import FOLLOW_UPS
        from console.notifications.round import notify

        FOLLOW_UPS["notifications"] = notify
