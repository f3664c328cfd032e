"""A flow with a plan, and clusters on paper that say what a test wants."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

from django.utils import timezone

from console.replication.failover import actions, work
from console.replication.failover.models import FailoverPlan, FailoverRun
from jobs.cluster.errors import ClusterFault
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.translation.translator import Translator
from tests.console.making import make_flow
from tests.jobs.replication.failover.making import GROUP, PaperDoor, empty, failover_evidence

NAME = "night of the flood"
OTHER = "reports"


class PaperClusters:
    """Both clusters; `evidence` is an `Evidence`, a fault, or a function of the request."""

    def __init__(self, evidence=None, groups: PaperDoor | None = None) -> None:
        self.answer = evidence or failover_evidence
        self.groups = groups or PaperDoor()
        self.asked: list[EvidenceRequest] = []

    def route(self, flow):
        return Route(flow.spec(), Translator(), int(timezone.now().timestamp() * 1000))

    def evidence(self, asking: EvidenceRequest) -> Evidence:
        self.asked.append(asking)
        found = self.answer() if callable(self.answer) else self.answer
        if isinstance(found, ClusterFault):
            raise found
        return fresh(found)

    @contextmanager
    def offsets(self, destination):
        yield self.groups


def two_groups(**fields):
    """Return evidence of two groups on one partition."""
    found = failover_evidence(**fields)
    own = found.origin.committed[GROUP]
    origin = replace(
        found.origin,
        committed={GROUP: own, OTHER: own},
        groups={GROUP: empty(), OTHER: empty(OTHER)},
    )
    return replace(found, origin=origin)


def one_can_move():
    """Return evidence of two groups of which one has members where it is."""
    found = two_groups()
    groups = {**found.origin.groups, OTHER: empty(OTHER, state="Stable", member_count=2)}
    return replace(found, origin=replace(found.origin, groups=groups))


def fresh(found: Evidence) -> Evidence:
    """Return evidence that was read just now."""
    now_ms = int(timezone.now().timestamp() * 1000)
    legs = tuple(replace(leg, read_at_ms=now_ms) for leg in found.legs)
    return replace(found, read_at_ms=now_ms, legs=legs)


def make_plan(
    flow=None, clusters: PaperClusters | None = None, user=None, **values
) -> FailoverPlan:
    """Make a plan and read its evidence."""
    flow = flow or make_flow("to west")
    asked = {"name": NAME, "groups": [".*"]} | values
    plan = actions.create_plan(flow, asked, user, timezone.now())
    work.read_plan(plan.pk, timezone.now(), clusters or PaperClusters())
    plan.refresh_from_db()
    return plan


def make_rehearsed(flow, name: str, evidence=None) -> FailoverPlan:
    """Make a plan with a rehearsal that has ended, without asking as a person does."""
    now, clusters = timezone.now(), PaperClusters(evidence)
    plan = FailoverPlan.objects.create(
        flow=flow, name=name, groups=[".*"], topics=[".*"], created_at=now
    )
    work.read_plan(plan.pk, now, clusters)
    run = FailoverRun.objects.create(plan=plan, kind="rehearsal", groups=[GROUP], created_at=now)
    carry_out(run, clusters)
    plan.refresh_from_db()
    return plan


def carry_out(run, clusters: PaperClusters) -> None:
    work.carry_out(run.pk, timezone.now(), clusters)
    run.refresh_from_db()
    run.plan.refresh_from_db()
