"""Everything that acts later: how it is requested, how it acts, and what its page then says."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.asked_rights import rights_asked
from console.accounts.models import User
from console.availability.acting.work import Worker
from console.availability.advice.round import take_round
from console.availability.drills.actions import start_drill
from console.availability.drills.models import Drill
from console.availability.drills.work import carry_out_drills
from console.availability.promotion import actions as promotions
from console.availability.promotion.models import (
    ActionState,
    PromotionAction,
    PromotionPolicy,
)
from console.delivery import outbox
from console.frame.errors import ActionRefused
from console.quorum.log import imports
from console.quorum.models import MetadataLog, Source
from console.replication.failover import actions as failover
from console.replication.failover import work
from console.replication.failover.models import FailoverPlan, FailoverRun
from console.reports import actions as reports
from console.reports.making import building
from console.reports.models import Report, ReportRun, RunState, Trigger
from console.reports.sending.source import queue_deliveries
from console.runs.actions import RunRequest, launch_run, queue_run
from console.runs.models import Run
from console.schedules import actions as schedules
from console.schedules import firing, starters
from console.schedules.models import Schedule
from tests.console.availability.promotion_world import (
    Clock,
    PaperDoor,
    make_action,
    make_policy,
    make_short,
    watched,
)
from tests.console.delivery.making import make_report_run
from tests.console.making import StubLauncher, make_cluster, make_flow
from tests.console.replication.failover_world import NAME, PaperClusters
from tests.console.schedules.making import PaperRoom


@dataclass(frozen=True)
class Case:
    """Something that acts later: `ask` makes it, `act` lets it act and returns what its page says."""

    field: str
    ask: Callable[[User], Any]
    act: Callable[[Any], str]
    page: Callable[[Any], str] | None = None


def now():
    return timezone.now()


def a_report(asker: User) -> Report:
    make_flow("to west")
    return reports.create_report({"kind": "replication", "name": "Weekly"}, asker, now())


def make_report(report: Report) -> str:
    with pytest.raises(ActionRefused) as refused:
        reports.queue_run(Report.objects.get(pk=report.pk), Trigger.SCHEDULE, now())
    return refused.value.message


def a_report_run(asker: User) -> ReportRun:
    return reports.run_report(a_report(asker).pk, asker, now())


def make_run(run: ReportRun) -> str:
    building.claim(run.pk, now())
    building.make(run.pk, now())
    return ReportRun.objects.get(pk=run.pk, state=RunState.FAILED).error


def a_delivery(asker: User) -> ReportRun:
    flow = make_flow("to west")
    clusters = [flow.source, flow.target]
    rights = {"person": asker, "asked_with": rights_asked(asker)}
    run = make_report_run(("folder", "weekly"), clusters=clusters, **rights)
    queue_deliveries(run, now())
    return run


def deliver(run: ReportRun) -> str:
    assert outbox.deliver_due(now()) == 0
    return run.deliveries.get().sentence


def a_schedule(asker: User) -> Schedule:
    starters.register(PaperRoom().starter())
    values = {"name": "Letter", "kind": "letter", "arguments": {"to": "ada"}, "cron": "* * * * *"}
    return schedules.create_schedule(values, asker, now() - timedelta(minutes=5))


def fire(schedule: Schedule) -> str:
    firing.fire_due(now())
    starters.forget("letter")
    return Schedule.objects.get(pk=schedule.pk).last_sentence


def an_analysis(asker: User) -> Run:
    cluster = make_cluster("east")
    request = RunRequest(
        "skew", "Skew", f"cluster:{cluster.pk}", {}, requested_by=asker, question_key="skew"
    )
    run = queue_run(request, now())
    assert run is not None
    return run


def launch(run: Run) -> str:
    launcher = StubLauncher()
    assert not launch_run(run.pk, now(), launcher)
    assert launcher.started == []
    return Run.objects.get(pk=run.pk).error


def an_import(asker: User) -> MetadataLog:
    fields = {"asked_by": asker, "asked_with": rights_asked(asker), "source": Source.IMPORT}
    return MetadataLog.objects.create(name="_night", title="Night", created_at=now(), **fields)


def fold(log: MetadataLog) -> str:
    imports.fold_import(log.pk, now())
    return MetadataLog.objects.get(pk=log.pk).error


def a_plan(asker: User) -> FailoverPlan:
    flow = make_flow("to west")
    return failover.create_plan(flow, {"name": NAME, "groups": [".*"]}, asker, now())


def read(plan: FailoverPlan) -> str:
    door = PaperClusters()
    work.read_plan(plan.pk, now(), door)
    assert door.asked == []
    return FailoverPlan.objects.get(pk=plan.pk).error


def an_apply(asker: User) -> FailoverRun:
    plan = a_plan(asker)
    work.read_plan(plan.pk, now(), PaperClusters())
    return failover.apply_plan(FailoverPlan.objects.get(pk=plan.pk), NAME, asker, now())


def apply(run: FailoverRun) -> str:
    work.carry_out(run.pk, now(), PaperClusters())
    ended = FailoverRun.objects.get(pk=run.pk)
    assert (ended.state, ended.done_count) == ("refused", 0)
    return ended.error


def a_drill(asker: User) -> Drill:
    cluster = make_short()
    return start_drill(cluster, {"confirm": "east", "actors": ["fenced_standby"]}, asker, now())


def carry_out(drill: Drill) -> str:
    carry_out_drills(drill.cluster, "here", Clock(), None)  # type: ignore[arg-type]  # not reached
    return Drill.objects.get(pk=drill.pk, state="refused").error


def a_promotion(asker: User) -> PromotionAction:
    cluster = make_short()
    action = make_action(cluster, policy=make_policy(cluster))
    watched(cluster)
    planned = promotions.plan_action(action, asker, now(), PaperDoor(Clock()))
    return promotions.apply_action(planned, planned.subject, asker, now())


def promote(action: PromotionAction) -> str:
    clock = Clock()
    door = PaperDoor(clock)
    advised = take_round(action.cluster, clock, door, polled=["orders"])
    Worker(action.cluster, "here", door, clock).work(advised)
    assert door.acts == []
    ended = PromotionAction.objects.get(pk=action.pk)
    return str(ended.refusals[0]["sentence"])


def a_revert(asker: User) -> PromotionAction:
    cluster = make_short()
    fields = {"state": ActionState.VERIFIED, "outcome": {"undo": {"promotion_id": "p"}}}
    action = make_action(cluster, policy=make_policy(cluster), **fields)
    watched(cluster)
    return promotions.revert_action(action, action.subject, "enough", asker, now())


def take_back(action: PromotionAction) -> str:
    clock = Clock()
    door = PaperDoor(clock)
    advised = take_round(action.cluster, clock, door, polled=["orders"])
    Worker(action.cluster, "here", door, clock).work(advised)
    assert door.acts == []
    return str(PromotionAction.objects.get(pk=action.pk).outcome["reverted"]["sentence"])


def a_policy(asker: User) -> PromotionPolicy:
    values = {"pattern": "orders", "allowed_brokers": [3], "mode": "act", "confirm": "orders"}
    return promotions.create_policy(make_short(), values, asker, now())


def act(policy: PromotionPolicy) -> str:
    clock = Clock()
    door = PaperDoor(clock)
    advised = take_round(policy.cluster, clock, door, polled=["orders"])
    Worker(policy.cluster, "here", door, clock).work(advised)
    assert door.acts == []
    stopped = PromotionPolicy.objects.get(pk=policy.pk)
    assert not stopped.acts
    return stopped.why_stopped


CASES = {
    "report": Case(
        "reports.Report.owner", a_report, make_report, lambda one: f"/reports/{one.pk}/"
    ),
    "report being made": Case(
        "reports.ReportRun.person",
        a_report_run,
        make_run,
        lambda one: reverse("reports:run", args=[one.pk]),
    ),
    "delivery": Case("reports.ReportRun.person", a_delivery, deliver),
    "schedule": Case(
        "schedules.Schedule.created_by", a_schedule, fire, lambda one: f"/schedules/{one.pk}/"
    ),
    "analysis": Case("runs.Run.requested_by", an_analysis, launch, lambda one: f"/runs/{one.pk}/"),
    "import": Case("quorum.MetadataLog.asked_by", an_import, fold, lambda one: "/quorum/_night/"),
    "failover plan": Case(
        "replication.FailoverPlan.created_by",
        a_plan,
        read,
        lambda one: f"/replication/{one.flow_id}/failover/{one.pk}/",
    ),
    "failover run": Case(
        "replication.FailoverRun.requested_by",
        an_apply,
        apply,
        lambda one: f"/replication/{one.plan.flow_id}/failover/{one.plan_id}/runs/{one.pk}/",
    ),
    "drill": Case("availability.Drill.requested_by", a_drill, carry_out),
    "promotion": Case("availability.PromotionAction.asked_by", a_promotion, promote),
    "revert": Case("availability.PromotionAction.asked_by", a_revert, take_back),
    "policy that acts": Case("availability.PromotionPolicy.opted_in_by", a_policy, act),
}
