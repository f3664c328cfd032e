"""The frame as a Django application."""

from importlib import import_module

from django.apps import AppConfig


class FrameConfig(AppConfig):
    """What all pages and API routes share."""

    name = "console.frame"
    label = "frame"
    verbose_name = "Frame"

    def ready(self) -> None:
        """Load the Celery application, so that tasks sent by a page find their broker, and the checks."""
        import_module("console.celery")
        import_module("console.frame.security.checks")
