"""`manage.py roll_engine [NAME]`: a rolling restart of engines of flows."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from console.frame.errors import ActionRefused
from console.runs.engines.actions import roll_engine
from console.runs.engines.models import Engine, EngineKind


class Command(BaseCommand):
    """Requests it; the worker on the host of each engine does it."""

    help = "Move the flows of an engine to a new one, one after the other; without a name, of all engines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="the engine: flows-...")

    def handle(self, *args: Any, **options: Any) -> None:
        """Request it of one engine, or of all that can be rolled."""
        live = Engine.objects.filter(kind=EngineKind.FLOWS, ended_at=None).order_by("name")
        names = [options["name"]] if options["name"] else [one.pk for one in live if one.may_roll]
        for name in names:
            try:
                roll_engine(name, timezone.now())
            except ActionRefused as refusal:
                raise CommandError(f"{name}: {refusal.message}") from refusal
            self.stdout.write(f"{name}: rolling restart requested")
