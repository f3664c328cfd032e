"""What the frame does in the background."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command


@shared_task(name="console.frame.tasks.prune", ignore_result=True)
def prune() -> None:
    """Forget sessions that have ended."""
    call_command("clearsessions")
