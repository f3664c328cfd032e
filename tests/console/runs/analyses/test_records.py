"""Kinds about records: content of records is for admins; recorded events; numbers, sizes and lines."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from console.accounts.asked_rights import rights_asked
from console.accounts.models import AuditEntry, ClusterGrant, Role
from console.clusters.facts import cluster_analyses
from console.frame.pages.states import severity_of
from console.overview import analysis_events
from console.runs.analyses.actions import ask, start_scheduled
from console.runs.analyses.drawings.charts import draw
from console.runs.analyses.drawings.lines import LINES_PX, MOST_LINES
from console.runs.analyses.questions import read_question
from console.runs.analyses.spec import spec_of
from console.runs.analyses.values import cell_of, facts_of
from console.runs.queries import why_stopped
from jobs.severity import Severity
from jobs.spark.analyses.analysis import Column, ColumnType
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.making import NOW, make_cluster, make_flow, make_user
from tests.console.runs.analyses.records import ANALYSIS, KIND, LINES, RATES, make_answer, rate

pytestmark = pytest.mark.django_db
STATE = Column("state", "Condition", ColumnType.CODE)
GIVEN = {"cluster": "east", "keys": "shown"}


@pytest.fixture(autouse=True)
def registered_beside():
    ANALYSES[KIND] = ANALYSIS
    yield
    del ANALYSES[KIND]


def granted(role, cluster="east"):
    person = make_user(Role.NONE)
    ClusterGrant.objects.create(user=person, cluster=make_cluster(cluster), role=role)
    return person


@pytest.mark.parametrize("keys", ["hashed", "shown"])
def test_only_an_admin_of_the_cluster_chooses_content_of_records(keys):
    given = {"cluster": "east", "keys": keys}
    assert read_question(KIND, given, granted(Role.ADMIN)).arguments["keys"] == keys


def test_an_operator_chooses_the_rest():
    person = granted(Role.OPERATOR)
    assert read_question(KIND, {"cluster": "east"}, person).arguments["keys"] == "hashed"
    with pytest.raises(PermissionDenied, match="Keys shown shows content of records"):
        read_question(KIND, GIVEN, person)


def test_a_schedule_of_an_operator_does_not_start_it():
    person = granted(Role.OPERATOR)
    with pytest.raises(PermissionDenied):
        start_scheduled({"kind": KIND, "arguments": GIVEN}, person, NOW)


def test_a_run_that_waits_is_not_started_once_its_person_is_no_admin():
    person = granted(Role.ADMIN)
    run = ask(read_question(KIND, GIVEN, person), person, NOW).run
    assert not why_stopped(run)
    person.cluster_grants.update(role=Role.OPERATOR)
    run.requested_by.refresh_from_db()
    assert "no longer has the role admin" in why_stopped(type(run).objects.get(pk=run.pk))


def test_the_form_marks_such_choices_and_refuses_them_at_their_field(client):
    client.force_login(granted(Role.OPERATOR))
    assert "Shown (needs the role admin)" in client.get(f"/runs/new/{KIND}/").content.decode()
    answer = client.post(f"/runs/new/{KIND}/", GIVEN)
    assert answer.status_code == 200
    assert "Keys shown shows content of records" in answer.content.decode()


def test_the_api_names_such_choices(client):
    client.force_login(make_user(Role.VIEWER))
    kinds = {one["kind"]: one for one in client.get("/api/v1/runs/kinds/").json()}
    assert kinds[KIND]["arguments"][-1]["admin_choices"] == ["shown"]


ADDRESSES = ("result/", "tables/rates/", "tables/rates/csv/", "tables/rates/parquet/")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("keys", "role", "status"),
    [("shown", Role.ADMIN, 200), ("shown", Role.OPERATOR, 403), ("hashed", Role.OPERATOR, 200)],
    ids=["admin", "operator", "hashed"],
)
def test_the_api_gives_content_of_records_to_admins_only(
    client, tmp_path, address, keys, role, status
):
    run = make_answer(tmp_path, keys)
    client.force_login(make_user(role))
    answer = client.get(f"/api/v1/runs/{run.pk}/{address}")
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["code"] == "needs_admin"
    summary = client.get(f"/api/v1/runs/{run.pk}/").json()["summary"]
    assert (summary is None) == (status == 403)


def test_such_a_result_is_hidden_on_its_page_and_in_its_files(client, tmp_path):
    run = make_answer(tmp_path, "shown")
    client.force_login(make_user(Role.VIEWER))
    text = client.get(reverse("runs:detail", args=[run.pk])).content.decode()
    assert "This result contains content of records." in text
    assert "secret-key" not in text
    for form in ("csv", "parquet"):
        assert client.get(reverse(f"runs:{form}", args=[run.pk, "rates"])).status_code == 403


def test_such_a_result_stays_hidden_when_its_kind_is_gone(client, tmp_path):
    run = make_answer(tmp_path, "shown")
    del ANALYSES[KIND]
    client.force_login(make_user(Role.VIEWER))
    assert client.get(f"/api/v1/runs/{run.pk}/result/").status_code == 403
    ANALYSES[KIND] = ANALYSIS


def test_an_admin_sees_numbers_sizes_and_lines(client, tmp_path):
    run = make_answer(tmp_path, "shown")
    client.force_login(make_user(Role.ADMIN))
    text = client.get(reverse("runs:detail", args=[run.pk])).content.decode()
    for part in ("secret-key", ">12.3<", "2\N{NO-BREAK SPACE}KiB", 'class="drawing__legend"'):
        assert part in text
    csv = client.get(reverse("runs:csv", args=[run.pk, "rates"])).getvalue().decode()
    assert csv.splitlines()[0] == "Hour,Topic,Records/s,Size (bytes)"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.012345, "0.0123"), (2.5, "2.5"), (99.94, "99.9"), (1234.5, "1,234")],
)
def test_a_number_has_three_significant_digits(value, text):
    assert cell_of(value, ColumnType.NUMBER).text == text


def test_facts_in_bytes_are_sizes():
    assert facts_of({"largest_bytes": 2048})[0][1].text == "2\N{NO-BREAK SPACE}KiB"


def test_a_fact_with_the_name_of_a_column_is_labelled_and_written_as_its_values():
    told = facts_of({"size": 2048, "state": "fully_read"}, (*RATES.columns, STATE))
    assert [(label, cell.text) for label, cell in told] == [
        ("Size", "2\N{NO-BREAK SPACE}KiB"),
        ("Condition", "Fully read"),
    ]


def test_a_verdict_of_one_word_is_a_state_and_a_sentence_is_text():
    ((_, word),) = facts_of({"verdict": "differs"})
    ((_, sentence),) = facts_of({"verdict": "orders: Balanced."})
    assert (word.state, sentence.state, sentence.text) == ("differs", "", "orders: Balanced.")
    assert severity_of("differs") is Severity.CRITICAL


def lines(*rows):
    told = [
        {**rate(0, topic, value), "hour_ms": f"2026-01-01T{hour:02}:00:00.000Z"}
        for hour, topic, value in rows
    ]
    return draw(LINES, 1, RATES, told)


def test_lines_share_a_scale_from_zero_and_the_largest_comes_first():
    drawn = lines((0, "a", 5.0), (1, "a", 0.0), (0, "b", 10.0), (1, "b", 10.0))
    assert [(one.label, one.path) for one in drawn.lines] == [
        ("b", "M0.0 0.0h0L500.0 0.0"),
        ("a", f"M0.0 {LINES_PX / 2}h0L500.0 {LINES_PX:.1f}"),
    ]
    assert drawn.most == "10"


def test_a_line_is_broken_where_values_are_missing():
    drawn = lines(*((hour, "a", 1.0) for hour in (0, 1, 2, 6, 7)))
    assert drawn.lines[0].path.count("M") == 2


def test_the_lines_with_the_largest_totals_are_shown_and_the_rest_is_counted():
    drawn = lines(*((0, f"t{number}", float(number)) for number in range(12)))
    assert (len(drawn.lines), drawn.lines[0].label) == (MOST_LINES, "t11")
    assert drawn.note == "8 of 12 shown"


def test_lines_without_a_value_above_zero_say_so():
    assert lines((0, "a", 0.0)).blank == LINES.blank


def make_steered(flow, minutes):
    AuditEntry.objects.create(
        at=NOW + timedelta(minutes=minutes),
        actor_name="ada",
        action="flow.pause",
        subject=f"flow:{flow.name}",
    )


def events_of(*clusters, since=NOW - timedelta(days=40), until=NOW, user=None, most=10):
    person = user or make_user(Role.VIEWER)
    keys = [make_cluster(alias).pk for alias in clusters]
    return analysis_events.events_between(person, keys, since, until, most)


def test_events_of_both_clusters_are_listed_oldest_first():
    flow = make_flow()
    make_steered(flow, -5), make_steered(flow, -9)
    found = events_of("east", "west")
    assert [one["at_ms"] for one in found] == sorted(one["at_ms"] for one in found)
    assert (len(found), found[0]["kind"]) == (2, "flow")
    assert found[0]["text"] == f"Flow {flow.name} was paused by ada."


def test_events_that_involve_a_cluster_outside_are_left_out():
    make_steered(make_flow(), -5)
    assert events_of("east") == []


def test_events_are_of_the_time_of_the_question_and_the_newest_of_thirty_days():
    flow = make_flow()
    for minutes in (-31 * 24 * 60, -9, -5, -1):
        make_steered(flow, minutes)
    both = ("east", "west")
    assert len(events_of(*both)) == 3
    assert len(events_of(*both, until=NOW - timedelta(minutes=5))) == 2
    assert len(events_of(*both, since=NOW - timedelta(minutes=5))) == 2
    assert [one["at_ms"] for one in events_of(*both, most=1)] == [
        round((NOW - timedelta(minutes=1)).timestamp() * 1000)
    ]


def test_events_are_read_with_the_rights_of_the_person():
    make_steered(make_flow(), -5)
    assert events_of("east", "west", user=granted(Role.ADMIN)) == []


def test_a_job_gets_the_events_that_its_kind_wants():
    person = make_user(Role.OPERATOR)
    make_cluster("east")
    run = ask(read_question(KIND, {"cluster": "east"}, person), person, NOW).run
    assert run.asked_with == rights_asked(person)
    assert spec_of(run, NOW).arguments["resources"]["events"] == {"events": []}


def test_a_cluster_leads_to_its_kinds_and_a_topic_fills_them_in(client):
    make_cluster("east")
    assert cluster_analyses("east", "orders", {KIND: ANALYSIS}) == [
        ("Keys", f"/runs/new/{KIND}/?cluster=east&topics=orders")
    ]
    client.force_login(make_user(Role.OPERATOR))
    text = client.get("/clusters/east/").content.decode()
    assert f"/runs/new/{KIND}/?cluster=east" in text
