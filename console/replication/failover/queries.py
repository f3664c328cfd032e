"""Reads of failover plans and runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from console.clusters.models import Group
from console.clusters.queries import commit_offsets
from console.frame.security.access import visible
from console.replication.failover.models import (
    FailoverPlan,
    FailoverPlanGroup,
    FailoverRun,
    GroupState,
)
from console.replication.flows import queries
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.applying import ItemOutcome
from jobs.replication.failover.model import Direction
from jobs.replication.failover.reports.report import RunKind
from jobs.replication.failover.reports.signing import SigningKey, kept_key
from jobs.replication.flow.selection import group_filter_of
from jobs.replication.flow.spec import FlowSpec

MOST_CHOICES = 100


def where(flow_id: int, **_: Any) -> Collection[int]:
    """Return both clusters of a flow: users who see both see its plans."""
    return queries.where(flow_id)


def where_set(flow_id: int, plan_id: int = 0, direction: str = "", **_: Any) -> Collection[int]:
    """Return the cluster whose groups are set, which is where the right to operate is needed.

    `direction` counts where there is no plan yet; nothing for a plan that is not there.
    """
    flow = ReplicationFlow.objects.filter(pk=flow_id).values_list("source", "target").first()
    if plan_id:
        plans = FailoverPlan.objects.filter(pk=plan_id, flow=flow_id)
        direction = plans.values_list("direction", flat=True).first() or ""
    if flow is None or (plan_id and not direction):
        return ()
    source, target = flow
    return (source,) if direction == Direction.FAILBACK else (target,)


def list_plans(flow: ReplicationFlow | int | None = None) -> QuerySet[FailoverPlan]:
    """Return the plans of a flow, of all flows when none is named, newest first."""
    rows = FailoverPlan.objects.select_related("flow__source", "flow__target", "created_by")
    rows = rows.defer("document")
    return rows.order_by("-created_at") if flow is None else rows.filter(flow=flow)


def get_plan(user: Any, flow_id: int, plan_id: int) -> FailoverPlan | None:
    """Return a plan that a person may see; None when there is none."""
    rows = FailoverPlan.objects.select_related("flow__source", "flow__target", "created_by")
    return visible(user, rows.filter(flow=flow_id, pk=plan_id)).first()


def list_groups(plan: FailoverPlan) -> QuerySet[FailoverPlanGroup]:
    """Return the groups of a plan, without what is only on their own pages."""
    return plan.plan_groups.defer("document", "before", "written")


def get_group(plan: FailoverPlan, row_id: int) -> FailoverPlanGroup | None:
    """Return one group of a plan; None when there is none."""
    return plan.plan_groups.filter(pk=row_id).first()


def list_runs(plan: FailoverPlan) -> QuerySet[FailoverRun]:
    """Return the runs of a plan, newest first, without their reports."""
    return plan.failover_runs.select_related("requested_by").defer("report")


def list_runs_of(flows: Iterable[ReplicationFlow]) -> QuerySet[FailoverRun]:
    """Return the runs of all plans of flows, with their plans, oldest first, without their reports."""
    rows = FailoverRun.objects.filter(plan__flow__in=[flow.pk for flow in flows])
    rows = rows.select_related("requested_by", "plan__flow").defer("report", "plan__document")
    return rows.order_by("created_at", "pk")


def list_written_runs() -> QuerySet[FailoverRun]:
    """Return the runs of all plans that wrote offsets and have ended, newest first, without their reports."""
    rows = FailoverRun.objects.filter(kind__in=[RunKind.APPLY, RunKind.UNDO])
    rows = rows.select_related("requested_by", "plan__flow__source", "plan__flow__target")
    rows = rows.defer("report", "plan__document")
    return rows.exclude(finished_at=None).order_by("-finished_at", "pk")


def get_run(plan: FailoverPlan, run_id: UUID | None) -> FailoverRun | None:
    """Return a run of a plan, without an id the newest that has ended; None when there is none."""
    rows = plan.failover_runs.select_related("requested_by")
    if run_id is None:
        return rows.exclude(finished_at=None).order_by("-finished_at").first()
    return rows.filter(pk=run_id).first()


def groups_failed_over(flow: ReplicationFlow) -> frozenset[str]:
    """Return the groups that a plan of this flow moved to the target, and none has moved back since."""
    rows = FailoverPlanGroup.objects.filter(plan__flow=flow, state=GroupState.APPLIED)
    rows = rows.order_by("plan__applied_at", "plan")
    newest = dict(rows.values_list("group", "plan__direction"))
    return frozenset(g for g, direction in newest.items() if direction == Direction.FAILOVER)


def groups_to_choose(flow: ReplicationFlow, spec: FlowSpec, direction: str) -> list[Group]:
    """Return groups that were last seen where they leave, those of the flow's patterns, by name."""
    cluster = flow.source_id if direction == Direction.FAILOVER else flow.target_id
    wanted = group_filter_of(spec)
    rows = Group.objects.filter(commit_offsets(), cluster=cluster).order_by("group_id")
    return [row for row in rows[: 10 * MOST_CHOICES] if wanted.accepts(row.group_id)][:MOST_CHOICES]


def listed(
    offsets: Mapping[TopicPartition, CommittedOffset],
) -> list[list[Any]]:
    """Return offsets as JSON values."""
    return [[w.topic, w.partition, one.offset, one.metadata] for w, one in sorted(offsets.items())]


def offsets_of(rows: Iterable[Any] | None) -> dict[TopicPartition, CommittedOffset]:
    """Return the inverse of `listed`; nothing for null."""
    return {
        TopicPartition(topic, partition): CommittedOffset(offset, metadata)
        for topic, partition, offset, metadata in rows or ()
    }


def items_of(document: Mapping[str, Any]) -> tuple[ItemOutcome, ...]:
    """Return the partitions of an outcome that was stored."""
    return tuple(
        ItemOutcome(
            TopicPartition(one["topic"], one["partition"]),
            one["before"],
            one["wanted"],
            one["after"],
            one["error"],
        )
        for one in document.get("items", ())
    )


def report_key() -> SigningKey:
    """Return the key of this installation; on several machines all need the same REPORT_KEY."""
    if settings.REPORT_KEY:
        return SigningKey.from_pem(settings.REPORT_KEY)
    return kept_key(settings.CROSSLOG_HOME / "report-key.pem")
