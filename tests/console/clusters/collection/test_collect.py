"""Collection rounds: claims, freshness, failures."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.clusters.collection import collect
from console.clusters.models import Broker, Cluster, CollectionRound, Group, Noun, Topic
from jobs.cluster.check import NO_TOPIC
from jobs.cluster.errors import (
    AuthenticationFailed,
    NotAuthorized,
    SeveralClusters,
    TimedOut,
    Unreachable,
)
from tests.console.clusters.fake_kafka import CLUSTER_ID, FakeKafka
from tests.console.clusters.making import NOW, later, make_cluster, run_rounds
from tests.console.making import assert_due_after

pytestmark = pytest.mark.django_db


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("orders")
    kafka.add_group("billing", {("orders", 0): 90})
    return kafka


@pytest.fixture
def cluster():
    return make_cluster()


def test_every_noun_gets_a_freshness_row(cluster, kafka):
    rounds = run_rounds(cluster, kafka)
    assert {noun: row.succeeded_at for noun, row in rounds.items()} == dict.fromkeys(
        Noun.values, NOW
    )
    assert [rounds[noun].row_count for noun in Noun.values] == [3, 3, 3, 1]


def test_a_round_that_is_not_due_is_left_alone(cluster, kafka):
    run_rounds(cluster, kafka)
    collect.collect_cluster(cluster.pk, lambda: later(1), kafka.open)
    assert kafka.opened == 1


def test_a_round_that_another_worker_has_claimed_is_left_alone(cluster, kafka):
    run_rounds(cluster, kafka)
    CollectionRound.objects.update(claimed_until=later(150))
    collect.collect_cluster(cluster.pk, lambda: later(149), kafka.open)
    assert kafka.opened == 1


def test_a_round_whose_worker_died_is_taken_over_when_its_claim_ends(cluster, kafka):
    run_rounds(cluster, kafka)
    CollectionRound.objects.update(claimed_until=later(150))
    collect.collect_cluster(cluster.pk, lambda: later(151), kafka.open)
    assert kafka.opened == 2


def test_due_clusters_are_those_with_a_round_that_is_due(cluster, kafka, settings):
    assert collect.due_clusters(NOW) == [cluster.pk]
    run_rounds(cluster, kafka)
    assert collect.due_clusters(NOW) == []
    for row in CollectionRound.objects.all():
        assert_due_after(row, NOW, settings.COLLECT_INTERVAL_S)
        assert collect.due_clusters(row.claimed_until + timedelta(seconds=1)) == [cluster.pk]


def test_a_cluster_that_is_switched_off_is_not_asked(cluster, kafka):
    Cluster.objects.update(is_enabled=False)
    run_rounds(cluster, kafka)
    assert collect.due_clusters(NOW) == []
    assert kafka.opened == 0


def test_an_unreachable_cluster_fails_every_noun_after_one_question(cluster, kafka):
    kafka.faults["describe_cluster"] = Unreachable("connection refused", cluster="east")
    rounds = run_rounds(cluster, kafka)
    assert {row.error_code for row in rounds.values()} == {"unreachable"}
    assert kafka.asked == ["describe_cluster"]


def test_old_rows_stay_while_a_cluster_is_unreachable_and_say_since_when(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.faults["describe_cluster"] = Unreachable("connection refused", cluster="east")
    run_rounds(cluster, kafka, later(10))
    rounds = run_rounds(cluster, kafka, later(20))
    assert Topic.objects.count() == 1
    assert (rounds["topics"].succeeded_at, rounds["topics"].failing_since) == (NOW, later(10))


def test_a_success_ends_the_failure(cluster, kafka):
    kafka.faults["describe_cluster"] = Unreachable("connection refused", cluster="east")
    run_rounds(cluster, kafka)
    kafka.faults.clear()
    row = run_rounds(cluster, kafka, later(10))["brokers"]
    assert (row.failing_since, row.error, row.error_code, row.hint) == (None, "", "", "")


def test_wrong_credentials_are_named_with_what_to_do(cluster, kafka):
    kafka.faults["describe_cluster"] = AuthenticationFailed("wrong password", cluster="east")
    row = run_rounds(cluster, kafka)["groups"]
    assert (row.error_code, row.error) == ("authentication_failed", "wrong password")
    assert row.hint.startswith("Check the user name")


@pytest.mark.parametrize(
    ("question", "noun"),
    [("describe_topics", "topics"), ("read_offset_ranges", "offsets"), ("list_groups", "groups")],
)
@pytest.mark.parametrize("kind", [NotAuthorized, TimedOut], ids=["not authorized", "timed out"])
def test_a_noun_fails_alone(cluster, kafka, question, noun, kind):
    run_rounds(cluster, kafka)
    kafka.faults[question] = kind("no", cluster="east")
    rounds = run_rounds(cluster, kafka, later(10))
    assert [n for n, row in rounds.items() if row.failing_since] == [noun]


def test_what_breaks_in_one_noun_is_written_down_and_the_others_go_on(cluster, kafka):
    kafka.faults["describe_topics"] = ZeroDivisionError("by zero")
    rounds = run_rounds(cluster, kafka)
    assert "a fault of the program" in rounds["topics"].error
    assert rounds["groups"].succeeded_at == NOW


def test_what_breaks_before_any_noun_is_written_to_all(cluster, kafka):
    kafka.faults["describe_cluster"] = ZeroDivisionError("by zero")
    rounds = run_rounds(cluster, kafka)
    assert all("a fault of the program" in row.error for row in rounds.values())


def test_settings_that_are_not_usable_any_more_are_explained(cluster, kafka):
    Cluster.objects.update(security_protocol="SASL_SSL")
    row = run_rounds(cluster, kafka)["brokers"]
    assert "sasl_password" in row.error
    assert kafka.opened == 0


def test_a_cluster_that_was_saved_unchecked_learns_its_id_from_the_first_answer(cluster, kafka):
    run_rounds(cluster, kafka)
    assert cluster.cluster_id == CLUSTER_ID


def test_another_cluster_behind_the_address_is_refused_and_the_old_rows_stay(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.cluster_id, kafka.topics = "another", {}
    rounds = run_rounds(cluster, kafka, later(10))
    assert {row.error_code for row in rounds.values()} == {"cluster_id_changed"}
    assert (cluster.cluster_id, cluster.seen_cluster_id) == (CLUSTER_ID, "another")
    assert Topic.objects.count() == 1


def test_bootstrap_servers_of_two_clusters_write_nothing_and_offer_no_new_id(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.topics = {}
    kafka.faults["describe_cluster"] = SeveralClusters("two clusters", cluster="east")
    rounds = run_rounds(cluster, kafka, later(10))
    assert {row.error_code for row in rounds.values()} == {"several_clusters"}
    assert (cluster.seen_cluster_id, Topic.objects.count()) == ("", 1)


def test_a_cluster_saved_unchecked_that_is_registered_already_is_not_collected(kafka):
    make_cluster("east", cluster_id=CLUSTER_ID)
    mirror = make_cluster("mirror")
    rounds = run_rounds(mirror, kafka)
    assert {row.error_code for row in rounds.values()} == {"registered_twice"}
    assert (mirror.cluster_id, Topic.objects.count()) == ("", 0)
    assert CLUSTER_ID in rounds["topics"].error


def test_that_no_topic_is_visible_is_no_finding_any_more_once_a_round_sees_topics(kafka):
    findings = ["No broker has broker.rack set.", NO_TOPIC]
    cluster = make_cluster("west", findings=findings, checked_at=NOW)
    topics, kafka.topics = kafka.topics, {}
    run_rounds(cluster, kafka)
    assert cluster.findings == findings
    kafka.topics = topics
    run_rounds(cluster, kafka, later(10))
    assert cluster.findings == findings[:1]


def test_the_seen_id_is_forgotten_when_the_registered_cluster_is_back(cluster, kafka):
    run_rounds(cluster, kafka)
    kafka.cluster_id = "another"
    run_rounds(cluster, kafka, later(10))
    kafka.cluster_id = CLUSTER_ID
    run_rounds(cluster, kafka, later(20))
    assert cluster.seen_cluster_id == ""


def test_a_dead_broker_stays_while_partitions_count_on_it(cluster, kafka):
    run_rounds(cluster, kafka)
    del kafka.brokers[3]
    rounds = run_rounds(cluster, kafka, later(10))
    broker = Broker.objects.get(broker_id=3)
    assert (broker.is_live, broker.seen_at, broker.rack) == (False, NOW, "dc-c")
    assert rounds["brokers"].error.endswith("broker 3.")


def test_a_broker_that_nobody_counts_on_any_more_is_forgotten(cluster, kafka):
    run_rounds(cluster, kafka)
    del kafka.brokers[3]
    for partition in range(3):
        kafka.set_partition("orders", partition, replicas=(1, 2), isr=(1, 2))
    for seconds in (10, 20):
        run_rounds(cluster, kafka, later(seconds))
    assert not Broker.objects.filter(broker_id=3).exists()


@pytest.mark.django_db(transaction=True)
def test_a_cluster_that_is_deleted_during_its_round_leaves_nothing_behind(cluster, kafka):
    def delete_meanwhile():
        Cluster.objects.all().delete()
        return FakeKafka.describe_topics(kafka)

    kafka.describe_topics = delete_meanwhile
    collect.collect_cluster(cluster.pk, lambda: NOW, kafka.open)
    assert not Topic.objects.exists()
    assert not Group.objects.exists()


def test_rounds_of_two_clusters_do_not_mix(cluster, kafka):
    west, other = make_cluster("west"), FakeKafka()
    other.cluster_id = "west-id"
    other.add_topic("orders", 1)
    run_rounds(cluster, kafka)
    run_rounds(west, other)
    assert cluster.partitions.count() == 3
    assert west.partitions.count() == 1


def count_queries(cluster, kafka, now):
    with CaptureQueriesContext(connection) as captured:
        run_rounds(cluster, kafka, now)
    return len(captured)


def test_a_round_takes_as_many_queries_for_one_topic_as_for_three_hundred(cluster, kafka):
    run_rounds(cluster, kafka)
    one = count_queries(cluster, kafka, later(10))
    for i in range(300):
        kafka.add_topic(f"topic-{i}", 1)
    run_rounds(cluster, kafka, later(20))
    assert count_queries(cluster, kafka, later(30)) == one
