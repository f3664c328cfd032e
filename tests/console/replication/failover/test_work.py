import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.replication.failover import actions, work
from console.replication.failover.models import FailoverPlan, FailoverRun
from console.replication.failover.queries import report_key
from jobs.cluster.descriptions import CommittedOffset
from jobs.cluster.errors import InvalidFields, Unreachable
from jobs.replication.failover.reports.signing import verify
from tests.console.making import make_flow, make_user
from tests.console.replication.failover_world import (
    NAME,
    OTHER,
    PaperClusters,
    carry_out,
    fresh,
    make_plan,
    one_can_move,
    two_groups,
)
from tests.jobs.replication.failover.making import (
    GROUP,
    REMOTE,
    PaperDoor,
    empty,
    failover_evidence,
)

pytestmark = pytest.mark.django_db


class DoorOfTwo(PaperDoor):
    """A destination that keeps offsets by group."""

    def __init__(self, **fields) -> None:
        super().__init__(**fields)
        self.kept: dict[str, dict] = {}

    def committed(self, group):
        return dict(self.kept.get(group, {}))

    def alter(self, group, offsets):
        self.calls.append(f"alter {group}")
        if self.fault is not None and group == OTHER:
            raise self.fault
        self.kept.setdefault(group, {}).update(offsets)
        return dict.fromkeys(offsets)


def apply(plan, clusters, user=None, **more):
    run = actions.apply_plan(plan, plan.name, user, timezone.now(), **more)
    carry_out(run, clusters)
    return run


def test_a_plan_is_read_and_counted():
    plan = make_plan()
    assert (plan.state, plan.group_count, plan.item_count, plan.blocked_count) == ("ready", 1, 1, 0)
    assert (plan.reread_most, plan.exact_count, plan.verdict) == (99, 0, "passed")
    assert plan.plan().group(GROUP).items[0].target == 41


def test_a_cluster_that_does_not_answer_fails_the_plan_with_the_reason():
    plan = make_plan(clusters=PaperClusters(Unreachable("no broker answered", cluster="west")))
    assert (plan.state, plan.group_count) == ("failed", 0)
    assert "west: no broker answered" in plan.error


def test_a_plan_is_read_by_one_at_a_time():
    plan = make_plan()
    assert not work.read_plan(plan.pk, timezone.now(), PaperClusters())


def test_a_reader_that_is_gone_is_followed_by_another():
    plan = make_plan()
    later = timezone.now() + timedelta(hours=1)
    FailoverPlan.objects.update(state="reading", claimed_until=timezone.now())
    assert work.due_plans(later) == [plan.pk]
    assert work.read_plan(plan.pk, later, PaperClusters())


def test_applying_sets_verifies_and_signs():
    person, clusters = make_user(), PaperClusters()
    plan = make_plan(clusters=clusters, user=person)
    run = apply(plan, clusters, person)
    assert (run.state, run.done_count, run.bad_count) == ("succeeded", 1, 0)
    assert clusters.groups.plain() == {REMOTE: 41}
    document = json.loads(run.report)
    assert verify(document, report_key().public_pem) == report_key().key_id
    report = document["report"]
    assert (report["asked_by"], report["kind"]) == (person.username, "apply")
    assert report["groups"][0]["outcome"]["items"][0]["after"] == 41
    assert plan.plan_groups.get().before == [["east.orders", 0, None, ""]]


def test_who_asked_and_how_it_ended_is_in_the_trail():
    person, clusters = make_user(), PaperClusters()
    apply(make_plan(clusters=clusters, user=person), clusters, person)
    entries = {e.action: e for e in AuditEntry.objects.all()}
    assert entries.keys() == {"failover.plan", "failover.apply", "failover.ended"}
    assert entries["failover.ended"].actor == person
    assert entries["failover.ended"].after["groups"] == {GROUP: "applied"}


def test_a_run_delivered_twice_does_nothing_more():
    clusters = PaperClusters()
    run = apply(make_plan(clusters=clusters), clusters)
    calls = list(clusters.groups.calls)
    assert not work.carry_out(run.pk, timezone.now(), clusters)
    assert (clusters.groups.calls, AuditEntry.objects.filter(action="failover.ended").count()) == (
        calls, 1,
    )  # fmt: skip


def test_a_rehearsal_changes_nothing_and_is_signed():
    clusters = PaperClusters()
    plan = make_plan(clusters=clusters)
    run = actions.rehearse_plan(plan, None, timezone.now())
    carry_out(run, clusters)
    assert (run.state, clusters.groups.calls) == ("succeeded", [])
    assert plan.plan_groups.get().before is None
    assert json.loads(run.report)["report"]["kind"] == "rehearsal"


