"""The frame as a Django application."""

from django.apps import AppConfig


class FrameConfig(AppConfig):
    """What all pages and API routes share."""

    name = "console.frame"
    label = "frame"
    verbose_name = "Frame"
