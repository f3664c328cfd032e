"""The page of all findings: order, filters, links, CSV; the badge; the line of each finding elsewhere."""

from datetime import timedelta

import pytest
from django.urls import reverse

from console.findings.navigation import badge
from console.frame.pages.navigation import Badge, list_places
from tests.console.findings.rows import make_import, make_row
from tests.console.making import NOW, count_queries, make_cluster, make_flow
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
ENDED = {"closed_at": NOW - timedelta(minutes=1)}


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def page(client, **query):
    answer = client.get(reverse("findings:list"), query)
    assert answer.status_code == 200
    return answer.content.decode()


def shown(client, sentences, **query):
    text = page(client, **query)
    return sorted((one for one in sentences if one in text), key=text.index)


def test_without_a_finding_the_page_says_so(as_viewer):
    assert "No open findings." in page(as_viewer)


def test_the_worst_are_first_and_the_newest_before_older_ones(as_viewer):
    east = make_cluster()
    for subject, severity, minutes in [
        ("a", "info", 1),
        ("b", "critical", 9),
        ("c", "warning", 5),
        ("d", "critical", 3),
    ]:
        make_row(
            east,
            severity,
            subject=subject,
            sentence=f"finding {subject}",
            opened_at=NOW - timedelta(minutes=minutes),
        )
    sentences = [f"finding {one}" for one in "abcd"]
    assert [one[-1] for one in shown(as_viewer, sentences)] == ["d", "b", "c", "a"]


@pytest.fixture
def three():
    flow = make_flow()
    make_row(flow.source, "info", sentence="of the cluster", code="leads", subject="billing-3")
    make_row(make_log(flow.source), "warning", sentence="of the quorum")
    make_row(flow, sentence="of the flow")
    make_row(make_cluster("north"), sentence="of the north")
    make_row(flow, "warning", sentence="of the past", code="loop", **ENDED)
    return ["of the cluster", "of the quorum", "of the flow", "of the north", "of the past"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, ["cluster", "flow", "north", "quorum"]),
        ({"severity": "critical"}, ["flow", "north"]),
        ({"kind": "quorum"}, ["quorum"]),
        ({"cluster": "east"}, ["cluster", "flow", "quorum"]),
        ({"cluster": "west"}, ["flow"]),
        ({"code": "leads"}, ["cluster"]),
        ({"q": "billing"}, ["cluster"]),
        ({"q": "orders to west"}, ["flow"]),
        ({"state": "ended"}, ["past"]),
        ({"state": "all"}, ["cluster", "flow", "north", "past", "quorum"]),
        ({"state": "all", "code": "loop"}, ["past"]),
    ],
    ids=str,
)
def test_filters_narrow_the_list_down(as_viewer, three, query, words):
    assert sorted(one.split()[-1] for one in shown(as_viewer, three, **query)) == words


def test_each_row_leads_to_the_page_of_its_scope(as_viewer):
    flow = make_flow()
    make_row(flow)
    make_row(flow.source)
    make_row(flow.source, code="leaders_not_balanced")
    make_row(make_log(flow.source))
    make_row(make_import())
    text = page(as_viewer)
    for name, key, place in [
        ("replication:findings", flow.pk, f"Flow {flow.name}"),
        ("availability:promotion", "east", "Cluster east"),
        ("availability:detail", "east", "Cluster east"),
        ("quorum:detail", "east", "Quorum of east"),
        ("quorum:detail", "_old", "Quorum of _old (imported)"),
    ]:
        assert f'<a href="{reverse(name, args=[key])}">{place}</a>' in text


@pytest.mark.parametrize(
    "sort",
    ["severity", "place", "sentence", "subject", "kind", "code", "opened_at", "last_seen_at"],
)
def test_it_is_sorted_by_each_column(as_viewer, three, sort):
    assert len(shown(as_viewer, three, sort=sort)) == 4


def test_the_rows_are_exported_with_their_evidence(as_viewer, three):
    answer = as_viewer.get(
        reverse("findings:list"), {"format": "csv", "cols": ["place", "evidence"]}
    )
    text = b"".join(answer.streaming_content if answer.streaming else [answer.content]).decode()
    assert "Flow orders to west,records=7" in text


def test_more_rows_ask_no_more_queries(as_viewer):
    def make(number):
        flow = make_flow(f"flow {number}", target=f"target{number}")
        make_row(flow)
        make_row(flow.target)
        make_row(make_log(flow.target))

    make(0)
    one = count_queries(as_viewer, reverse("findings:list"))
    for number in range(1, 8):
        make(number)
    assert count_queries(as_viewer, reverse("findings:list")) == one


def test_the_badge_counts_open_findings_that_are_more_than_notices(viewer):
    east = make_cluster()
    assert badge(viewer) is None
    make_row(east, "info", subject="a")
    assert badge(viewer) is None
    make_row(east, "warning", subject="b")
    make_row(east, "critical", subject="c")
    make_row(east, "critical", subject="d", **ENDED)
    assert badge(viewer) == Badge("2", "need attention", is_bad=True)


def test_findings_of_an_imported_log_are_listed_but_not_counted(as_viewer, viewer):
    make_row(make_import(), sentence="of an old log")
    assert shown(as_viewer, ["of an old log"])
    assert badge(viewer) is None


def test_the_section_is_below_that_of_incidents(viewer):
    places = [one.label for one in list_places(viewer, "/findings/")]
    assert places[:3] == ["Overview", "Incidents", "Findings"]


def test_findings_about_a_streams_application_lead_to_its_page(as_viewer):
    row = make_row(make_cluster(), code="streams_no_standby", subject="shop")
    page = reverse("streams:detail", args=[row.cluster.alias, "shop"])
    assert (
        f'<a href="{page}">{row.sentence}</a>'
        in as_viewer.get(reverse("findings:list")).content.decode()
    )
