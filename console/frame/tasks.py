"""What the frame does in the background."""

from __future__ import annotations

import logging

from celery import current_app, shared_task
from django.core.management import call_command

from console.frame.rest.idempotency import forget_old_keys

logger = logging.getLogger(__name__)


@shared_task(name="console.frame.tasks.look", ignore_result=True)
def look(*names: str) -> None:
    """Run several tasks that only look who is due; one that breaks costs the others nothing."""
    for name in names:
        try:
            current_app.tasks[name]()
        except Exception:  # as a task of its own would
            logger.exception("%s broke", name)


@shared_task(name="console.frame.tasks.prune", ignore_result=True)
def prune() -> None:
    """Forget sessions that have ended and answers that are too old to be given again."""
    call_command("clearsessions")
    forget_old_keys()
