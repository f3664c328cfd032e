"""Celery tasks of the replication room."""

from __future__ import annotations

from functools import partial

from celery import shared_task
from django.utils import timezone

from console.frame.rounds import KINDS, Kind
from console.frame.series import roll_up
from console.frame.tasks import PRUNES, ROLL_UPS
from console.replication.checkpoints import history as readiness_history
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.rounds.collect import CHECKPOINTS, collect_readiness
from console.replication.control import reconcile
from console.replication.failover.work import carry_out, due_plans, due_runs, read_plan
from console.replication.findings.collect import FINDINGS, look_at_flow
from console.replication.measurement import series
from console.replication.measurement.collect import MEASUREMENTS, collect_flow

KINDS[MEASUREMENTS.name] = Kind(MEASUREMENTS.due, collect_flow, "flows", rounds=MEASUREMENTS)
KINDS[FINDINGS.name] = Kind(FINDINGS.due, look_at_flow, "flows", rounds=FINDINGS)
KINDS[CHECKPOINTS.name] = Kind(CHECKPOINTS.due, collect_readiness, "flows", rounds=CHECKPOINTS)
KINDS["failover_plans"] = Kind(due_plans, lambda pk: read_plan(pk, timezone.now()), "flows")
KINDS["failover_runs"] = Kind(due_runs, lambda pk: carry_out(pk, timezone.now()), "flows")

ROLL_UPS["checkpoints"] = partial(roll_up, checkpoint_series.CHECKPOINTS)
ROLL_UPS["lag"] = series.roll_up
PRUNES["checkpoints"] = checkpoint_series.prune
PRUNES["lag"] = series.prune
PRUNES["readiness of flows"] = readiness_history.prune_changes


@shared_task(name="console.replication.tasks.ensure_flows", ignore_result=True)
def ensure_flows() -> None:
    """Make the runs agree with what is wanted."""
    reconcile.reconcile_flows(timezone.now())
