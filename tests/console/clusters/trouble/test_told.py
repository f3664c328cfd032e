"""A page about something on a cluster in trouble says so, with the age of what it says."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from console.accounts.models import Role
from console.availability.status.broker_models import BrokerStatus, Source
from console.availability.status.models import AvailabilityRound, Rollup
from console.clusters.models import Cluster, CollectionRound, Group, Noun
from console.clusters.trouble.told import troubles_of
from console.findings.models import Finding
from console.overview.queries import read_overview
from console.quorum.models import MetadataLog
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_topic, make_user
from tests.console.streams.making import make_streams, two_instances

pytestmark = pytest.mark.django_db
INCIDENT = "Cluster east: 2 partitions offline, 89 at min ISR, collected 23 s ago."


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def ago(seconds: float, now=NOW):
    return now - timedelta(seconds=seconds)


def make_rounds(cluster: Cluster, at, **fields) -> None:
    for noun in Noun.values:
        CollectionRound.objects.update_or_create(
            cluster=cluster,
            noun=noun,
            defaults={"succeeded_at": at, "failing_since": None, **fields},
        )


def make_whole(cluster: Cluster, at, source=Source.LOG, **counts) -> None:
    """What the room of availability knows of the cluster, from the metadata log."""
    log, _ = MetadataLog.objects.get_or_create(
        name=cluster.alias, defaults={"cluster": cluster, "created_at": at, "heard_at": at}
    )
    AvailabilityRound.objects.create(
        cluster=cluster, noun="status", source=source, log_id=log.pk, succeeded_at=at
    )
    Rollup.objects.create(cluster=cluster, kind="cluster", name="", **counts)


def break_east(now=NOW) -> Cluster:
    """Broker 3 is away: the log tells it while the last round of the cluster saw nothing."""
    cluster = make_cluster("east")
    make_rounds(cluster, ago(24, now))
    counts = {"offline": 2, "at_min_isr": 89, "state_at_min_isr": 87, "worst": 4}
    make_whole(cluster, ago(23, now), under_min_isr=2, under_replicated=87, **counts)
    BrokerStatus.objects.create(
        cluster=cluster, broker_id=3, rack="dc-c", is_there=False, since=ago(23, now), source="log"
    )
    Rollup.objects.create(cluster=cluster, kind="broker", name="3", out_of_sync=89)
    return cluster


def told(cluster: Cluster, now=NOW) -> list[str]:
    return [plain(one.what) for one in troubles_of([cluster.pk], now)]


def test_partitions_are_counted_with_the_age_of_the_count_and_the_broker_is_named():
    cluster = break_east()
    assert told(cluster) == [INCIDENT, "Cluster east: broker 3 (dc-c) down for 23 s."]
    first = troubles_of([cluster.pk], NOW)[0]
    assert (first.severity, first.word, first.href) == (
        "critical",
        "Offline",
        "/availability/east/",
    )


def test_a_cluster_without_trouble_has_no_line():
    cluster = make_cluster("east")
    make_rounds(cluster, NOW)
    make_whole(cluster, NOW, at_min_isr=12)
    assert told(cluster) == []


def test_a_cluster_that_does_not_answer_says_since_when_and_how_old_the_rest_is():
    cluster = make_cluster("east")
    make_rounds(
        cluster,
        ago(70),
        failing_since=ago(60),
        error="No broker answered.",
        error_code="unreachable",
    )
    (found,) = troubles_of([cluster.pk], NOW)
    since = f"{ago(60):%H:%M:%S} UTC"
    assert (
        plain(found.what)
        == f"Cluster east: not reachable since {since}, last collected 1 m 10 s ago."
    )
    assert (found.why, found.href) == ("No broker answered.", "/clusters/east/")


def test_a_cluster_that_no_round_comes_to_is_told_with_the_age():
    cluster = make_cluster("east")
    make_rounds(cluster, ago(43))
    assert told(cluster) == [
        f"Cluster east: not collected since {ago(43):%H:%M:%S} UTC, last collected 43 s ago."
    ]


def test_a_cluster_whose_collection_is_off_says_that_nothing_new_comes():
    cluster = make_cluster("east", is_enabled=False)
    make_whole(cluster, NOW, offline=2, worst=4)
    assert told(cluster) == ["Cluster east: Collection is disabled for this cluster."]


def test_a_serious_finding_about_the_quorum_is_told():
    cluster = make_cluster("east")
    make_rounds(cluster, NOW)
    log = MetadataLog.objects.create(name="east", cluster=cluster, created_at=NOW, heard_at=NOW)
    for code, severity in [("bare_majority", "critical"), ("election_storm", "info")]:
        Finding.objects.create(
            kind="quorum",
            log=log, code=code, severity=severity, sentence="2 of 3 voters answer.", opened_at=ago(30),
            last_seen_at=ago(5),
        )  # fmt: skip
    assert told(cluster) == ["Quorum of east: 2 of 3 voters answer, seen 5 s ago."]


@pytest.mark.parametrize(
    ("polled_s", "log_s", "polled_worst", "log_worst", "state"),
    [
        pytest.param(28, 2, 0, 4, "offline", id="the log knows it before the next round"),
        pytest.param(28, 2, 4, 0, "ok", id="the log knows that it is over"),
        pytest.param(2, 28, 4, 0, "offline", id="the round is newer"),
        pytest.param(43, 2, 0, 0, "stale", id="never a plain Ok over old rows"),
    ],
)
def test_the_newest_reading_says_how_partitions_are(
    polled_s, log_s, polled_worst, log_worst, state
):
    cluster = make_cluster("east")
    make_rounds(cluster, ago(polled_s))
    make_topic(cluster, "orders", severity=polled_worst, offline_count=2 if polled_worst else 0)
    make_whole(cluster, ago(log_s), worst=log_worst, offline=2 if log_worst else 0)
    assert state_on_the_overview() == state


def state_on_the_overview() -> str:
    ((found, _),) = read_overview(NOW, make_user(Role.ADMIN)).clusters
    return found.status.state


def test_what_the_log_tells_counts_although_the_topics_cannot_be_read():
    cluster = make_cluster("east")
    make_rounds(cluster, ago(20))
    topics = CollectionRound.objects.filter(cluster=cluster, noun=Noun.TOPICS)
    topics.update(failing_since=ago(10), error="It did not answer.", error_code="timeout")
    make_whole(cluster, ago(2), worst=4, offline=2)
    assert state_on_the_overview() == "offline"


@pytest.mark.parametrize(
    "path",
    [
        "/streams/",
        "/streams/east/shop/",
        "/streams/east/shop/key-lookup/",
        "/replication/",
        "/replication/{flow}/",
        "/replication/{flow}/partitions/",
        "/clusters/east/topics/orders/",
        "/clusters/east/groups/billing/",
    ],
)
def test_every_page_of_something_on_the_cluster_tells_it(sign_in, viewer, path):
    now = timezone.now()
    # Its rows are 8 s old: a busy machine may take its time before they count as stale.
    cluster = break_east(now + timedelta(seconds=15))
    flow = make_flow()
    make_topic(cluster, "orders")
    Group.objects.create(cluster=cluster, group_id="billing", changed_at=now)
    make_streams(cluster, two_instances(), now)
    text = sign_in(viewer).get(path.format(flow=flow.pk)).content.decode()
    assert re.search(r"2 partitions offline, 89 at min ISR, collected \d+ s ago", plain(text))
    assert 'href="/availability/east/"' in text


def test_a_page_of_many_flows_asks_no_more_queries_for_more_clusters(sign_in, viewer):
    break_east()
    make_flow()
    client = sign_in(viewer)
    before = count_queries(client, "/replication/")
    for number in range(5):
        make_flow(f"flow {number}", source=f"from-{number}")
    assert count_queries(client, "/replication/") == before


def test_old_numbers_of_a_flow_are_marked_in_tables_with_the_reason(sign_in, viewer):
    make_flow(measured_at=timezone.now() - timedelta(seconds=97))
    for path in ("/", "/replication/"):
        text = plain(sign_in(viewer).get(path).content.decode())
        assert re.search(r"Stale 1 m \d+ s ago", text)
        assert "No round has succeeded for longer than 1 m 30 s" in text


def test_an_application_that_is_not_read_any_more_is_marked_beside_its_state(sign_in, viewer):
    make_streams(make_cluster("east"), two_instances(), timezone.now() - timedelta(minutes=5))
    text = plain(sign_in(viewer).get("/streams/east/shop/").content.decode())
    assert re.search(r"Stable Stale 5 m[\d s]* ago", text)
