"""Alarm clocks of the replication room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.replication import collect, ensure, series


@shared_task(name="console.replication.tasks.ensure_flows", ignore_result=True)
def ensure_flows() -> None:
    """Make the runs agree with what is wanted."""
    ensure.ensure_flows(timezone.now())


@shared_task(name="console.replication.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send one task per flow that is due, so that a slow cluster delays only its own flows."""
    for flow_id in collect.due_flows(timezone.now()):
        collect_flow.apply_async(args=(flow_id,), expires=collect.CLAIM.total_seconds())


@shared_task(name="console.replication.tasks.collect_flow", ignore_result=True)
def collect_flow(flow_id: int) -> None:
    """Measure one flow."""
    collect.collect_flow(flow_id, timezone.now())


@shared_task(name="console.replication.tasks.prune_samples", ignore_result=True)
def prune_samples() -> None:
    """Remove old samples of lag."""
    series.prune_samples(timezone.now())
