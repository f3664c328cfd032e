"""Last stable offsets that do not move (tests/conformance/reported/open_transaction_hides_lag)."""

import shlex
from dataclasses import replace
from datetime import timedelta

import pytest

from console.clusters.models import Group, GroupOffset, Partition
from console.clusters.trouble.told import troubles_of
from jobs.cluster.descriptions import OffsetRange, OpenTransaction, TopicPartition
from jobs.cluster.errors import ClusterFault
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import NOW, make_cluster, run_rounds

pytestmark = pytest.mark.django_db

BARN = TopicPartition("barn", 0)
HANGING = OpenTransaction(4, 2, 0, 10, transactional_id="tx-hang", state="Empty")


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("barn", 1)
    stuck(kafka, 10, 15)
    return kafka


@pytest.fixture
def cluster():
    return make_cluster()


def stuck(kafka, end, high):
    kafka.ranges[BARN] = OffsetRange(0, end, high, 60_000)


def rounds(cluster, kafka, *minutes):
    for one in minutes:
        run_rounds(cluster, kafka, NOW + timedelta(minutes=one))
    return Partition.objects.get()


def found(cluster, minute=20):
    told = troubles_of([cluster.pk], NOW + timedelta(minutes=minute))
    return [one for one in told if "last stable offset" in one.what]


def test_a_hanging_transaction_is_trouble_that_names_the_producer_and_the_command(cluster, kafka):
    kafka.open_transactions[BARN] = HANGING
    rounds(cluster, kafka, 0, 2)
    (one,) = found(cluster)
    assert one.word == "Hanging transaction"
    assert "barn-0 has been 10 since 2026-11-21 03:12:00 UTC, 5 offsets below" in one.what
    assert "tx-hang (producer id 4, epoch 2)" in one.why
    assert one.next == (
        "kafka-transactions.sh --bootstrap-server east.example:9092 abort --topic barn --partition 0 "
        "--start-offset 10"
    )


def test_it_ends_with_the_transaction(cluster, kafka):
    kafka.open_transactions[BARN] = HANGING
    rounds(cluster, kafka, 0, 2)
    stuck(kafka, 16, 16)
    assert rounds(cluster, kafka, 3).open_transaction is None
    assert found(cluster) == []


def test_an_offset_that_moves_is_not_stuck_and_no_leader_is_asked(cluster, kafka):
    rounds(cluster, kafka, 0)
    for minute in range(1, 5):
        stuck(kafka, 10 + minute, 15 + minute)
        rounds(cluster, kafka, minute)
    assert "read_open_transactions" not in kafka.asked


def test_leaders_are_asked_from_the_second_minute_on(cluster, kafka):
    kafka.open_transactions[BARN] = HANGING
    assert rounds(cluster, kafka, 0, 0.5).open_transaction == {
        "offset": 10, "seen_ms": int(NOW.timestamp() * 1000),
    }  # fmt: skip
    assert "read_open_transactions" not in kafka.asked


def test_a_transaction_that_is_older_than_its_timeout_is_ended_at_its_coordinator(cluster, kafka):
    began = int(NOW.timestamp() * 1000)
    kafka.open_transactions[BARN] = replace(
        HANGING, state="Ongoing", is_known=True, started_ms=began, timeout_ms=60_000
    )
    rounds(cluster, kafka, 0, 1.5)
    assert found(cluster) == []
    rounds(cluster, kafka, 3)
    (one,) = found(cluster)
    assert one.word == "Overdue transaction"
    assert one.next.endswith("forceTerminateTransaction --transactionalId tx-hang")


def overdue(cluster, kafka, name, state="Ongoing"):
    began = int(NOW.timestamp() * 1000)
    kafka.open_transactions[BARN] = replace(
        HANGING, transactional_id=name, state=state, is_known=True, started_ms=began, timeout_ms=1
    )
    rounds(cluster, kafka, 0, 3)
    (one,) = found(cluster)
    return one


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param('it\'s "mine" $(x)', ['it\'s "mine" $(x)'], id="quotes"),
        pytest.param("a b\tc", ["a b\tc"], id="blanks"),
        pytest.param("größe-☃", ["größe-☃"], id="letters of any language"),
    ],
)
def test_a_transactional_id_is_one_word_of_the_command(cluster, kafka, name, words):
    told = shlex.split(overdue(cluster, kafka, name).next)
    assert told[-2:] == ["--transactionalId", *words]


