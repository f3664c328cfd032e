"""The pages of incidents: list, one incident, its forms; badge and palette."""

from datetime import timedelta

import pytest
from django.urls import reverse

from console.findings.incidents.models import Subject
from console.findings.incidents.navigation import badge
from console.frame.pages.navigation import Badge, find_hits
from tests.console.findings.incident_rows import make_incident, resolved
from tests.console.findings.rows import make_row
from tests.console.making import NOW, count_queries, make_cluster, make_flow
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_operator(sign_in, operator):
    return sign_in(operator)


def shown(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200
    return answer.content.decode()


def page_of(row):
    return reverse("findings:incident", args=[row.pk])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "ab"),
        ({"state": "acknowledged"}, "b"),
        ({"state": "resolved"}, "c"),
        ({"state": "all"}, "abc"),
        ({"severity": "critical"}, "a"),
        ({"cluster": "west"}, "b"),
        ({"kind": "flow"}, "b"),
        ({"check": "broker_down"}, "a"),
        ({"q": "east wrong"}, "ab"),
        ({"q": "title slow"}, "b"),
    ],
    ids=str,
)
def test_filters_narrow_the_list_down(as_operator, query, words):
    flow = make_flow()
    make_incident(title="title a is wrong", cluster=flow.source)
    make_incident(
        "flow", "f", "warning", title="title b is wrong", flow=flow, check_id="lag",
        state="acknowledged", sentence="east is slow",
    )  # fmt: skip
    make_incident("group", title="title c is wrong", cluster=make_cluster("north"), **resolved())
    text = shown(as_operator, "/incidents/", **query)
    assert [one for one in "abc" if f"title {one} is wrong</a>" in text] == list(words)


def test_rows_are_exported(as_operator):
    make_incident(cluster=make_cluster())
    answer = as_operator.get("/incidents/?format=csv")
    text = b"".join(answer.streaming_content).decode()
    assert "Broker 3 is wrong,Cluster east,open" in text


def test_an_incident_shows_cause_effects_action_timeline_and_findings(as_operator):
    east = make_cluster()
    row = make_incident(cluster=east, owner=None)
    make_row(east, incident=row, sentence="orders-0 has no leader.")
    text = shown(as_operator, page_of(row))
    for part in (
        row.sentence,
        "2 partitions offline",
        "Start the broker.",
        "No owner",
        "orders-0 has no leader.",
        "/help/checks/#broker_down",
        "/availability/east/what-if/?steps=lose:broker:3",
        f"GET /api/v1/incidents/{row.pk}/",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("name", "kind", "place", "page"),
    [
        ("Cluster east", Subject.CLUSTER, lambda: {"cluster": make_cluster()}, "/clusters/east/"),
        ("Broker 3", Subject.BROKER, lambda: {"cluster": make_cluster()}, "/availability/east/brokers/"),
        ("Partitions 3", Subject.PARTITIONS, lambda: {"cluster": make_cluster()}, "/availability/east/partitions/"),
        ("Quorum of east", Subject.QUORUM, lambda: {"log": make_log(make_cluster())}, "/quorum/east/"),
        ("Consumer group 3", Subject.GROUP, lambda: {"cluster": make_cluster()}, "/clusters/east/groups/3/"),
        ("Streams application 3", Subject.STREAMS, lambda: {"cluster": make_cluster()}, "/streams/east/3/"),
        ("Flow orders to west", Subject.FLOW, lambda: {"flow": make_flow(pk=77)}, "/replication/77/"),
    ],
)  # fmt: skip
def test_an_incident_leads_to_the_page_of_its_subject(as_operator, name, kind, place, page):
    text = shown(as_operator, page_of(make_incident(kind, **place())))
    assert f'<a href="{page}">{name}</a>' in text


