"""Read the evidence of plans and carry runs out, claimed by conditional updates: twice does no harm."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from console.accounts.asked_rights import for_trail, refuse_ended
from console.accounts.audit import audit
from console.accounts.models import Outcome
from console.frame.claims import ending, is_free, release, renew, take_one
from console.frame.errors import ActionRefused
from console.replication.failover.door import KAFKA, FailoverDoor, last_seen
from console.replication.failover.models import (
    LIVE,
    FailoverPlan,
    FailoverPlanGroup,
    FailoverRun,
    FailoverRunGroup,
    FailoverState,
    GroupState,
    PlanState,
)
from console.replication.failover.queries import items_of, listed, offsets_of, report_key
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.replication.failover.applying import (
    DestinationGroups,
    GroupOutcome,
    OutcomeState,
    apply_group,
    undo_group,
)
from jobs.replication.failover.model import Direction, FailoverRequest, GroupPlan, Untranslated
from jobs.replication.failover.model import FailoverPlan as Plan
from jobs.replication.failover.read_evidence import EvidenceRequest, Known
from jobs.replication.failover.reports.report import RunFacts, RunKind, build_report
from jobs.replication.failover.session import PlanRefused, ask_plan, confirm_plan, refuse_old

logger = logging.getLogger(__name__)

# The time budget of a task; the next task continues with the remaining groups.
WORK_S = 45.0
_BAD = {OutcomeState.REFUSED, OutcomeState.FAILED}
_UNREAD = (PlanState.QUEUED, PlanState.READING)


def due_plans(now: datetime) -> list[int]:
    """Return the plans whose evidence is to be read."""
    waiting = FailoverPlan.objects.filter(is_free(now), state__in=_UNREAD)
    return list(waiting.values_list("pk", flat=True))


def due_runs(now: datetime) -> list[UUID]:
    """Return the runs that no worker has claimed."""
    live = FailoverRun.objects.filter(is_free(now), state__in=LIVE)
    return list(live.values_list("pk", flat=True))


def read_plan(plan_id: int, now: datetime, door: FailoverDoor = KAFKA) -> bool:
    """Read the evidence of a plan and write its groups; False when another worker has claimed it."""
    waiting = FailoverPlan.objects.filter(pk=plan_id, state__in=_UNREAD)
    row = take_one(waiting, now, state=PlanState.READING)
    if row is None:
        return False
    with ending(row, "reading", state=PlanState.FAILED):
        _refuse_ended(row, row)
        _save_plan(row, ask_plan(_asking(row, door), door.evidence))
    return True


def carry_out(run_id: UUID, now: datetime, door: FailoverDoor = KAFKA) -> bool:
    """Continue a run until it has ended or `WORK_S` is over; False when another worker has claimed it."""
    live = FailoverRun.objects.filter(pk=run_id, state__in=LIVE)
    begun = Coalesce(F("started_at"), Value(now))
    run = take_one(live, now, state=FailoverState.RUNNING, started_at=begun)
    if run is None:
        return False
    work = _Work(run, door)
    with ending(run, "moving groups", work.fail, PlanRefused):
        work.proceed(time.monotonic() + WORK_S)
    return True


class _Work:
    """The progress of one run."""

    def __init__(self, run: FailoverRun, door: FailoverDoor) -> None:
        self.run, self.door = run, door
        self.row = run.plan
        self.kind = RunKind(run.kind)

    def proceed(self, until_s: float) -> None:
        """Confirm the plan once, then move the remaining groups."""
        names = [*self.run.groups]
        plan = self.row.plan(names)
        _refuse_ended(self.run, self.row)
        if self.kind is not RunKind.UNDO and self.run.confirmed_at is None:
            self._confirm(plan, names)
            FailoverRun.objects.filter(pk=self.run.pk).update(confirmed_at=timezone.now())
        done = set(self.run.run_groups.values_list("group", flat=True))
        with self.door.offsets(self.row.destination.connection()) as offsets:
            for name in [name for name in names if name not in done]:
                if time.monotonic() > until_s:
                    release(self.run)
                    return
                self.run.refresh_from_db(fields=["requested_by"])
                _refuse_ended(self.run, self.row)
                self._do(offsets, name, plan.group(name))
        self.finish(None, "")

    def fail(self, problem: str, error: Exception) -> None:
        """End the run early: what was done before a refusal counts."""
        state = FailoverState.FAILED
        if isinstance(error, ActionRefused | PlanRefused):
            has_begun = self.run.run_groups.exists()
            state = FailoverState.PARTIAL if has_begun else FailoverState.REFUSED
        self.finish(state, problem)

    def finish(self, state: FailoverState | None, problem: str) -> None:
        """Write the end of the run, with its signed report; once."""
        found = {one.group: one for one in self.run.run_groups.all()}
        state = state or _state_of([one.state for one in found.values()])
        ended_at = timezone.now()
        report = self._report(state, problem, found.values(), ended_at)
        end = {"state": state, "error": problem, "finished_at": ended_at, "report": report}
        with transaction.atomic():
            if release(self.run, **end):
                _settle(self.row)
                self._audit(state, problem, found.values())

    def _confirm(self, plan: Plan, names: Collection[str]) -> None:
        """Refuse a plan that no longer holds; groups that an earlier run began with have moved by it."""
        limit_s = settings.FAILOVER_EVIDENCE_S
        rows = self.row.plan_groups.filter(group__in=names, before__isnull=True)
        fresh = list(rows.values_list("group", flat=True))
        if self.kind is RunKind.REHEARSAL:
            fresh = [*names]
        asking = _asking(self.row, self.door)
        refuse_old(plan, int(asking.clock() * 1000), limit_s)
        if fresh:
            confirm_plan(plan, fresh, asking, limit_s, self.door.evidence)

    def _do(self, offsets: DestinationGroups, name: str, planned: GroupPlan | None) -> None:
        row = FailoverPlanGroup.objects.get(plan=self.row, group=name)
        if self.kind is RunKind.UNDO:
            outcome = undo_group(
                offsets,
                name,
                offsets_of(row.before),
                offsets_of(row.written),
                even_if_moved=self.run.even_if_moved,
            )
        elif planned is None:
            outcome = GroupOutcome(
                name, OutcomeState.REFUSED, "The group is not in the plan any more."
            )
        else:
            before = None if row.before is None else offsets_of(row.before)
            is_rehearsal = self.kind is RunKind.REHEARSAL
            outcome = apply_group(
                offsets,
                planned,
                None if is_rehearsal else before,
                _storing(row, planned),
                rehearse=is_rehearsal,
            )
        self._save(row, outcome)

    def _save(self, row: FailoverPlanGroup, outcome: GroupOutcome) -> None:
        with transaction.atomic():
            FailoverRunGroup.objects.get_or_create(
                run=self.run,
                group=outcome.group,
                defaults={
                    "state": outcome.state.value,
                    "message": outcome.message,
                    "document": outcome.to_mapping(),
                    "at": timezone.now(),
                },
            )
            done = self.run.run_groups
            FailoverRun.objects.filter(pk=self.run.pk).update(
                done_count=done.count(),
                bad_count=done.filter(state__in=[one.value for one in _BAD]).count(),
            )
            if self.kind is not RunKind.REHEARSAL:
                state = _group_state(row, outcome)
                FailoverPlanGroup.objects.filter(pk=row.pk).update(
                    state=state, message=outcome.message
                )
        renew(self.run, timezone.now())

    def _report(
        self,
        state: FailoverState,
        problem: str,
        found: Iterable[FailoverRunGroup],
        ended_at: datetime,
    ) -> str:
        run, person = self.run, self.run.requested_by
        facts = RunFacts(
            str(run.pk),
            self.kind,
            state.value,
            self.row.name,
            person.get_username() if person else "",
            run.started_at or run.created_at,
            ended_at,
            problem,
            run.left_out,
        )
        groups = [_outcome_of(one) for one in found]
        report = build_report(facts, self.row.plan([*run.groups]), groups)
        try:
            return json.dumps(report_key().sign(report), indent=1)
        except (OSError, ValueError):
            # What was done is in the rows; a key that cannot be read must not keep the run from ending.
            logger.exception("report could not be signed run_id=%s", run.pk)
            return ""

    def _audit(self, state: FailoverState, problem: str, found: Iterable[FailoverRunGroup]) -> None:
        row = self.row
        told = {
            "plan": row.name,
            "run": str(self.run.pk),
            "kind": self.kind.value,
            "state": state.value,
            "problem": problem,
            "groups": {one.group: one.state for one in [*found][:100]},
        }
        is_well = state == FailoverState.SUCCEEDED
        audit(
            "failover.ended",
            f"flow:{row.flow.name}",
            cluster=f"{row.origin.alias}, {row.destination.alias}",
            after=told,
            outcome=Outcome.DONE if is_well else Outcome.FAILED,
            by=for_trail(self.run.requested_by, self.run.asked_with),
        )


def _refuse_ended(asked: FailoverPlan | FailoverRun, plan: FailoverPlan) -> None:
    person = asked.created_by if isinstance(asked, FailoverPlan) else asked.requested_by
    refuse_ended(person, asked.asked_with, "view", [plan.origin.pk])
    refuse_ended(person, asked.asked_with, "operate", [plan.destination.pk])


def _asking(row: FailoverPlan, door: FailoverDoor) -> EvidenceRequest:
    request = FailoverRequest(
        Direction(row.direction),
        tuple(row.groups),
        tuple(row.topics),
        Untranslated(row.untranslated),
    )
    routes = [door.route(row.flow)]
    for other in _reverse_flows(row.flow):
        # A reverse flow only adds translations: without its offset syncs the plan does without them.
        with suppress(ClusterFault, InvalidFields):
            routes.append(door.route(other))
    last: Callable[[], Known] | None = None
    if row.direction == Direction.FAILOVER:

        def last() -> Known:
            return last_seen(row.flow, row.flow.source.alias, request.groups)

    return EvidenceRequest(request, tuple(routes), last, clock=lambda: timezone.now().timestamp())


def _reverse_flows(flow: ReplicationFlow) -> Iterable[ReplicationFlow]:
    rows = ReplicationFlow.objects.select_related("source", "target")
    return rows.filter(source=flow.target_id, target=flow.source_id)


def _save_plan(row: FailoverPlan, plan: Plan) -> None:
    """Write a plan in place of what was there; nothing of it is applied, or it would not be read again."""
    groups = [_group_row(row, group) for group in plan.groups]
    known = [one.reread_most for one in groups]
    with transaction.atomic():
        is_ours = release(
            row,
            state=PlanState.READY,
            error="",
            read_at=datetime.fromtimestamp(plan.read_at_ms / 1000, UTC),
            document=plan.to_mapping(with_groups=False),
            verdict=plan.verdict.value,
            group_count=len(groups),
            blocked_count=sum(one.verdict == "failed" for one in groups),
            item_count=sum(one.item_count for one in groups),
            exact_count=sum(one.exact_count for one in groups),
            at_risk=_at_risk(plan),
            reread_most=None if None in known else sum(one or 0 for one in known),
        )
        if is_ours:
            row.plan_groups.all().delete()
            FailoverPlanGroup.objects.bulk_create(groups, batch_size=500)


def _at_risk(plan: Plan) -> int | None:
    """Return how many records the destination lacks, each partition once however many groups read it."""
    found = {i.origin: i.at_risk for g in plan.groups for i in g.items if i.how}
    return None if None in found.values() else sum(one or 0 for one in found.values())


def _group_row(row: FailoverPlan, group: GroupPlan) -> FailoverPlanGroup:
    at_risk = [one.at_risk for one in group.items if one.how]
    return FailoverPlanGroup(
        plan=row,
        group=group.group,
        type=group.type[:20],
        verdict=group.verdict.value,
        item_count=sum(not one.internal for one in group.items),
        exact_count=sum(one.exact for one in group.items),
        reread_most=group.reread_most,
        at_risk=None if None in at_risk else sum(one or 0 for one in at_risk),
        document=group.to_mapping(),
    )


def _storing(row: FailoverPlanGroup, planned: GroupPlan) -> Callable[[Any], None]:
    """Return what stores the offsets before a group is set; of two tries the first one's stay."""

    def store(before: Any) -> None:
        written = {one.destination: one.target for one in planned.to_be_set if one.destination}
        rows = [[where.topic, where.partition, to, ""] for where, to in sorted(written.items())]
        with transaction.atomic():
            FailoverPlanGroup.objects.filter(pk=row.pk, before__isnull=True).update(
                before=listed(before), written=rows
            )
            FailoverPlan.objects.filter(pk=row.plan_id, applied_at=None).update(
                applied_at=timezone.now()
            )

    return store


def _group_state(row: FailoverPlanGroup, outcome: GroupOutcome) -> str:
    """Return the state of a group in its plan; a refused undo leaves it as applied as it was."""
    if outcome.state is OutcomeState.REFUSED and row.before is not None:
        return row.state
    return GroupState(outcome.state.value)


def _settle(row: FailoverPlan) -> None:
    """Clear `applied_at` of a plan when all of it is rolled back."""
    undone = row.plan_groups.filter(state=GroupState.UNDONE)
    undone.update(before=None, written=None)
    if not row.plan_groups.exclude(before__isnull=True).exists():
        FailoverPlan.objects.filter(pk=row.pk).update(applied_at=None)


def _state_of(states: list[str]) -> FailoverState:
    bad = sum(one in {state.value for state in _BAD} for one in states)
    if not bad:
        return FailoverState.SUCCEEDED
    refused = all(one == OutcomeState.REFUSED.value for one in states)
    if refused:
        return FailoverState.REFUSED
    return FailoverState.PARTIAL if bad < len(states) else FailoverState.FAILED


def _outcome_of(row: FailoverRunGroup) -> GroupOutcome:
    return GroupOutcome(row.group, OutcomeState(row.state), row.message, items_of(row.document))
