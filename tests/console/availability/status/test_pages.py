"""The pages of availability: what they show, for whom, and with how many queries."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from console.availability.collection import collect
from console.availability.status.models import OutOfSyncSpan, PartitionStatus
from tests.console.availability.making import Story, describe_topic, finish_round, poll
from tests.console.making import count_queries, make_cluster

pytestmark = pytest.mark.django_db
PAGES = [
    "/availability/",
    "/availability/east/",
    "/availability/east/partitions/",
    "/availability/east/brokers/",
]


def told_story() -> Story:
    """A follower that fell behind, a leaderless partition, an unclean election."""
    now = timezone.now()
    story = Story(make_cluster("east"), now)
    story.brokers()
    describe_topic(story.cluster)
    describe_topic(story.cluster, "billing")
    finish_round(story.cluster, now)
    story.topic("orders", 3)
    story.topic("billing", 1)
    story.partition("orders", 0, 300, 1, 2, elr=[], cause="isr_shrink", broker=3)
    story.partition("orders", 1, 200, cause="leader_lost")
    story.partition("billing", 0, 150, cause="leader_lost")
    story.partition("billing", 0, 100, 3, cause="unclean_election", is_unclean=True)
    collect.take_in(story.cluster.pk, lambda: now)
    return story


@pytest.fixture
def visitor(sign_in, viewer):
    told_story()
    return sign_in(viewer)


def text_of(client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_a_cluster_that_was_never_looked_at_says_so_quietly(sign_in, viewer, path):
    make_cluster("east")
    assert sign_in(viewer).get(path).status_code == 200


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/availability/", ["east", "Partitions offline", "metadata log, with causes"]),
        ("/availability/east/", [
            "Availability of east", "Partitions offline", "2 writable", "Broker 3 fell behind",
            "Unclean election", "billing-0", "ISR was empty", "dc-a", "Offline",
        ]),
        ("/availability/east/partitions/", ["orders-0", "At min ISR", "Leader lost", "static"]),
        ("/availability/east/partitions/orders/0/", [
            "Partition orders-0", "At min ISR", "ISR 1 2", "server.properties", "Broker 3 · dc-c",
            "Out of sync", "Broker 3 fell behind", "State",
        ]),
        ("/availability/east/partitions/billing/0/", ["Leaderless time", "50 s", "Unclean election"]),
        ("/availability/east/brokers/", ["dc-b", "Unfenced", "ISR shrinks", "ISR changes, 24 h"]),
    ],
)  # fmt: skip
def test_a_page_shows_what_is_and_what_happened(visitor, path, told):
    shown = text_of(visitor, path)
    assert [words for words in told if words not in shown] == []


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("severity=offline", ["orders-1"]),
        ("severity=not_writable", ["billing-0", "orders-1"]),
        ("severity=wrong", ["billing-0", "orders-0", "orders-1"]),
        ("topic=billing", ["billing-0"]),
        ("broker=3&severity=ok", ["orders-2"]),
        ("missing=3", ["orders-0", "orders-1"]),
        ("missing=x", []),
        ("missing_rack=dc-a", ["billing-0", "orders-1"]),
        ("rack=dc-a&q=bill", ["billing-0"]),
    ],
)
def test_the_list_of_partitions_is_narrowed_down(visitor, query, names):
    page = visitor.get(f"/availability/east/partitions/?{query}").content.decode()
    assert sorted(set(re.findall(r">((?:orders|billing)-\d)<", page))) == names


def test_the_counts_lead_to_the_partitions_that_they_count(visitor):
    page = visitor.get("/availability/east/").content.decode()
    assert 'href="/availability/east/partitions/?counted_as=offline"' in page


def test_a_cause_leads_to_its_record(visitor):
    page = visitor.get("/availability/east/partitions/orders/0/").content.decode()
    offset = PartitionStatus.objects.get(topic="orders", partition=0).offset
    assert f'href="/quorum/east/records/{offset}/"' in page


def test_a_list_can_be_exported(visitor):
    answer = visitor.get("/availability/east/partitions/?format=csv")
    text = b"".join(answer.streaming_content).decode()
    assert "orders-0,at_min_isr" in text
    assert "Broker 3 fell behind" in text


def test_what_cannot_be_asked_is_told_from_what_came_in_since(visitor):
    row = OutOfSyncSpan.objects.get(topic="orders", partition=0)
    OutOfSyncSpan.objects.filter(pk=row.pk).update(left_end_offset=1_000)
    poll(row.cluster, timezone.now(), orders=[(1, 2), (), (1, 2, 3)], billing=[(3,)])
    row.cluster.partitions.filter(topic__name="orders", partition=0).update(end_offset=1_250)
    assert "~ 250" in text_of(visitor, "/availability/east/partitions/orders/0/")
    OutOfSyncSpan.objects.filter(pk=row.pk).update(lag=17, lag_at=timezone.now())
    assert "~ 250" not in text_of(visitor, "/availability/east/partitions/orders/0/")


def test_a_polled_partition_says_that_it_is_polled_and_has_lanes(sign_in, viewer):
    cluster, now = make_cluster("east"), timezone.now()
    for seconds, isr in ((40, (1, 2, 3)), (20, (1, 2))):
        at = now - timedelta(seconds=seconds)
        poll(cluster, at, orders=[isr])
        collect.take_in(cluster.pk, lambda at=at: at)
    shown = text_of(sign_in(viewer), "/availability/east/partitions/orders/0/")
    for words in (
        "polling, every 20 s",
        "Observed by polling",
        "not reported by polling",
        "Out of sync",
    ):
        assert words in shown


@pytest.mark.parametrize("path", ["/availability/west/", "/availability/east/partitions/none/0/"])
def test_what_is_not_there_is_not_found(visitor, path):
    assert visitor.get(path).status_code == 404


@pytest.mark.parametrize("path", [*PAGES, "/availability/east/partitions/orders/0/"])
def test_a_page_takes_the_same_queries_for_many_partitions(sign_in, viewer, path):
    story = told_story()
    client = sign_in(viewer)
    before = count_queries(client, path)
    story.topic("many", 60)
    for number in range(60):
        story.partition("many", number, 50, 1, cause="isr_shrink", broker=3)
    collect.take_in(story.cluster.pk, lambda: story.now)
    assert count_queries(client, path) <= before


def test_the_tabs_are_in_three_named_groups(visitor):
    page = visitor.get("/availability/east/").content.decode()
    names = re.findall(r'class="tabs__group" role="group" aria-label="(\w+)"', page)
    assert names == ["Now", "Plan", "Act"]
