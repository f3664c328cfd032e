import re
from datetime import timedelta

import pytest
from django.utils import timezone

from console.clusters.models import Group
from console.replication.failover import actions
from console.replication.failover.models import FailoverPlan, FailoverRun
from tests.console.making import NOW, count_queries, make_flow
from tests.console.replication.failover_world import (
    NAME,
    PaperClusters,
    carry_out,
    make_plan,
    one_can_move,
)
from tests.console.safety.world import make_person
from tests.jobs.replication.failover.making import (
    GROUP,
    REMOTE,
    empty,
    failback_evidence,
    failover_evidence,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def clusters():
    return PaperClusters()


@pytest.fixture
def plan(clusters):
    return make_plan(clusters=clusters)


@pytest.fixture
def visit(sign_in, operator):
    client = sign_in(operator)

    def visit(path, **data):
        answer = client.post(path, data) if data else client.get(path)
        return answer, re.sub(r"\s+", " ", answer.content.decode())

    return visit


def base(plan):
    return f"/replication/{plan.flow_id}/failover/{plan.pk}/"


def test_a_plan_is_made_in_a_form_and_waits_for_its_evidence(visit):
    flow = make_flow(groups=[".*"])
    Group.objects.create(cluster=flow.source, group_id="billing", state="Empty", changed_at=NOW)
    assert "billing (Empty)" in visit(f"/replication/{flow.pk}/failover/new/")[1]
    answer, _ = visit(
        f"/replication/{flow.pk}/failover/new/",
        name="", chosen=["billing"], groups="pay.*", topics=".*", untranslated="refuse",
    )  # fmt: skip
    made = FailoverPlan.objects.get()
    assert (answer.status_code, made.groups, made.state) == (302, ["billing", "pay.*"], "queued")
    assert "Both clusters are being queried" in visit(base(made))[1]


def test_without_a_plan_the_page_says_what_one_is_for(visit):
    assert "No failover plan yet" in visit(f"/replication/{make_flow().pk}/failover/")[1]


def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(visit):
    flow = make_flow()
    _, text = visit(
        f"/replication/{flow.pk}/failback/new/", name="drill", groups="(", topics=".*",
        untranslated="earliest",
    )  # fmt: skip
    assert "not a regular expression" in text
    assert 'value="drill"' in text
    assert not FailoverPlan.objects.exists()


def test_the_page_has_answer_checks_groups_commands_and_steps(visit, plan):
    _, text = visit(base(plan))
    for words in ("1 of 1", "Pre-checks", GROUP, "apply.csv", "Apply…"):
        assert words in text
    assert "All records of east were replicated" in text


@pytest.mark.parametrize("state", ["queued", "ready", "failed"])
def test_the_part_that_refreshes_has_its_place_in_every_answer(client, operator, plan, state):
    FailoverPlan.objects.update(state=state)
    client.force_login(operator)
    part = client.get(base(plan), headers={"HX-Request": "true"}).content.decode()
    assert part.count('<div id="live"') == 1


def test_the_way_back_counts_what_only_the_target_has_on_the_plan_and_on_the_group(visit):
    paper = PaperClusters(lambda: failback_evidence(committed=150, here_end=160))
    plan = make_plan(clusters=paper, direction="failback")
    group = plan.plan_groups.get()
    assert (plan.at_risk, group.at_risk) == (19, 19)
    assert "records that only west has" in visit(base(plan))[1]
    _, text = visit(f"{base(plan)}groups/{group.pk}/")
    assert "At most 19 records exist only on west" in text


def test_a_group_shows_before_after_and_proof(visit, plan):
    _, text = visit(f"{base(plan)}groups/{plan.plan_groups.get().pk}/")
    assert "<code>east.orders-0</code>" in text
    assert "41 … 140" in text
    assert "offset syncs 100 → 40, 200 → 140" in text
    assert "no commit" in text


def test_applying_needs_the_name_and_leads_to_the_run(visit, plan, clusters):
    _, text = visit(f"{base(plan)}apply/", **{"apply-confirm": "yes"})
    assert f"Type the plan&#x27;s name to confirm: {NAME}" in text
    answer, _ = visit(f"{base(plan)}apply/", **{"apply-confirm": NAME})
    run = FailoverRun.objects.get()
    assert answer["Location"] == f"{base(plan)}runs/{run.pk}/"
    assert "0 of 1" in visit(answer["Location"])[1]
    carry_out(run, clusters)
    _, text = visit(answer["Location"])
    assert "1 offset set and read back." in text
    assert "Ed25519" in text


def test_undo_is_offered_when_something_is_applied(visit, plan, clusters):
    assert "Roll back…" not in visit(base(plan))[1]
    carry_out(actions.apply_plan(plan, NAME, None, timezone.now()), clusters)
    assert "Roll back…" in visit(base(plan))[1]
    answer, _ = visit(f"{base(plan)}undo/", **{"undo-confirm": NAME})
    carry_out(FailoverRun.objects.get(kind="undo"), clusters)
    assert answer.status_code == 302
    assert clusters.groups.plain() == {}


@pytest.fixture
def expired(plan):
    FailoverPlan.objects.update(read_at=timezone.now() - timedelta(minutes=6))
    return plan


def test_a_plan_expires_on_its_page_and_its_buttons_go_off(client, operator, visit, plan):
    assert "disabled>Dry run" not in visit(base(plan))[1]
    assert "data-refresh" in visit(base(plan))[1]
    FailoverPlan.objects.update(read_at=timezone.now() - timedelta(minutes=6))
    client.force_login(operator)
    part = client.get(base(plan), headers={"HX-Request": "true"}).content.decode()
    heading = part.partition("</h1>")[0]
    assert "Expired" in heading
    assert "Ready" not in heading
    assert "disabled>Dry run" in part
    assert "disabled>Apply…" in part


def test_plans_are_found_by_the_state_that_is_shown(visit, expired):
    make_plan(expired.flow, name="of today")
    path = f"/replication/{expired.flow_id}/failover/?state="
    assert (NAME in visit(f"{path}expired")[1], "of today" in visit(f"{path}expired")[1]) == (
        True,
        False,
    )
    assert (NAME in visit(f"{path}ready")[1], "of today" in visit(f"{path}ready")[1]) == (
        False,
        True,
    )


def test_an_applied_plan_does_not_expire(visit, expired):
    FailoverPlan.objects.update(applied_at=timezone.now())
    assert "Expired" not in visit(base(expired))[1]


def test_an_expired_plan_is_neither_rehearsed_nor_applied(visit, expired):
    plan = expired
    assert "Refresh the plan." in visit(f"{base(plan)}apply/", **{"apply-confirm": NAME})[1]
    visit(f"{base(plan)}rehearse/", go="1")
    assert not FailoverRun.objects.exists()
    visit(f"{base(plan)}refresh/", go="1")
    plan.refresh_from_db()
    assert plan.state == "queued"


def test_what_blocks_is_said_with_what_to_do(visit):
    blocked = make_plan(
        clusters=PaperClusters(lambda: failover_evidence(west={"groups": {GROUP: empty(member_count=2)}}))
    )  # fmt: skip
    _, text = visit(base(blocked))
    assert "0 of 1" in text
    _, text = visit(f"{base(blocked)}groups/{blocked.plan_groups.get().pk}/")
    assert "billing is active on west" in text
    assert "Stop its consumers on west." in text


@pytest.mark.parametrize(
    ("form", "kind", "begins"),
    [
        pytest.param("html", "text/html; charset=utf-8", b"<!doctype html>", id="html"),
        pytest.param("pdf", "application/pdf", b"%PDF-1.7", id="pdf"),
        pytest.param("json", "application/json", b"{", id="json"),
    ],
)
def test_the_report_comes_in_three_forms(visit, plan, clusters, form, kind, begins):
    run = actions.rehearse_plan(plan, None, timezone.now())
    path = f"{base(plan)}runs/{run.pk}/report.{form}"
    assert visit(path)[0].status_code == 404
    carry_out(run, clusters)
    answer = visit_bytes(visit, path)
    assert (answer["Content-Type"], answer.content[: len(begins)]) == (kind, begins)
    if form == "html":
        assert "default-src 'none'" in answer["Content-Security-Policy"]


def visit_bytes(visit, path):
    """PDF is no UTF-8."""
    client = visit.__closure__[0].cell_contents
    return client.get(path)


def test_the_files_for_kafkas_own_tool(visit, plan):
    assert visit(f"{base(plan)}commands/apply.csv")[1] == f'"{GROUP}",{REMOTE.topic},0,41 '
    assert visit(f"{base(plan)}commands/nothing.csv")[0].status_code == 404


def test_who_may_only_look_sees_no_buttons(client, plan):
    client.force_login(make_person("vera", "viewer"))
    text = client.get(base(plan)).content.decode()
    assert "Apply…" not in text
    assert "need the role operator on west" in text
    assert (
        "Plan failover…"
        not in client.get(f"/replication/{plan.flow_id}/failover/").content.decode()
    )


@pytest.mark.parametrize(
    ("direction", "role_on_east", "role_on_west", "may"),
    [
        pytest.param("failover", "viewer", "operator", True, id="operator of the target"),
        pytest.param("failover", "operator", "viewer", False, id="only of the source"),
        pytest.param("failback", "operator", "viewer", True, id="back: operator of the source"),
        pytest.param("failback", "viewer", "operator", False, id="back: only of the target"),
    ],
)
def test_the_right_counts_where_groups_are_set(client, direction, role_on_east, role_on_west, may):
    flow = make_flow()
    client.force_login(make_person("otto", east=role_on_east, west=role_on_west))
    page = client.get(f"/replication/{flow.pk}/{direction}/new/")
    body = {"groups": ["a"], "direction": direction}
    made = client.post(f"/api/v1/flows/{flow.pk}/failover-plans/", body, "application/json")
    assert (page.status_code, made.status_code) == ((200, 201) if may else (403, 403))


def test_a_list_asks_as_many_questions_for_many_plans(client, admin, clusters):
    client.force_login(admin)
    first = make_plan(clusters=clusters)
    path = f"/replication/{first.flow_id}/failover/"
    few = count_queries(client, path)
    for number in range(5):
        make_plan(first.flow, clusters, name=f"plan {number}")
    assert count_queries(client, path) == few


def test_how_many_groups_are_rehearsed_and_which_are_left_out_is_on_the_pages(visit):
    plan = make_plan(clusters=PaperClusters(one_can_move))
    assert "queries the groups that are not blocked (1 of 2)" in visit(base(plan))[1]
    run = actions.rehearse_plan(plan, None, timezone.now())
    text = visit(f"{base(plan)}runs/{run.pk}/")[1]
    assert "Blocked" in text
    assert "Consumers of reports are still active on east" in text


def test_a_plan_of_which_no_group_can_move_offers_no_rehearsal_and_says_why(visit):
    blocked = PaperClusters(
        lambda: failover_evidence(here={"groups": {GROUP: empty(member_count=2)}})
    )
    _, text = visit(base(make_plan(clusters=blocked)))
    assert "Pre-checks of every group of this plan failed." in text
    assert '<button class="btn" type="submit" disabled>Dry run</button>' in text
    assert '<dd class="fact--critical">0 of 1' in text


def test_a_plan_whose_own_check_failed_is_blocked_in_the_list(visit, plan):
    FailoverPlan.objects.update(verdict="failed", blocked_count=0)
    assert "Blocked" in visit(f"/replication/{plan.flow_id}/failover/")[1]


def test_checks_of_a_plan_that_0_5_stored_have_the_new_words(client, visit, plan):
    told = plan.document["checks"]
    for check, word in zip(told, ("ok", "warn", "block"), strict=False):
        check["state"] = word
    plan.save()
    _, text = visit(base(plan))
    states = [
        one["state"]
        for one in client.get(f"/api/v1/flows/{plan.flow_id}/failover-plans/{plan.pk}/").json()[
            "checks"
        ]
    ]
    assert states[:3] == ["passed", "warning", "failed"]
    assert "Failed" in text