def test_undoing_brings_back_what_was_before():
    clusters = PaperClusters(lambda: failover_evidence(before=7), groups=PaperDoor({REMOTE: 7}))
    plan = make_plan(clusters=clusters)
    apply(plan, clusters)
    assert clusters.groups.plain() == {REMOTE: 41}
    plan.refresh_from_db()
    run = actions.undo_plan(plan, NAME, None, timezone.now())
    carry_out(run, clusters)
    assert (run.state, clusters.groups.plain()) == ("succeeded", {REMOTE: 7})
    assert (run.plan.applied_at, plan.plan_groups.get().state) == (None, "undone")


def test_undoing_a_group_that_moved_on_has_to_be_confirmed():
    clusters = PaperClusters()
    plan = make_plan(clusters=clusters)
    apply(plan, clusters)
    clusters.groups.offsets[REMOTE] = CommittedOffset(60)
    refused = actions.undo_plan(plan, NAME, None, timezone.now())
    carry_out(refused, clusters)
    assert (refused.state, clusters.groups.plain()) == ("refused", {REMOTE: 60})
    assert plan.plan_groups.get().state == "applied"
    done = actions.undo_plan(plan, NAME, None, timezone.now(), even_if_moved=True)
    carry_out(done, clusters)
    assert (done.state, clusters.groups.plain()) == ("succeeded", {})


def test_evidence_that_changed_refuses_the_whole_run():
    clusters = PaperClusters()
    plan = make_plan(clusters=clusters)
    clusters.answer = lambda: failover_evidence(committed=160)
    run = apply(plan, clusters)
    assert (run.state, clusters.groups.calls) == ("refused", [])
    assert "has moved on orders-0 from 150 to 160" in run.error


def test_an_old_plan_is_refused_before_and_while_it_is_applied(settings):
    clusters = PaperClusters()
    plan = make_plan(clusters=clusters)
    settings.FAILOVER_EVIDENCE_S = 60
    later = timezone.now() + timedelta(seconds=61)
    with pytest.raises(ActionRefused, match="Refresh the plan"):
        actions.apply_plan(plan, NAME, None, later)
    run = actions.apply_plan(plan, NAME, None, timezone.now())
    document = {**plan.document, "read_at_ms": plan.document["read_at_ms"] - 61_000}
    FailoverPlan.objects.update(document=document)
    carry_out(run, clusters)
    assert (run.state, clusters.groups.calls) == ("refused", [])


def test_a_group_that_fails_is_done_again_by_the_next_run_and_the_others_are_not():
    door = DoorOfTwo(fault=Unreachable("no broker answered", cluster="west"))
    clusters = PaperClusters(two_groups, groups=door)
    plan = make_plan(clusters=clusters)
    run = apply(plan, clusters)
    assert (run.state, run.done_count, run.bad_count) == ("partial", 2, 1)
    door.fault = None
    again = apply(plan, clusters)
    assert (again.state, again.groups) == ("succeeded", [OTHER])
    assert door.calls == [f"alter {GROUP}", f"alter {OTHER}", f"alter {OTHER}"]


def test_a_run_goes_on_where_a_worker_was_lost():
    door = DoorOfTwo()
    clusters = PaperClusters(two_groups, groups=door)
    plan = make_plan(clusters=clusters)
    run = actions.apply_plan(plan, NAME, None, timezone.now())
    work._Work(run, clusters).proceed(0.0)
    run.refresh_from_db()
    assert run.confirmed_at is not None
    carry_out(run, clusters)
    assert (run.state, door.calls) == ("succeeded", [f"alter {GROUP}", f"alter {OTHER}"])


def test_a_blocked_group_is_left_out_and_naming_it_is_refused():
    def one_is_active():
        found = two_groups()
        west = replace(found.destination, groups={OTHER: empty(OTHER, member_count=1)})
        return replace(found, destination=west)

    clusters = PaperClusters(one_is_active, groups=DoorOfTwo())
    plan = make_plan(clusters=clusters)
    with pytest.raises(InvalidFields, match=OTHER):
        actions.apply_plan(plan, NAME, None, timezone.now(), groups=[OTHER])
    assert apply(plan, clusters).groups == [GROUP]


def test_a_plan_whose_groups_are_all_blocked_is_refused():
    clusters = PaperClusters(
        lambda: failover_evidence(here={"groups": {GROUP: empty(member_count=1)}})
    )
    plan = make_plan(clusters=clusters)
    with pytest.raises(ActionRefused, match="of every group of this plan failed"):
        actions.apply_plan(plan, NAME, None, timezone.now())