def test_a_transactional_id_that_begins_like_an_option_stays_with_its_own(cluster, kafka):
    told = shlex.split(overdue(cluster, kafka, "--help me").next)
    assert told[-1] == "--transactionalId=--help me"


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"], ids=["long", "with NUL"])
def test_no_command_has_a_transactional_id_that_is_not_whole(cluster, kafka, name):
    assert overdue(cluster, kafka, name).next == (
        "kafka-transactions.sh --bootstrap-server east.example:9092 list"
    )


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_a_transaction_whose_end_is_decided_is_not_aborted(cluster, kafka, state):
    one = overdue(cluster, kafka, "tx", state)
    assert "markers do not arrive" in one.why
    assert one.next.endswith(" describe --transactional-id tx")


def test_the_command_of_a_secured_cluster_has_its_settings(kafka):
    cluster = make_cluster(security_protocol="SSL")
    kafka.open_transactions[BARN] = HANGING
    rounds(cluster, kafka, 0, 2)
    assert " --command-config client.properties abort " in found(cluster)[0].next


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(None, id="it has ended"),
        pytest.param(replace(HANGING, start_offset=12), id="a younger one is open"),
    ],
)
def test_what_ended_between_the_questions_is_no_trouble(cluster, kafka, now):
    kafka.open_transactions[BARN] = HANGING
    rounds(cluster, kafka, 0, 2)
    assert found(cluster)
    kafka.open_transactions[BARN] = now
    rounds(cluster, kafka, 3)
    assert found(cluster) == []


def test_a_living_transaction_is_no_trouble_however_long_its_timeout_is(cluster, kafka):
    began = int(NOW.timestamp() * 1000)
    kafka.open_transactions[BARN] = replace(
        HANGING, state="Ongoing", is_known=True, started_ms=began, timeout_ms=7_200_000
    )
    rounds(cluster, kafka, 0, 2, 30, 119)
    assert found(cluster, 119) == []


def test_a_producer_that_no_coordinator_lists_is_hanging_after_the_longest_timeout(cluster, kafka):
    kafka.open_transactions[BARN] = replace(HANGING, transactional_id=None, state="")
    rounds(cluster, kafka, 0, 5)
    assert found(cluster) == []
    rounds(cluster, kafka, 17)
    assert "crosslog may not DESCRIBE" in found(cluster)[0].why


def test_a_missing_right_is_said_and_nothing_is_guessed(cluster, kafka):
    kafka.open_transactions[BARN] = ClusterFault("READ on topic barn is missing.", cluster="east")
    rounds(cluster, kafka, 0, 5)
    assert found(cluster) == []
    rounds(cluster, kafka, 17)
    (one,) = found(cluster)
    assert one.why == "Which producer it is is not known: READ on topic barn is missing."
    assert "describe-producers" in one.next


def test_a_round_without_an_answer_keeps_since_when_it_is(cluster, kafka):
    rounds(cluster, kafka, 0)
    kafka.ranges[BARN] = OffsetRange(error="no answer")
    rounds(cluster, kafka, 1)
    stuck(kafka, 10, 15)
    kept = rounds(cluster, kafka, 1.2).open_transaction
    assert kept["seen_ms"] == int(NOW.timestamp() * 1000)


def test_the_api_has_it(cluster, kafka, admin_client):
    kafka.open_transactions[BARN] = HANGING
    rounds(cluster, kafka, 0, 2)
    row = admin_client.get("/api/v1/partitions/").json()["results"][0]
    assert (row["open_transaction"]["producer_id"], row["open_transaction"]["is_too_long"]) == (
        4,
        True,
    )


def test_the_lag_of_a_group_is_told_to_both_ends(cluster, kafka, admin_client):
    kafka.add_group("billing", {("barn", 0): 10})
    rounds(cluster, kafka, 0)
    row, group = GroupOffset.objects.get(), Group.objects.get()
    assert (row.lag, row.lag_to_high_watermark, row.high_watermark) == (0, 5, 15)
    assert (group.lag, group.lag_to_high_watermark) == (0, 5)
    page = admin_client.get(f"/clusters/{cluster.alias}/groups/billing/").content.decode()
    assert "5 to the high watermark" in page
