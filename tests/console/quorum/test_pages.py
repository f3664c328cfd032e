"""The pages of the quorum: what they show, for whom, and what they say to wrong questions."""

import html
import re

import pytest
from django.utils import timezone

from console.quorum.models import QuorumStatus
from jobs.cluster.admin.quorum import NoQuorum
from tests.console.making import count_queries, make_cluster
from tests.console.quorum.making import (
    make_change,
    make_history,
    make_log,
    make_partition,
    make_quorum,
    placed,
    replica,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def log():
    return make_quorum(make_cluster("east"), timezone.now())


@pytest.fixture
def visitor(sign_in, viewer, log):
    return sign_in(viewer)


def text_of(client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


PAGES = [
    "/quorum/", "/quorum/east/", "/quorum/east/voters/", "/quorum/east/partitions/",
    "/quorum/east/partitions/?topic=orders", "/quorum/east/partitions/?topic=orders&partition=0",
    "/quorum/east/brokers/", "/quorum/east/settings/", "/quorum/east/state/",
    "/quorum/east/state/?at=10&compare=700", "/quorum/east/log/", "/quorum/east/records/600/",
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_a_log_that_was_never_read_says_so_quietly(sign_in, viewer, path):
    make_cluster("east")
    assert sign_in(viewer).get(path).status_code == 200


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/quorum/", ["east", "1 finding"]),
        ("/quorum/east/", ["Leader", "epoch 7", "5r_-B-v5RnSfxKdD0aQ3Gw", "Even voters", "800 ms"]),
        ("/quorum/east/voters/", ["3 · STN8WqjT…", "3 · kQ2xW0aP…", "Disk replaced", "2.9 s"]),
        ("/quorum/east/partitions/?topic=orders&partition=0",
         ["Broker 3: Eligible leader", "Broker fenced", "orders-0"]),
        ("/quorum/east/partitions/?topic=orders", ["Partition", "Replica missing"]),
        ("/quorum/east/brokers/", ["Fenced", "BROKER_REGISTRATION_CHANGE_RECORD"]),
        ("/quorum/east/settings/", ["topic orders: min.insync.replicas", "— → 2"]),
        ("/quorum/east/log/", ["PARTITION_CHANGE_RECORD", "ISR 1 2 3 → 1 2", "ELR none → 3"]),
        ("/quorum/east/state/?at=650&kind=partition", ["orders-0", "State at offset 650", "ELR 3"]),
        ("/quorum/east/state/?at=10&compare=700", ["From offset 10 to 700", "1 2 3 → 1 2", "Added"]),
        ("/quorum/east/records/600/", ["Record at offset 600", "ISR 1 2 3 → 1 2"]),
    ],
)  # fmt: skip
def test_a_page_shows_what_happened(visitor, path, told):
    shown = text_of(visitor, path)
    assert [words for words in told if words not in shown] == []


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/quorum/east/state/?at=yesterday", "neither an offset nor a time"),
        ("/quorum/east/state/?at=2020-01-01T00:00:00Z", "is before the known range"),
        ("/quorum/east/state/?at=2199-01-01T00:00:00Z", "is in the future"),
        ("/quorum/east/state/?at=10&compare=2199-01-01T00:00:00Z", "is in the future"),
        ("/quorum/east/state/?at=999999999", "does not exist yet"),
        ("/quorum/east/state/?at=99999999999999999999", "larger than any offset"),
        ("/quorum/east/state/?at=5&kind=nonsense", "Select a valid choice"),
        ("/quorum/east/records/5000/", "has no record at offset 5,000"),
        ("/quorum/east/log/?broker=x", "Nothing fits"),
        ("/quorum/east/log/?from=yesterday", "is not a time"),
        ("/quorum/east/partitions/?topic=orders&partition=x", "Enter a whole number"),
    ],
)
def test_a_wrong_question_is_reported(visitor, path, told):
    assert told in text_of(visitor, path)


