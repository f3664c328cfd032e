"""What the frame does in the background."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command

from console.frame.rest.idempotency import forget_old_keys


@shared_task(name="console.frame.tasks.prune", ignore_result=True)
def prune() -> None:
    """Forget sessions that have ended and answers that are too old to be given again."""
    call_command("clearsessions")
    forget_old_keys()
