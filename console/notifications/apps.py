"""The room of notifications."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "console.notifications"
    label = "notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        from console.notifications import sending

        sending.register()
