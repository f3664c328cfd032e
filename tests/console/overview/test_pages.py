from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import ClusterGrant, Role
from console.clusters.models import Cluster
from console.overview.first_steps import WAYS, first_steps
from console.overview.queries import read_overview
from console.replication.flows.models import ReplicationFlow
from jobs.severity import Severity
from tests.console.findings.rows import make_row
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_user
from tests.console.overview.making import make_brokers, make_incident, make_many, make_rounds
from tests.console.quorum.making import make_log, make_status

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def text_of(client):
    answer = client.get(reverse("overview:overview"))
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_overview_lists_the_first_steps(client):
    client.force_login(make_user(Role.ADMIN))
    text = text_of(client)
    assert "Register cluster" in text
    assert "Create a replication flow" in text


def test_a_viewer_is_told_who_can_add_a_cluster(as_viewer):
    assert "needs the role admin" in text_of(as_viewer)


def overview_of(user=None, now=NOW):
    return read_overview(now, user or make_user())


def test_without_an_incident_the_open_findings_are_counted(as_viewer):
    make_row(make_cluster("east"))
    text = text_of(as_viewer)
    assert "No open incidents." in text
    assert f'<a href="{reverse("findings:list")}">1 open finding</a>' in text


def test_a_card_has_cause_effects_advice_duration_runbook_and_what_if(as_viewer):
    east = make_cluster("east")
    make_incident(cluster=east, began_at=timezone.now() - timedelta(minutes=3, seconds=44))
    text = text_of(as_viewer)
    assert "Broker 3 of east is down: 2 partitions offline." in text
    assert "91 at min ISR" in text
    assert "Start broker 3." in text
    assert "for 3\u00a0m\u00a04" in text
    assert 'href="/help/checks/#broker_down">Runbook' in text
    what_if = reverse("availability:what-if", args=["east"])
    assert f'href="{what_if}?steps=lose:broker:3">What-if' in text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param(
            {"state": "acknowledged", "acknowledged_at": NOW}, "Acknowledged", id="acknowledged"
        ),
        pytest.param({"state": "silenced", "silenced_until": NOW}, "until <time", id="silenced"),
        pytest.param({"state": "silenced", "window": "Upgrade"}, "Upgrade", id="maintenance"),
    ],
)
def test_a_card_says_what_is_done_about_it(as_viewer, fields, words):
    make_incident(cluster=make_cluster("east"), **fields)
    assert words in text_of(as_viewer)


def test_the_worst_incident_is_first_then_the_newest_and_silenced_ones_are_last():
    east = make_cluster("east")
    make_incident("silenced", cluster=east, state="silenced")
    make_incident("warning", cluster=east, severity=Severity.WARNING)
    make_incident("young", cluster=east)
    make_incident("old", cluster=east, began_at=NOW - timedelta(days=1))
    cards = [card.incident.title for card in overview_of().cards]
    assert cards == ["young", "old", "warning", "silenced"]


def test_of_many_incidents_the_worst_twelve_have_a_card(as_viewer):
    east = make_cluster("east")
    for number in range(14):
        make_incident(f"incident {number}", cluster=east)
    assert "and 2 more" in text_of(as_viewer)
    assert len(overview_of().cards) == 12


@pytest.mark.parametrize(
    ("role", "state", "may"),
    [("operator", "open", True), ("viewer", "open", False), ("operator", "acknowledged", False)],
)
def test_who_may_operate_the_cluster_acknowledges_an_open_incident(role, state, may):
    make_incident(cluster=make_cluster("east"), state=state)
    (card,) = overview_of(make_user(role)).cards
    assert card.can_acknowledge is may


def test_a_resolved_incident_is_shown_for_a_day_with_its_duration(as_viewer):
    east, now = make_cluster("east"), timezone.now()
    for title, hours in [("fresh", 1), ("old", 25)]:
        ended = now - timedelta(hours=hours)
        began = ended - timedelta(seconds=224)
        make_incident(title, cluster=east, state="resolved", began_at=began, ended_at=ended)
    text = text_of(as_viewer)
    assert "resolved after 3\u00a0m\u00a044\u00a0s" in text
    assert "fresh" in text
    assert "old" not in [one.title for one in overview_of(now=now).resolved]


