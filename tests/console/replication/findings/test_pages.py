"""Findings on the pages of a flow, on the overview, over REST, in the metrics and on charts."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.replication.findings.models import FlowWatch
from tests.console.making import NOW, count_queries, make_flow
from tests.console.replication.finding import make_finding

pytestmark = pytest.mark.django_db
ENDED = {"closed_at": NOW - timedelta(minutes=1)}


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


@pytest.fixture
def flow():
    return make_flow(measured_at=NOW)


def page(client, name, flow, **query):
    answer = client.get(reverse(f"replication:{name}", args=[flow.pk]), query)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("name", ["detail", "findings"])
def test_an_open_finding_says_what_it_is_and_what_to_do(as_viewer, flow, name):
    make_finding(flow)
    text = page(as_viewer, name, flow)
    assert "up to 7 records were deleted" in text
    assert "Raise retention.ms." in text


def test_the_findings_page_has_the_evidence_and_when_it_was_last_looked(as_viewer, flow):
    make_finding(flow)
    FlowWatch.objects.create(
        flow=flow, finished_at=NOW, faults={"heartbeats": "no broker answered"}
    )
    text = page(as_viewer, "findings", flow)
    assert "<code>offsets_lost_at_most</code></dt><dd>7</dd>" in text
    assert "Not checked (1)" in text
    assert "no broker answered" in text


def test_a_check_that_failed_as_a_whole_is_on_the_findings_page(as_viewer, flow):
    told = "crosslog failed while judging, a fault of the program."
    FlowWatch.objects.create(flow=flow, finished_at=NOW, failing_since=NOW, error=told)
    text = page(as_viewer, "findings", flow)
    assert "No open findings, but some checks could not be done." in text
    assert told in text


def test_before_the_first_look_it_says_when_it_comes(as_viewer, flow):
    assert "The first check follows within a minute" in page(as_viewer, "findings", flow)


def test_without_a_finding_it_says_what_was_looked_at(as_viewer, flow):
    FlowWatch.objects.create(flow=flow, finished_at=NOW)
    assert "No open findings. Checked:" in page(as_viewer, "findings", flow)


def test_ended_findings_are_the_history_and_not_on_the_first_page(as_viewer, flow):
    make_finding(flow, **ENDED)
    text = page(as_viewer, "findings", flow)
    assert "up to 7 records" in text
    assert f"{ENDED['closed_at']:%H:%M:%S}" in text
    assert "up to 7 records" not in page(as_viewer, "detail", flow)


def test_the_worst_stands_first(as_viewer, flow):
    make_finding(flow, "topic_left_out", "warning", subject="a", sentence="mild")
    make_finding(flow, "loop", "critical", subject="b", sentence="grave")
    text = page(as_viewer, "findings", flow)
    assert text.index("grave") < text.index("mild")


def test_the_tab_counts_what_is_more_than_a_notice(as_viewer, flow):
    make_finding(flow)
    make_finding(flow, "heartbeats_absent", "info", subject="")
    text = page(as_viewer, "runs", flow)
    assert 'Findings<span class="tabs__count tabs__count--bad">1<' in text


@pytest.mark.parametrize("name", ["findings", "detail"])
def test_more_findings_ask_no_more_queries(as_viewer, flow, name):
    path = reverse(f"replication:{name}", args=[flow.pk])
    make_finding(flow)
    make_finding(flow, **ENDED)
    one = count_queries(as_viewer, path)
    for number in range(1, 60):
        make_finding(flow, subject=f"orders-{number}")
        make_finding(flow, subject=f"orders-{number}", **ENDED)
    assert count_queries(as_viewer, path) == one


def test_the_history_is_exported(as_viewer, flow):
    make_finding(flow, **ENDED)
    answer = as_viewer.get(
        reverse("replication:findings", args=[flow.pk]), {"format": "csv", "cols": "evidence"}
    )
    text = b"".join(answer.streaming_content if answer.streaming else [answer.content]).decode()
    assert "offsets_lost_at_most=7" in text


def test_the_first_page_of_a_flow_has_a_line_for_each_rule(as_viewer, flow):
    for number in range(3):
        make_finding(flow, subject=f"orders-{number}")
    make_finding(flow, "topic_left_out", "warning", subject="B.foo")
    page = as_viewer.get(reverse("replication:detail", args=[flow.pk])).content.decode()
    shown = page[page.index('id="failures-title"') :]
    shown = shown[: shown.index("</section>")]
    assert shown.count('<li class="finding">') == 2
    assert "2 more like it</a>" in shown


def rows(client, flow, **query):
    answer = client.get(f"/api/v1/flows/{flow.pk}/findings/", query)
    assert answer.status_code == 200
    return answer.json()["results"]


def test_the_api_lists_open_findings_with_their_evidence(as_viewer, flow):
    make_finding(flow)
    make_finding(flow, "loop", **ENDED)
    (row,) = rows(as_viewer, flow)
    assert (row["code"], row["severity"], row["subject"]) == (
        "retention_loss",
        "critical",
        "orders-0",
    )
    assert row["evidence"] == {"offsets_lost_at_most": 7}
    assert (row["topic"], row["partition"], row["closed_at"]) == ("orders", 0, None)


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ({"state": "ended"}, {"loop"}),
        ({"state": "all"}, {"loop", "retention_loss"}),
        ({"code": "loop"}, set()),
        ({"code": "loop", "state": "all"}, {"loop"}),
    ],
    ids=["ended", "all", "a rule", "a rule, ended too"],
)
def test_the_api_narrows_them_down(as_viewer, flow, query, codes):
    make_finding(flow)
    make_finding(flow, "loop", **ENDED)
    assert {row["code"] for row in rows(as_viewer, flow, **query)} == codes


@pytest.mark.parametrize("query", [{"state": "old"}, {"code": "x"}, {"foo": "1"}])
def test_the_api_refuses_what_it_does_not_know(as_viewer, flow, query):
    answer = as_viewer.get(f"/api/v1/flows/{flow.pk}/findings/", query)
    assert answer.status_code == 400


def test_findings_are_counted_for_prometheus(client, settings, flow):
    settings.METRICS_TOKEN = "a token for tests"
    for number in range(2):
        make_finding(flow, subject=f"orders-{number}")
    make_finding(flow, "loop", **ENDED)
    FlowWatch.objects.create(flow=flow, finished_at=timezone.now() - timedelta(seconds=30))
    answer = client.get("/metrics", headers={"Authorization": "Bearer a token for tests"})
    text = answer.content.decode()
    labels = 'cluster="",flow="orders to west",severity="critical",state="open"'
    assert f'crosslog_open_findings{{check="retention_loss",{labels}}} 2.0' in text
    assert 'check="loop"' not in text
    assert "crosslog_flow_findings_age_seconds{" in text


def test_findings_are_marked_on_the_charts(as_viewer, flow):
    now = timezone.now()
    make_finding(flow, opened_at=now - timedelta(minutes=9), closed_at=now - timedelta(minutes=2))
    make_finding(flow, "heartbeats_absent", "info", opened_at=now - timedelta(minutes=9))
    events = as_viewer.get(f"/api/v1/flows/{flow.pk}/series/").json()["events"]
    assert [(event["kind"], event["severity"]) for event in events] == [
        ("Finding", "critical"),
        ("Finding ended", "unknown"),
    ]
