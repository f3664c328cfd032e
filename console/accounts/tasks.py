"""What the accounts room does in the background."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.accounts.audit import write_counts
from console.accounts.sign_in import lockout


@shared_task(name="console.accounts.tasks.forget_failures", ignore_result=True)
def forget_failures() -> None:
    """Remove counts of failed sign-ins that count no more; write those of other attempts to the audit log."""
    now = timezone.now()
    lockout.forget_old(now)
    write_counts(now)