@pytest.mark.parametrize("typed", ["", "yes", "Night of the flood"])
def test_the_plans_name_has_to_be_typed(typed):
    plan = make_plan()
    with pytest.raises(InvalidFields, match=NAME):
        actions.apply_plan(plan, typed, None, timezone.now())


def test_one_run_of_a_plan_at_a_time():
    plan = make_plan()
    actions.rehearse_plan(plan, None, timezone.now())
    for again in (
        lambda: actions.rehearse_plan(plan, None, timezone.now()),
        lambda: actions.apply_plan(plan, NAME, None, timezone.now()),
        lambda: actions.refresh_plan(plan, None),
    ):
        with pytest.raises(ActionRefused, match="in progress"):
            again()


def test_an_applied_plan_is_not_read_again_until_it_is_undone():
    clusters = PaperClusters()
    plan = make_plan(clusters=clusters)
    apply(plan, clusters)
    plan.refresh_from_db()
    with pytest.raises(ActionRefused, match="roll it back first"):
        actions.refresh_plan(plan, None)


def test_nothing_is_undone_of_a_plan_that_was_never_applied():
    with pytest.raises(ActionRefused, match="No group of this plan is applied"):
        actions.undo_plan(make_plan(), NAME, None, timezone.now())


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        pytest.param({"groups": []}, {"groups"}, id="no group"),
        pytest.param({"groups": ["("]}, {"groups"}, id="no pattern"),
        pytest.param({"groups": ["a"], "direction": "up"}, {"direction"}, id="no direction"),
        pytest.param({"groups": ["a"], "name": "x" * 101}, {"name"}, id="too long a name"),
        pytest.param({"groups": ["a"], "topics": [""]}, {"topics"}, id="no topic"),
    ],
)
def test_a_wish_that_makes_no_sense_writes_nothing(values, fields):
    with pytest.raises(InvalidFields) as wrong:
        actions.create_plan(make_flow(), values, None, timezone.now())
    assert (wrong.value.errors.keys(), FailoverPlan.objects.count()) == (fields, 0)


def test_a_second_plan_of_the_same_name_is_refused():
    plan = make_plan()
    with pytest.raises(InvalidFields, match="already"):
        actions.create_plan(plan.flow, {"name": NAME, "groups": ["a"]}, None, timezone.now())


def test_what_is_due_is_found_until_it_has_ended():
    clusters = PaperClusters()
    plan = make_plan(clusters=clusters)
    run = actions.rehearse_plan(plan, None, timezone.now())
    assert work.due_runs(timezone.now()) == [run.pk]
    carry_out(run, clusters)
    assert work.due_runs(timezone.now()) == []


def test_a_run_that_breaks_ends_and_says_so():
    plan = make_plan()
    run = actions.rehearse_plan(plan, None, timezone.now())
    carry_out(run, PaperClusters(lambda: 1 / 0))
    assert (run.state, FailoverRun.objects.get().claimed_until) == ("failed", None)
    assert "a fault of the program" in run.error


def test_a_worker_that_lost_its_run_writes_no_end():
    def lose():
        FailoverRun.objects.update(claimed_until=timezone.now() + timedelta(hours=1))
        raise Unreachable("no broker answered", cluster="west")

    clusters = PaperClusters()
    run = actions.rehearse_plan(make_plan(clusters=clusters), None, timezone.now())
    clusters.answer = lose
    carry_out(run, clusters)
    assert (run.state, run.error, run.finished_at) == ("running", "", None)


def test_the_world_of_these_tests_reads_evidence_now():
    age_ms = timezone.now().timestamp() * 1000 - fresh(failover_evidence()).read_at_ms
    assert abs(age_ms) < 5000


def test_a_rehearsal_is_of_the_groups_that_can_move_and_says_why_others_are_left_out():
    clusters = PaperClusters(one_can_move)
    plan = make_plan(clusters=clusters)
    run = actions.rehearse_plan(plan, None, timezone.now())
    carry_out(run, clusters)
    assert (plan.group_count - plan.blocked_count, run.state, run.done_count) == (1, "succeeded", 1)
    assert run.groups == [GROUP]
    assert run.left_out == {
        OTHER: "Consumers of reports are still active on east and commit offsets."
    }
    assert json.loads(run.report)["report"]["left_out"] == run.left_out


def test_a_plan_of_which_no_group_can_move_is_not_rehearsed():
    clusters = PaperClusters(
        lambda: failover_evidence(here={"groups": {GROUP: empty(member_count=1)}})
    )
    with pytest.raises(ActionRefused, match="of every group of this plan failed"):
        actions.rehearse_plan(make_plan(clusters=clusters), None, timezone.now())
