"""Runbooks of a cluster: those that apply now, and none stated as a fact of a healthy partition."""

import shlex
from datetime import timedelta
from html import escape
from urllib.parse import urlencode

import pytest

from console.availability.collection import collect
from console.clusters.models import Cluster
from console.reports.kinds import availability
from console.reports.kinds.asked import Asked
from jobs.reports.periods import Period
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import NOW, make_cluster, run_rounds

pytestmark = pytest.mark.django_db
PAGE = "/availability/east/runbooks/"
ROUTE = "/api/v1/runbooks/?cluster=east"


@pytest.fixture
def visitor(viewer, sign_in):
    return sign_in(viewer)


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("orders", 6)
    return kafka


def collected(kafka):
    cluster = make_cluster()
    run_rounds(cluster, kafka)
    assert collect.take_in(cluster.pk, lambda: NOW)


@pytest.fixture
def healthy(kafka):
    collected(kafka)


@pytest.fixture
def incident(kafka):
    """Broker 3 is gone: two partitions have no leader, the others are at min ISR."""
    del kafka.brokers[3]
    for number in range(6):
        change = {"leader": 1, "isr": (1, 2)} if number > 1 else {"leader": None, "isr": (3,)}
        kafka.set_partition("orders", number, **change)
    collected(kafka)


def titles(page):
    return [book.title for book in page.context["runbooks"]]


def test_a_healthy_cluster_has_no_runbook_to_follow(visitor, healthy):
    page = visitor.get(PAGE)
    assert titles(page) == []
    assert "No partition needs a runbook." in page.content.decode()
    assert visitor.get(f"{ROUTE}&applies=true").json() == []


def test_an_incident_shows_the_runbooks_that_apply(visitor, incident):
    expected = [
        "orders-0 has no leader: a failed broker",
        "orders-2 is at min ISR: a failed broker",
    ]
    page = visitor.get(PAGE)
    assert titles(page) == expected
    assert "topic=orders&amp;partition=0" in page.content.decode()
    assert [one["title"] for one in visitor.get(f"{ROUTE}&applies=true").json()] == expected


@pytest.mark.parametrize(
    ("ends_before", "expected"),
    [
        pytest.param(
            timedelta(),
            [
                "orders-0 has no leader: a failed broker",
                "orders-2 is at min ISR: a failed broker",
            ],
            id="it ends now",
        ),
        pytest.param(timedelta(days=1), [], id="it ended before"),
    ],
)
def test_an_availability_report_that_ends_now_has_the_same_runbooks(
    viewer, incident, ends_before, expected
):
    end = NOW - ends_before
    asked = Asked(Period(end - timedelta(hours=1), end), [Cluster.objects.get()], viewer, now=NOW)
    (cluster,) = availability.read(asked).clusters
    assert list(dict.fromkeys(one.runbook for one in cluster.open_steps)) == expected


def test_a_report_has_no_runbooks_of_partitions_that_were_not_observed_lately(viewer, incident):
    now = NOW + timedelta(minutes=10)
    asked = Asked(Period(now - timedelta(hours=1), now), [Cluster.objects.get()], viewer, now=now)
    (cluster,) = availability.read(asked).clusters
    assert cluster.open_steps == ()


def test_all_of_them_are_one_click_away(visitor, incident):
    assert len(titles(visitor.get(f"{PAGE}?all=1"))) == 60


def test_a_runbook_that_is_looked_up_for_a_healthy_partition_says_so(visitor, healthy):
    asked = "severity=offline&cause=broker_dead&topic=orders&partition=0"
    page = visitor.get(f"{PAGE}?{asked}")
    assert titles(page) == ["If orders-0 has no leader: a failed broker"]
    text = page.content.decode()
    assert "Not applicable now" in text
    assert "orders-0 is healthy: leader 1, ISR 1, 2, 3 of 1, 2, 3." in text
    (told,) = visitor.get(f"{ROUTE}&{asked}").json()
    assert (told["applies"], told["actual"][:19]) == (False, "orders-0 is healthy")


def test_a_topic_is_shown_what_applies_to_it(visitor, incident):
    page = visitor.get(f"{PAGE}?topic=orders&partition=4")
    assert titles(page) == ["orders-4 is at min ISR: a failed broker"]


def test_what_a_cluster_names_is_text_on_the_page_and_one_word_of_each_command(visitor, kafka):
    topic = "<script>alert(1)</script>`$(reboot)`"
    kafka.add_topic(topic, 1)
    collected(kafka)
    query = urlencode({"topic": topic, "partition": 0, "severity": "offline", "cause": "unknown"})
    text = visitor.get(f"{PAGE}?{query}").content.decode()
    assert "<script>alert(1)" not in text
    assert f"--topic {escape(shlex.quote(topic))}" in text
