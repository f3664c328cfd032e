"""The room of availability: which partitions can be written, since when not, and what would be lost."""

from importlib import import_module

from django.apps import AppConfig

from console.frame.signals import metadata_stored


class AvailabilityConfig(AppConfig):
    name = "console.availability"
    label = "availability"
    verbose_name = "Availability"

    def ready(self) -> None:
        """Register checks, and listen to the process that follows metadata logs."""
        for rules in ("findings", "leader_balance"):
            import_module(f"console.availability.advice.{rules}")
        listening = import_module("console.availability.collection.receivers")
        metadata_stored.connect(listening.on_metadata, dispatch_uid="status follows the log")
