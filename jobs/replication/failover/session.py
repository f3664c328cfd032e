"""Make a plan of real clusters, and confirm one that was made before."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from jobs.cluster.errors import InvalidFields
from jobs.patterns.matching import name_pattern
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.freshness import (
    PlanRefused,
    refuse_blocked,
    refuse_changed,
    refuse_old,
)
from jobs.replication.failover.model import FailoverPlan
from jobs.replication.failover.planner import check_request, make_plan
from jobs.replication.failover.read_evidence import EvidenceRequest, read_evidence

Read = Callable[[EvidenceRequest], Evidence]


def ask_plan(asking: EvidenceRequest, read: Read = read_evidence) -> FailoverPlan:
    """Ask both clusters and return the plan; raises `InvalidFields` and `ClusterFault`."""
    check_request(asking.request)
    return make_plan(asking.routes[0].flow.name, asking.request, read(asking))


def confirm_plan(
    plan: FailoverPlan,
    groups: Collection[str],
    asking: EvidenceRequest,
    limit_s: int,
    read: Read = read_evidence,
) -> FailoverPlan:
    """Return the same plan as it would be made now, when both agree on what matters for these groups.

    Raises `PlanRefused` when the plan is too old, blocks, no longer holds, or has patterns of an older
    version that cannot be evaluated any more; and `ClusterFault`.
    """
    try:
        check_request(plan.request)
    except InvalidFields as invalid:
        raise PlanRefused("plan_unusable", f"{invalid} Make a new plan.") from None
    refuse_old(plan, int(asking.clock() * 1000), limit_s)
    refuse_blocked(plan, groups)
    # Only the chosen groups are asked for again, by their names.
    request = replace(plan.request, groups=tuple(map(name_pattern, groups)))
    now = make_plan(plan.flow, request, read(replace(asking, request=request)))
    refuse_changed(plan, now, groups)
    refuse_blocked(now, groups)
    return now
