"""Alarm clocks of the replication room."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from console.frame.processes.work_sharing import enqueue_tickets, work_through_due
from console.frame.series import roll_up
from console.frame.tasks import PRUNES, ROLL_UPS
from console.replication.checkpoints import history as readiness_history
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.rounds import collect as readiness_collect
from console.replication.control import reconcile
from console.replication.failover import work as failover_work
from console.replication.findings import collect as finding_collect
from console.replication.findings import store as finding_save
from console.replication.measurement import collect, series

# Who waited longer is sent again.
EXPIRES_S = 30

ROLL_UPS["checkpoints"] = partial(roll_up, checkpoint_series.CHECKPOINTS)
ROLL_UPS["lag"] = series.roll_up
PRUNES["checkpoints"] = checkpoint_series.prune
PRUNES["lag"] = series.prune
PRUNES["readiness of flows"] = readiness_history.prune_changes
PRUNES["findings of flows"] = finding_save.prune_findings


@shared_task(name="console.replication.tasks.ensure_flows", ignore_result=True)
def ensure_flows() -> None:
    """Make the runs agree with what is wanted."""
    reconcile.reconcile_flows(timezone.now())


@shared_task(name="console.replication.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send a ticket for every flow that is due, so that a slow cluster delays only its own flows."""
    enqueue_tickets(collect_oldest, collect.due_flows(timezone.now()))


@shared_task(name="console.replication.tasks.collect_oldest", ignore_result=True)
def collect_oldest() -> None:
    """Measure the flows that have waited longest."""
    work_through_due(
        lambda: collect.due_flows(timezone.now()),
        lambda flow_id: collect.collect_flow(flow_id, timezone.now()),
    )


@shared_task(name="console.replication.tasks.look_due", ignore_result=True)
def look_due() -> None:
    """Send a ticket for every flow that is due for a look at what fails without a word."""
    enqueue_tickets(look_at_oldest, finding_collect.due_flows(timezone.now()))


@shared_task(name="console.replication.tasks.look_at_oldest", ignore_result=True)
def look_at_oldest() -> None:
    """Look at the flows that have waited longest."""
    work_through_due(
        lambda: finding_collect.due_flows(timezone.now()),
        lambda flow_id: finding_collect.look_at_flow(flow_id, timezone.now()),
    )


@shared_task(name="console.replication.tasks.collect_readiness_due", ignore_result=True)
def collect_readiness_due() -> None:
    """Send a ticket for every flow whose checkpoints are due."""
    enqueue_tickets(compare_oldest, readiness_collect.due_flows(timezone.now()))


@shared_task(name="console.replication.tasks.compare_oldest", ignore_result=True)
def compare_oldest() -> None:
    """Compare the checkpoints of the flows that have waited longest with their groups."""
    work_through_due(
        lambda: readiness_collect.due_flows(timezone.now()),
        lambda flow_id: readiness_collect.collect_readiness(flow_id, timezone.now()),
    )


@shared_task(name="console.replication.tasks.work_on_failovers", ignore_result=True)
def work_on_failovers() -> None:
    """Send one task per plan to read and per run to continue."""
    now = timezone.now()
    for plan_id in failover_work.due_plans(now):
        read_failover_plan.apply_async(args=(plan_id,), expires=EXPIRES_S)
    for run_id in failover_work.due_runs(now):
        carry_out_failover.apply_async(args=(run_id,), expires=EXPIRES_S)


@shared_task(name="console.replication.tasks.read_failover_plan", ignore_result=True)
def read_failover_plan(plan_id: int) -> None:
    """Read the evidence of one plan."""
    failover_work.read_plan(plan_id, timezone.now())


@shared_task(name="console.replication.tasks.carry_out_failover", ignore_result=True)
def carry_out_failover(run_id: str) -> None:
    """Continue one dry run, apply or roll back."""
    failover_work.carry_out(UUID(run_id), timezone.now())