def test_only_incidents_of_clusters_that_can_be_seen_are_shown():
    east, west = make_cluster("east"), make_cluster("west")
    make_incident("of east", cluster=east)
    make_incident("of west", cluster=west)
    make_incident("of both", flow=make_flow())
    make_incident("of crosslog")
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=east, role="viewer")
    found = overview_of(person)
    assert [card.incident.title for card in found.cards] == ["of east"]
    assert found.counts["all"] == 1


def test_the_map_has_clusters_with_brokers_by_rack_and_the_controller():
    east = make_cluster("east")
    make_rounds(east)
    make_brokers(east, down=(3,))
    make_status(make_log(east), leader_id=2)
    (box,) = overview_of().picture.boxes
    chips = [(chip.text, chip.state) for chip in box.chips]
    assert chips == [
        ("dc-a", ""),
        ("\u00d7 3", "down"),
        ("dc-b", ""),
        ("1", "live"),
        ("dc-c", ""),
        ("\u2605 2", "live"),
    ]


def test_brokers_of_a_cluster_that_is_away_are_unknown_on_the_map():
    east = make_cluster("east")
    make_rounds(east, failing_since=NOW, error_code="unreachable", error="no answer")
    make_brokers(east)
    (box,) = overview_of().picture.boxes
    assert {chip.state for chip in box.chips if chip.state} == {"unknown"}


def test_flows_between_the_same_clusters_are_one_edge_of_the_map():
    for number, lag_ms in enumerate([1000, 12_000, 3000]):
        make_flow(f"flow {number}", lag_ms=lag_ms, rate_per_s=10.0)
    (label,) = overview_of().picture.labels
    assert label.name == "3 flows"
    assert label.numbers == "worst 12\u00a0s, 30/s"
    assert "flow 0, flow 1, flow 2" in label.title


def test_the_overview_needs_as_many_queries_with_twenty_clusters_fifty_flows_and_200_incidents(
    as_viewer,
):
    make_many(1, 1, 1)
    one = count_queries(as_viewer, reverse("overview:overview"))
    ReplicationFlow.objects.all().delete()
    Cluster.objects.all().delete()
    make_many(20, 50, 200)
    assert count_queries(as_viewer, reverse("overview:overview")) == one


def test_anonymous_people_are_sent_to_the_login(client):
    assert client.get(reverse("overview:overview")).status_code == 302


def show(client, role):
    client.force_login(make_user(role))
    return client.get(reverse("overview:overview")).content.decode()


@pytest.mark.parametrize(
    ("clusters", "flows", "following"), [(0, 0, 0), (1, 0, 1), (2, 0, 2), (2, 1, 3)]
)
def test_the_first_step_that_is_not_done_is_next(clusters, flows, following):
    steps = first_steps(
        [make_cluster(f"c{n}") for n in range(clusters)], [make_flow(f"f{n}") for n in range(flows)]
    )
    assert [step.is_next for step in steps].index(True) == following
    assert [step.is_done for step in steps].count(True) == following


def test_the_steps_go_away_with_the_first_measurement():
    flow = make_flow(measured_at=NOW)
    assert first_steps([flow.source, flow.target], [flow]) == []


@pytest.mark.parametrize(
    ("made", "role", "link", "words"),
    [
        pytest.param(0, "admin", "clusters:new", "Register cluster", id="first cluster"),
        pytest.param(1, "admin", "clusters:new", "Register cluster", id="second cluster"),
        pytest.param(2, "operator", "replication:new", "New flow", id="flow"),
    ],
)
def test_each_step_leads_to_the_next(client, made, role, link, words):
    for number in range(made):
        make_cluster(f"c{number}")
    text = show(client, role)
    assert f'href="{reverse(link)}">{words}</a>' in text


def test_an_operator_is_told_who_adds_clusters(client):
    assert "needs the role admin" in show(client, "operator")


@pytest.mark.parametrize(
    ("role", "links"),
    [
        pytest.param(
            "admin", ["clusters:new", "replication:mirror-config", "quorum:import"], id="admin"
        ),
        pytest.param("operator", ["replication:mirror-config", "quorum:import"], id="operator"),
        pytest.param("viewer", ["replication:mirror-config"], id="viewer"),
    ],
)
def test_an_empty_console_offers_three_ways_to_its_first_data(client, role, links):
    text = show(client, role)
    for way in WAYS:
        assert way.title in text
        assert (f'class="btn" href="{reverse(way.route)}"' in text) is (way.route in links)
