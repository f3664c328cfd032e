"""All findings over REST."""

from datetime import timedelta

import pytest
from django.urls import reverse

from tests.console.findings.rows import make_import, make_row
from tests.console.making import NOW, count_queries, make_cluster, make_flow
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
PATH = "/api/v1/findings/"


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def rows(client, **query):
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_a_finding_names_its_scope_and_its_page(as_viewer):
    flow = make_flow()
    make_row(flow)
    make_row(make_log(flow.source), "warning")
    make_row(flow.source, "info", brokers=[3], trouble="under_min_isr")
    found = rows(as_viewer)
    assert [(one["kind"], one["scope"], one["name"], one["flow"]) for one in found] == [
        ("flow", "flow", flow.name, flow.pk),
        ("quorum", "log", "east", None),
        ("observers", "cluster", "east", None),
    ]
    assert found[0]["href"] == reverse("replication:findings", args=[flow.pk])
    assert found[0]["evidence"] == {"records": 7}
    assert (found[2]["brokers"], found[2]["trouble"]) == ([3], "under_min_isr")
    assert found[0]["duration_ms"] is None


@pytest.fixture
def flow():
    flow = make_flow()
    make_row(flow.source, "info", code="leads", subject="Billing-3")
    make_row(make_log(flow.source), "warning", opened_at=NOW - timedelta(days=3))
    make_row(flow)
    make_row(make_import("_old"), code="epoch_jump")
    make_row(flow, code="loop", closed_at=NOW)
    return flow


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ({}, ["epoch_jump", "leads", "no_leader", "retention_loss"]),
        ({"state": "ended"}, ["loop"]),
        ({"state": "all", "kind": "flow"}, ["loop", "retention_loss"]),
        ({"kind": "observers"}, ["leads"]),
        ({"severity": "warning"}, ["no_leader"]),
        ({"code": "leads"}, ["leads"]),
        ({"code": "loop"}, []),
        ({"subject": "billing"}, ["leads"]),
        ({"cluster": "east"}, ["leads", "no_leader", "retention_loss"]),
        ({"cluster": "west"}, ["retention_loss"]),
        ({"log": "east"}, ["no_leader"]),
        ({"log": "_old"}, ["epoch_jump"]),
        ({"from": f"{NOW - timedelta(days=4):%Y-%m-%dT%H:%M:%SZ}",
          "to": f"{NOW - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"}, ["no_leader"]),
    ],
    ids=str,
)  # fmt: skip
def test_filters_narrow_the_list_down(as_viewer, flow, query, codes):
    assert sorted(one["code"] for one in rows(as_viewer, **query)) == codes


def test_the_findings_of_one_flow_are_asked_for_by_its_id(as_viewer, flow):
    assert [one["code"] for one in rows(as_viewer, flow=flow.pk)] == ["retention_loss"]


@pytest.mark.parametrize(
    "query",
    [
        {"state": "old"}, {"kind": "x"}, {"severity": "ok"}, {"flow": "x"}, {"flow": 0},
        {"flow": 10**30}, {"range": "x"}, {"from": "x"}, {"to": "\0"}, {"a": 1}, {"limit": 501},
        {"cursor": "x"}, {"cluster": "\0"}, {"log": "\0"}, {"code": "\0"}, {"subject": "\0"},
        {"subject": "x" * 601}, {"code": ""},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_not_known_is_refused_at_its_field(as_viewer, query):
    answer = as_viewer.get(PATH, query)
    assert answer.status_code == 400
    assert set(answer.json()["fields"]) == set(query)


def test_pages_follow_each_other_worst_and_newest_first(as_viewer):
    east = make_cluster()
    for number in range(7):
        severity = "critical" if number % 2 else "warning"
        opened_at = NOW - timedelta(minutes=number)
        make_row(east, severity, subject=str(number), opened_at=opened_at)
    found, address = [], f"{PATH}?limit=2"
    while address:
        answer = as_viewer.get(address).json()
        found += [one["subject"] for one in answer["results"]]
        address = answer["next"]
    assert found == ["1", "3", "5", "0", "2", "4", "6"]


def test_more_than_a_thousand_rows_of_one_severity_are_paged_to_the_end(as_viewer):
    east = make_cluster()
    for number in range(1101):
        make_row(east, subject=str(number))
    found, address = 0, f"{PATH}?limit=500"
    while address:
        answer = as_viewer.get(address).json()
        found += len(answer["results"])
        address = answer["next"]
    assert found == 1101


def test_more_rows_ask_no_more_queries(as_viewer):
    make_row(make_flow())
    one = count_queries(as_viewer, PATH)
    for number in range(5):
        make_row(make_flow(f"flow {number}", target=f"target{number}"))
    assert count_queries(as_viewer, PATH) == one
