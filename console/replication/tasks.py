"""Alarm clocks of the replication room."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from console.frame.processes.work_sharing import enqueue_tickets, work_through_due
from console.replication.checkpoints import history as readiness_history
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.rounds import collect as readiness_collect
from console.replication.control import reconcile
from console.replication.failover import work as failover_work
from console.replication.findings import collect as finding_collect
from console.replication.measurement import collect, hours, series

# Who waited longer is sent again.
EXPIRES_S = 30


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


@shared_task(name="console.replication.tasks.prune_samples", ignore_result=True)
def prune_samples() -> None:
    """Remove old samples and hours of lag, samples of checkpoints and old answers."""
    now = timezone.now()
    series.prune_samples(now)
    hours.prune_hours(now)
    checkpoint_series.prune(now)
    readiness_history.prune_changes(now)


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


@shared_task(name="console.replication.tasks.roll_up_checkpoints", ignore_result=True)
def roll_up_checkpoints() -> None:
    """Roll samples of checkpoint lag up to minutes and hours."""
    checkpoint_series.roll_up(timezone.now())


@shared_task(name="console.replication.tasks.roll_up_lag", ignore_result=True)
def roll_up_lag() -> None:
    """Roll samples of lag up to hours."""
    hours.roll_up(timezone.now())


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
