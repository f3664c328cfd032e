"""Celery tasks of the replication room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.frame.rounds import KINDS, Kind
from console.replication.checkpoints import history as readiness_history
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.rounds.collect import CHECKPOINTS, collect_readiness
from console.replication.control import reconcile
from console.replication.failover.work import carry_out, due_plans, due_runs, read_plan
from console.replication.findings import store as finding_save
from console.replication.findings.collect import FINDINGS, look_at_flow
from console.replication.measurement import hours, series
from console.replication.measurement.collect import MEASUREMENTS, collect_flow

KINDS[MEASUREMENTS.name] = Kind(MEASUREMENTS.due, collect_flow, "flows")
KINDS[FINDINGS.name] = Kind(FINDINGS.due, look_at_flow, "flows")
KINDS[CHECKPOINTS.name] = Kind(CHECKPOINTS.due, collect_readiness, "flows")
KINDS["failover_plans"] = Kind(due_plans, lambda pk: read_plan(pk, timezone.now()), "flows")
KINDS["failover_runs"] = Kind(due_runs, lambda pk: carry_out(pk, timezone.now()), "flows")


@shared_task(name="console.replication.tasks.ensure_flows", ignore_result=True)
def ensure_flows() -> None:
    """Make the runs agree with what is wanted."""
    reconcile.reconcile_flows(timezone.now())


@shared_task(name="console.replication.tasks.prune_samples", ignore_result=True)
def prune_samples() -> None:
    """Remove old samples and hours of lag, samples of checkpoints, old answers and findings that ended."""
    now = timezone.now()
    series.prune_samples(now)
    hours.prune_hours(now)
    checkpoint_series.prune(now)
    readiness_history.prune_changes(now)
    finding_save.prune_findings(now)


@shared_task(name="console.replication.tasks.roll_up_checkpoints", ignore_result=True)
def roll_up_checkpoints() -> None:
    """Roll samples of checkpoint lag up to minutes and hours."""
    checkpoint_series.roll_up(timezone.now())


@shared_task(name="console.replication.tasks.roll_up_lag", ignore_result=True)
def roll_up_lag() -> None:
    """Roll samples of lag up to hours."""
    hours.roll_up(timezone.now())