@pytest.mark.parametrize("kind", ["config", "partition"])
def test_the_kind_narrows_down_the_difference(visitor, kind):
    page = visitor.get(f"/quorum/east/state/?at=10&compare=700&kind={kind}")
    names = {one.subject.kind for one in page.context["differences"]}
    assert (names, page.context["difference_count"]) == ({kind}, len(page.context["differences"]))
    assert f"kind={kind}" in page.context["difference_call"].api
    assert "all kinds" in page.content.decode()


def test_an_offset_before_the_history_is_reported(sign_in, viewer):
    log = make_log(make_cluster("west"), start_offset=509)
    make_history(log)
    shown = text_of(sign_in(viewer), "/quorum/west/state/?at=12")
    assert "Offset 12 is before the known range: the history of west begins at offset 509." in shown


def test_what_polling_cannot_know_is_said_on_the_page(sign_in, viewer):
    make_log(make_cluster("west"), source="poll", lost="History is lost: no right to fetch.")
    assert "History is lost" in text_of(sign_in(viewer), "/quorum/west/voters/")


def test_missing_records_are_unknown_and_not_bridged(sign_in, viewer, log):
    start, end = log.created_at.replace(microsecond=0), log.created_at
    from datetime import timedelta

    gap = {"from": 350, "to": 390, "from_at": (start - timedelta(minutes=24)).isoformat()}
    log.gaps = [gap | {"to_at": (end - timedelta(minutes=22)).isoformat()}]
    log.save()
    page = sign_in(viewer).get("/quorum/east/voters/").content.decode()
    assert "lane--unknown" in page
    assert "url(#voters-hatch)" in page


@pytest.mark.parametrize("path", PAGES)
def test_a_page_asks_as_many_questions_whatever_the_number_of_rows(visitor, log, path):
    few = count_queries(visitor, path)
    for number in range(1, 40):
        partition = make_partition(log, "orders", number, 10 + number)
        make_change(partition, 100 + number, 2000, placed(1, 1, 2, 3))
        make_change(partition, 620 + number, 100, placed(2, 2, 3))
    assert count_queries(visitor, path) <= few


def test_a_partition_that_was_made_again_is_another_one(visitor, log):
    from console.quorum.models import MetadataSubject

    MetadataSubject.objects.filter(kind="topic").update(gone_offset=650)
    shown = text_of(visitor, "/quorum/east/state/?at=700&kind=topic")
    assert "The known log has no entry of this kind at that point." in shown


def test_people_without_a_right_on_the_cluster_do_not_see_it(client, log):
    from tests.console.safety.world import make_person

    make_cluster("west")
    client.force_login(make_person("eva", west="viewer"))
    assert client.get("/quorum/east/").status_code == 404
    assert "east" not in client.get("/quorum/").content.decode()


def test_a_cluster_with_zookeeper_says_what_it_cannot_have_and_what_works_instead(sign_in, viewer):
    log = make_log(make_cluster("east"))
    QuorumStatus.objects.create(
        log=log,
        failing_since=timezone.now(),
        error_code=NoQuorum.code,
        error="broker 1 does not offer DescribeQuorum: this cluster runs with ZooKeeper.",
        hint=NoQuorum.hint,
    )
    client = sign_in(viewer)
    text = text_of(client, "/quorum/east/")
    assert "No quorum broker 1 does not offer DescribeQuorum" in text
    assert "show partitions, ISR and configs by polling" in text
    told = client.get("/api/v1/quorum/east/").json()
    assert "runs with ZooKeeper" in told["verdict"]["why"]
    assert "by polling" in told["freshness"][0]["hint"]


@pytest.mark.parametrize(("word", "severity"), [("silent", "warning"), ("not_judged", "unknown")])
def test_what_is_wrong_with_a_voter_is_a_pill_of_its_severity(visitor, log, word, severity):
    QuorumStatus.objects.update(replicas=[replica(2, words=[word])])
    shown = visitor.get("/quorum/east/").content.decode()
    assert shown.count(f'class="state {severity}"') >= 2
