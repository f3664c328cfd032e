"""Pages and routes of redrives: rights, confirmation, what they show."""

import html
import re
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import ClusterGrant
from console.runs.analyses.spec import tables_of
from console.runs.models import Run
from console.runs.queries import why_stopped
from console.tracing.replays.models import Redrive
from tests.console.making import make_cluster, make_run, make_user
from tests.console.runs.analyses.making import put
from tests.console.tracing.replays.making import FACTS, make_plan, make_redrive

pytestmark = pytest.mark.django_db
API = "/api/v1/redrives/"


@pytest.fixture(autouse=True)
def folders(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR, settings.CROSSLOG_ARCHIVE = tmp_path / "runs", tmp_path / "archive"


@pytest.fixture
def east():
    return make_cluster("east")


def address(name, redrive):
    return reverse(f"tracing:{name}", args=[redrive.cluster.alias, redrive.pk])


def shown(answer):
    text = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return html.unescape(re.sub(r"\s+", " ", text))


def make_by_page(client, east):
    run = make_plan(east)
    answer = client.post(reverse("tracing:new-redrive", args=["east", run.pk]), {"name": "friday"})
    redrive = Redrive.objects.get()
    assert answer["Location"] == address("redrive", redrive)
    return redrive


def test_the_result_of_a_replay_plan_leads_to_a_new_redrive(sign_in, operator, east):
    run = make_plan(east)
    client = sign_in(operator)
    path = reverse("tracing:new-redrive", args=["east", run.pk])
    assert path in client.get(reverse("runs:detail", args=[run.pk])).content.decode()
    page = client.get(path)
    assert f'value="{"orders.DLT 2"}' in page.content.decode()
    assert FACTS["duplicates"] in shown(page)


def test_a_viewer_sees_a_redrive_without_its_form(sign_in, viewer, east):
    page = shown(sign_in(viewer).get(address("redrive", make_redrive(east))))
    assert "Applying a redrive needs the role operator on east." in page
    for told in (FACTS["order"], "IllegalStateException", "From remote 1", "first 3 of 3"):
        assert told in page


def test_a_redrive_is_made_applied_and_stopped_by_pages(sign_in, operator, east):
    client = sign_in(operator)
    redrive = make_by_page(client, east)
    given = {"confirm": "friday", "records_per_s": 50}
    assert client.post(address("apply-redrive", redrive), given).status_code == 302
    page = client.get(address("redrive", redrive))
    assert "Queued: place 1." in shown(page)
    assert address("apply-redrive", redrive) not in page.content.decode()
    page = client.post(address("stop-redrive", redrive), follow=True)
    assert "Stop requested. The redrive can be resumed." in shown(page)
    assert "Resume" in shown(page)


def test_a_wrong_confirmation_is_refused_at_its_field_and_nothing_is_lost(sign_in, operator, east):
    client = sign_in(operator)
    redrive = make_by_page(client, east)
    page = client.post(
        address("apply-redrive", redrive), {"confirm": "monday", "records_per_s": 77}
    )
    assert page.context["form"].errors == {
        "confirm": ["Type the redrive's name to confirm: friday"]
    }
    assert 'value="77"' in page.content.decode()
    assert 'value="monday"' in page.content.decode()
    assert not Run.objects.filter(kind="redrive").exists()


def test_the_page_shows_the_result_of_the_last_run(sign_in, operator, east):
    redrive = make_redrive(east)
    columns = [{"name": "reason", "title": "Reason", "type": "text"}]
    problems = {
        "name": "problems", "title": "Problems", "rows": 1, "columns": columns,
        "preview": [{"reason": "The record is gone."}],
    }  # fmt: skip
    redrive.run = make_run(
        kind="redrive", subject=f"cluster:{east.pk}", question_key="1", state="SUCCEEDED", folder="/runs/1",
        arguments={"cluster": "east", "plan_id": str(redrive.pk)}, finished_at=timezone.now(),
        summary={"facts": {"sent": 41}, "notes": [], "seconds": 1.0, "tables": [problems]},
    )  # fmt: skip
    put(tables_of(redrive.run), "problems", problems["preview"])
    redrive.save()
    client = sign_in(operator)
    page = shown(client.get(address("redrive", redrive)))
    assert "Sent 41" in page
    assert "The record is gone." in page
    assert client.get(f"{API}{redrive.pk}/").json()["result"] == {"sent": 41}
    run_page = client.get(reverse("runs:detail", args=[redrive.run.pk])).content.decode()
    assert address("redrive", redrive) in run_page


def test_content_of_records_in_a_plan_is_shown_to_admins_only(sign_in, operator, admin, east):
    redrive = make_redrive(east)
    redrive.plan["needs_admin"] = True
    redrive.save()
    assert "IllegalStateException" not in shown(sign_in(operator).get(address("redrive", redrive)))
    assert "IllegalStateException" in shown(sign_in(admin).get(address("redrive", redrive)))


def test_the_list_shows_the_redrives_of_its_cluster(sign_in, viewer, east):
    make_redrive(east)
    make_redrive(make_cluster("west"), name="of west")
    page = shown(sign_in(viewer).get(reverse("tracing:redrives", args=["east"])))
    assert "orders.DLT 2026-11-21 Not applied 1 1" in page
    assert "of west" not in page


def test_a_redrive_of_another_cluster_is_not_found(sign_in, viewer, east):
    make_cluster("west")
    path = reverse("tracing:redrive", args=["west", make_redrive(east).pk])
    assert sign_in(viewer).get(path).status_code == 404


def test_redrives_over_rest(sign_in, operator, east):
    client = sign_in(operator)
    plan = make_plan(east)
    body = {"plan_run": str(plan.pk), "name": "friday"}
    made = client.post(API, body, content_type="application/json")
    assert made.status_code == 201
    place = f"{API}{made.json()['id']}/"
    wrong = client.post(f"{place}apply/", {"confirm": "x"}, content_type="application/json")
    assert wrong.status_code == 400
    assert set(wrong.json()["fields"]) == {"confirm"}
    given = {"confirm": "friday", "records_per_s": 9}
    applied = client.post(f"{place}apply/", given, content_type="application/json")
    assert (applied.status_code, applied.json()["state"]) == (200, "QUEUED")
    again = client.post(f"{place}apply/", given, content_type="application/json")
    assert (again.status_code, again.json()["code"]) == (409, "redrive_is_running")
    assert client.post(f"{place}stop/").json()["state"] == "STOPPED"
    found = client.get(f"{API}?cluster=east").json()["results"]
    assert [(one["name"], one["plan"]["send"], one["applied_by"]) for one in found] == [
        ("friday", 1, "otto")
    ]
    assert client.get(f"{API}?cluster=west").json()["results"] == []


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_a_redrive_needs_the_role_operator_on_the_cluster_of_its_plan(role, sign_in, east):
    person = make_user("none", "nora")
    ClusterGrant.objects.create(user=person, cluster=make_cluster("west"), role="operator")
    ClusterGrant.objects.create(user=person, cluster=east, role=role)
    plan = make_plan(east)
    body = {"plan_run": str(plan.pk)}
    answer = sign_in(person).post(API, body, content_type="application/json")
    assert answer.status_code == {"viewer": 403, "operator": 201}[role]


def test_a_plan_of_a_cluster_that_may_not_be_seen_is_not_found(sign_in, east):
    person = make_user("none", "nora")
    ClusterGrant.objects.create(user=person, cluster=make_cluster("west"), role="operator")
    for plan in (make_plan(east).pk, uuid4()):
        answer = sign_in(person).post(API, {"plan_run": str(plan)}, content_type="application/json")
        assert answer.status_code == 404


def test_a_plan_of_a_removed_cluster_is_refused(sign_in, operator, east):
    plan = make_plan(east)
    east.delete()
    client = sign_in(operator)
    answer = client.post(API, {"plan_run": str(plan.pk)}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (409, "cluster_removed")


def test_a_run_waits_no_longer_when_the_right_of_its_person_ended(sign_in, operator, east):
    client = sign_in(operator)
    redrive = make_by_page(client, east)
    client.post(address("apply-redrive", redrive), {"confirm": "friday", "records_per_s": 50})
    operator.role = "viewer"
    operator.save()
    run = Run.objects.get(kind="redrive")
    assert "otto, who requested this, no longer has the role operator" in why_stopped(run)
