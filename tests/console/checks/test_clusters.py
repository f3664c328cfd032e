"""The area of clusters: what is judged of clusters, brokers and disks, and what is not."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.availability.collection.collect import take_in
from console.checks.areas import clusters as area
from console.checks.areas.area import Given
from console.checks.models import CheckRound
from console.checks.round import due_checks, run_checks
from console.clusters.models import Broker, CollectionRound, Noun
from console.findings.models import Finding
from console.quorum.models import MetadataChange
from jobs.checks.settings import Settings
from tests.console.availability.making import Story
from tests.console.clusters.making import NOW, make_cluster, make_round

pytestmark = pytest.mark.django_db
FOUR = {"cluster_unreachable", "cluster_id_mismatch", "collection_failing", "cluster_stale"}


def collected(alias="east", at=NOW, **fields):
    cluster = make_cluster(alias, **fields)
    for noun in Noun:
        make_round(cluster, noun, succeeded_at=at)
    return cluster


def make_broker(cluster, number=3, **fields):
    values = {"rack": "dc-c", "is_live": False, "replica_count": 9, "changed_at": NOW} | fields
    return Broker.objects.create(cluster=cluster, broker_id=number, **values)


def judged(now=NOW):
    """The codes that are judged of the only cluster, and what was found."""
    (one,) = area.judge(Given(now, Settings()))
    return set(one.codes), {found.code: found for found in one.found}


def followed(now=NOW):
    """A cluster whose log says that broker 3 was fenced ten seconds ago."""
    story = Story(now=now)
    story.brokers()
    story.topic("orders", 4)
    story.broker(3, 10, is_fenced=True)
    assert take_in(story.cluster.pk, lambda: now)
    return story


def test_a_fenced_broker_is_found_by_the_metadata_log_with_when_and_its_replicas():
    story = followed()
    codes, found = judged()
    assert found["broker_down"].since == story.at(10)
    assert found["broker_down"].evidence == {"broker": 3, "rack": "dc-c", "replicas": 4}
    assert "broker_down" in codes


def test_the_first_round_of_checks_after_the_fencing_opens_the_finding():
    story = followed()
    (pk,) = due_checks(NOW)
    assert run_checks(pk, lambda: NOW)
    row = Finding.objects.get(code="broker_down", closed_at=None)
    assert (row.cluster, row.opened_at, row.brokers) == (story.cluster, story.at(10), [3])
    assert CheckRound.objects.get().error == ""


def test_the_metadata_log_judges_brokers_while_the_rounds_are_late():
    story = followed()
    for noun in Noun:
        make_round(story.cluster, noun, succeeded_at=NOW - timedelta(hours=1))
    codes, found = judged()
    assert {"broker_down", "cluster_stale"} <= found.keys()
    assert "cluster_unreachable" not in codes


def test_a_silent_metadata_log_does_not_judge_brokers():
    followed()
    codes, found = judged(NOW + timedelta(seconds=40))
    assert not {"broker_down", "broker_restarts"} & (codes | found.keys())


def test_without_a_metadata_log_the_rounds_judge_brokers():
    make_broker(collected(), seen_at=NOW - timedelta(minutes=2))
    codes, found = judged()
    assert found["broker_down"].since == NOW - timedelta(minutes=2)
    assert "broker_down" in codes


def test_rounds_that_are_late_do_not_judge_brokers():
    make_broker(collected(at=NOW - timedelta(minutes=5)))
    codes, found = judged()
    assert set(found) == {"cluster_stale"}
    assert "broker_down" not in codes


def test_three_restarts_within_an_hour_are_found():
    story = Story()
    story.brokers()
    for number, seconds in enumerate((4000, 900, 600, 300)):
        change = story.broker(2, seconds, incarnation_id=f"life-{number}")
        MetadataChange.objects.filter(pk=change.pk).update(cause="broker_restarted")
    take_in(story.cluster.pk, lambda: NOW)
    codes, found = judged()
    assert found["broker_restarts"].evidence["restarts"] == 3
    assert "broker_restarts" in codes


@pytest.mark.parametrize(
    ("nouns", "error_code", "code"),
    [
        pytest.param(list(Noun), "", "cluster_unreachable", id="all fail"),
        pytest.param([Noun.GROUPS], "", "collection_failing", id="one fails"),
        pytest.param(list(Noun), "cluster_id_changed", "cluster_id_mismatch", id="another cluster"),
    ],
)
def test_collections_that_fail_are_one_finding(nouns, error_code, code):
    cluster = collected()
    CollectionRound.objects.filter(cluster=cluster, noun__in=nouns).update(
        failing_since=NOW, error="No.", error_code=error_code
    )
    codes, found = judged()
    assert found.keys() & FOUR == {code}
    assert found[code].since == NOW
    assert codes >= FOUR


@pytest.mark.parametrize(
    ("age_s", "is_judged"),
    [pytest.param(50, True, id="recent"), pytest.param(600, False, id="too old")],
)
def test_disks_are_judged_by_recent_answers_only(age_s, is_judged):
    full = {"path": "/data", "total_bytes": 1000, "usable_bytes": 50, "error": ""}
    at = NOW - timedelta(seconds=age_s)
    make_broker(collected(), is_live=True, log_dirs=[full], log_dirs_at=at)
    codes, found = judged()
    assert ("disk_full" in codes, "disk_full" in found) == (is_judged, is_judged)


def test_a_broker_that_is_down_keeps_the_finding_of_its_disk():
    full = {"path": "/data", "total_bytes": 1000, "usable_bytes": 50, "error": ""}
    make_broker(collected(), log_dirs=[full], log_dirs_at=NOW - timedelta(hours=1))
    codes, found = judged()
    assert {"broker_down", "disk_full"} <= found.keys()
    assert "disk_full" in codes


def test_nothing_is_wrong_with_a_cluster_whose_collection_is_disabled():
    make_broker(collected(is_enabled=False))
    codes, found = judged()
    assert not found
    assert {"broker_down", *FOUR} <= codes


def test_the_number_of_queries_does_not_grow_with_clusters():
    make_broker(collected())
    with CaptureQueriesContext(connection) as one:
        list(area.judge(Given(NOW, Settings())))
    for number in range(5):
        make_broker(collected(f"more-{number}"))
    with CaptureQueriesContext(connection) as six:
        list(area.judge(Given(NOW, Settings())))
    assert len(one) == len(six)
