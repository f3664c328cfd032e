"""The room of notifications."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "console.notifications"
    label = "notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        from console.findings.incidents.store import FOLLOW_UPS
        from console.notifications.round import notify
        from console.notifications.sending import channels as sending

        sending.register()
        FOLLOW_UPS["notifications"] = notify
