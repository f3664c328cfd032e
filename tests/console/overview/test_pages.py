from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import Role
from console.clusters.models import CollectionRound, Noun
from console.frame.processes.liveness import LivenessSigns, Restart
from console.overview.pages import first_steps
from console.overview.queries import read_overview
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_topic, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def text_of(client):
    answer = client.get(reverse("overview:overview"))
    assert answer.status_code == 200
    return answer.content.decode()


def make_rounds(cluster, **fields):
    for noun in Noun:
        CollectionRound.objects.create(
            cluster=cluster, noun=noun, **({"succeeded_at": NOW} | fields)
        )


def test_the_overview_lists_the_first_steps(client):
    client.force_login(make_user(Role.ADMIN))
    text = text_of(client)
    assert "Register cluster" in text
    assert "Create a replication flow" in text


def test_a_viewer_is_told_who_can_add_a_cluster(as_viewer):
    assert "needs the role admin" in text_of(as_viewer)


def test_nothing_wrong_is_said_in_words(as_viewer):
    make_rounds(make_cluster("east"), succeeded_at=timezone.now())
    assert "No open issues." in text_of(as_viewer)


def test_a_cluster_that_is_not_collected_any_more_is_told_although_nothing_failed(as_viewer):
    make_rounds(make_cluster("east"), succeeded_at=timezone.now() - timedelta(minutes=10))
    text = text_of(as_viewer)
    assert "Stale" in text
    assert "last collected 10\u00a0m" in text
    assert "The worker of the queue collect is not running" in text


def test_a_cluster_that_is_away_is_told_with_reason_and_advice(as_viewer):
    make_rounds(
        make_cluster("east"),
        failing_since=NOW,
        error_code="unreachable",
        error="no broker answered",
        hint="Check that host and port are right",
    )
    text = text_of(as_viewer)
    assert "no broker answered" in text
    assert "Check that host and port are right" in text


def test_partitions_without_a_leader_name_their_topics(as_viewer):
    cluster = make_cluster("east")
    make_rounds(cluster)
    make_topic(cluster, "payments", severity=4, offline_count=2)
    assert "In payments." in text_of(as_viewer)


def test_what_is_worst_comes_first_and_what_is_older_before():
    for name, failures, since in [("young", 1, NOW), ("old", 1, NOW - timedelta(days=1))]:
        make_flow(name, target=name, is_wanted=True, failures=failures, failing_since=since)
    cluster = make_cluster("east")
    make_rounds(cluster)
    make_topic(cluster, "t", severity=1, under_replicated_count=1)
    whats = [finding.what.split(":")[0] for finding in read_overview(NOW, make_user()).findings]
    assert whats == ["Flow old", "Flow young", "Cluster east"]


def test_more_rows_ask_no_more_queries(as_viewer):
    make_rounds(make_cluster("east"))
    make_flow("a")
    one = count_queries(as_viewer, reverse("overview:overview"))
    for name in ("b", "c"):
        make_rounds(make_cluster(name))
        make_flow(name, target=name)
    assert count_queries(as_viewer, reverse("overview:overview")) == one


def test_anonymous_people_are_sent_to_the_login(client):
    assert client.get(reverse("overview:overview")).status_code == 302


def test_a_program_that_was_restarted_because_it_finished_no_task_is_told_for_an_hour(
    as_viewer, settings, tmp_path
):
    settings.SIGNS_DIR = tmp_path
    make_rounds(make_cluster("east"))
    now = timezone.now()
    for minutes in (61, 50, 10):
        at = now - timedelta(minutes=minutes)
        LivenessSigns(tmp_path).note_restart(Restart("collect", at, 121, "/logs/collect.log"))
    text = text_of(as_viewer)
    assert "Program collect" in text
    assert "It had finished no task for 121 s" in text
    assert "2 times within an hour" in text
    assert "The last lines of collect.log" in text


def test_a_program_that_crashed_is_told_for_a_day_with_the_place(as_viewer, settings, tmp_path):
    settings.SIGNS_DIR = tmp_path
    make_rounds(make_cluster("east"))
    now = timezone.now()
    crash = "It crashed (Segmentation fault) in list_offsets (confluent_kafka/admin/__init__.py)."
    for hours in (25, 20, 2):
        at = now - timedelta(hours=hours)
        LivenessSigns(tmp_path).note_restart(Restart("collect", at, 0, "/logs/collect.log", crash))
    text = text_of(as_viewer)
    assert "It crashed (Segmentation fault) in list_offsets" in text
    assert "2 times within 24 hours" in text


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
