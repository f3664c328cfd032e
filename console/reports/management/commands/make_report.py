"""`manage.py make_report ID`: make one claimed report; the worker starts it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand
from django.utils import timezone

from console.reports.making import building


class Command(BaseCommand):
    """Makes a report and ends, so that what it needed is free again."""

    help = "Make a report that a worker has claimed."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=UUID, help="the id of its run")

    def handle(self, *args: Any, **options: Any) -> None:
        building.make(options["run"], timezone.now())
