"""The task that sends what is due, and upkeep."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.delivery import outbox
from console.frame.tasks import PRUNES

PRUNES["deliveries"] = outbox.prune


@shared_task(name="console.delivery.tasks.deliver_due", ignore_result=True)
def deliver_due() -> None:
    """Send what is due."""
    outbox.deliver_due(timezone.now())