@pytest.mark.parametrize(
    ("hours", "text"), [([], ""), ([1, 2], "3rd time in 24 h"), ([1, 25], "2nd time in 24 h")]
)
def test_earlier_incidents_of_the_same_cause_are_counted(as_operator, hours, text):
    east = make_cluster()
    row = make_incident(cluster=east, opened_at=NOW)
    for one in hours:
        make_incident(cluster=east, opened_at=NOW - timedelta(hours=one), **resolved())
    page = shown(as_operator, page_of(row))
    assert text in page
    assert bool(text) == ("time in 24 h" in page)


def test_buttons_and_forms_do_what_they_say(as_operator, operator):
    row = make_incident(cluster=make_cluster())
    page = page_of(row)
    for path, values in (
        ("acknowledge/", {"is_acknowledged": "true"}),
        ("silence/", {"duration_s": "3600"}),
        ("owner/", {"owner": operator.username}),
        ("note/", {"note": "A disk was full."}),
    ):
        assert as_operator.post(f"{page}{path}", values)["Location"] == page
    row.refresh_from_db()
    assert (row.state, row.acknowledged_by, row.owner) == ("silenced", operator, operator)
    as_operator.post(f"{page}unsilence/")
    as_operator.post(f"{page}acknowledge/", {"is_acknowledged": "false"})
    row.refresh_from_db()
    assert (row.state, row.note) == ("open", "A disk was full.")


@pytest.mark.parametrize(
    ("path", "values", "error"),
    [
        ("silence/", {"duration_s": "3600", "until": "soon"}, "Enter a date and a time"),
        ("silence/", {"duration_s": "3600", "until": "2020-01-01"}, "at most 30 days from now"),
        ("silence/", {"duration_s": "7"}, "Select a valid choice"),
        ("owner/", {"owner": "nemo"}, "No user nemo may see this incident."),
        ("note/", {"note": "x" * 5001}, "Enter at most 5,000 characters."),
    ],
)
def test_a_refused_form_names_the_error_at_its_field(as_operator, path, values, error):
    row = make_incident(cluster=make_cluster())
    answer = as_operator.post(f"{page_of(row)}{path}", values)
    assert answer.status_code == 200
    assert error in answer.content.decode().partition('class="errorlist"')[2]
    assert row.events.count() == 1
    assert f'data-refresh="{page_of(row)}"' in answer.content.decode()


def test_a_viewer_sees_no_button(sign_in, viewer):
    text = shown(sign_in(viewer), page_of(make_incident(cluster=make_cluster())))
    assert "Acknowledge" not in text
    assert "Save note" not in text


def test_a_resolved_incident_offers_only_the_note(as_operator):
    text = shown(as_operator, page_of(make_incident(cluster=make_cluster(), **resolved())))
    assert "Save note" in text
    assert "Save owner" not in text


def test_more_rows_ask_no_more_queries(as_operator):
    row = make_incident(cluster=make_cluster())

    def make(number):
        flow = make_flow(f"flow {number}", target=f"target{number}")
        make_incident("flow", str(number), flow=flow)
        make_row(flow, incident=row)

    make(0)
    pages = ("/incidents/", page_of(row))
    few = [count_queries(as_operator, one) for one in pages]
    for number in range(1, 6):
        make(number)
    assert [count_queries(as_operator, one) for one in pages] == few


def test_the_badge_counts_incidents_that_are_neither_resolved_nor_silenced(viewer):
    east = make_cluster()
    assert badge(viewer) is None
    make_incident(cluster=east)
    make_incident("group", cluster=east, state="acknowledged")
    make_incident("cluster", cluster=east, state="silenced")
    make_incident("partitions", cluster=east, **resolved())
    assert badge(viewer) == Badge("2", "need attention", is_bad=True)


def test_the_palette_finds_open_incidents(viewer):
    row = make_incident(cluster=make_cluster())
    make_incident("group", "3", cluster=make_cluster(), **resolved())
    hits = [one for one in find_hits(viewer, "incident wrong") if one.kind == "incident"]
    assert [(one.path, one.detail) for one in hits] == [(page_of(row), "Cluster east")]
