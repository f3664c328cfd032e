"""The round for groups."""

import pytest

from console.clusters.collection import collect
from console.clusters.models import CollectionRound, Group, GroupOffset, Noun
from jobs import limits
from jobs.cluster.admin.groups import first_offsets
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    TopicPartition,
)
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import later, make_cluster, run_rounds

pytestmark = pytest.mark.django_db

ORDERS_0 = TopicPartition("orders", 0)


@pytest.fixture
def kafka():
    kafka = FakeKafka()
    kafka.add_topic("orders", 2, end=100, newest=60_000)
    return kafka


@pytest.fixture
def cluster():
    return make_cluster()


def run_groups_alone(cluster, kafka):
    """Run the round for groups while the one for offsets rests."""
    CollectionRound.objects.exclude(noun=Noun.GROUPS).update(claimed_until=later(60))
    CollectionRound.objects.filter(noun=Noun.GROUPS).update(claimed_until=None)
    collect.collect_cluster(cluster.pk, lambda: later(10), kafka.open)


def offset(partition=0):
    return GroupOffset.objects.get(topic="orders", partition=partition)


@pytest.mark.parametrize(
    ("committed", "start", "end", "lag", "status"),
    [
        pytest.param(90, 0, 100, 10, "ok", id="behind"),
        pytest.param(100, 0, 100, 0, "ok", id="at the end"),
        pytest.param(120, 0, 100, 0, "ahead_of_end", id="ahead of the end, never negative"),
        pytest.param(5, 40, 100, 60, "behind_log_start", id="retention was faster"),
        pytest.param(None, 0, 100, None, "no_commit", id="no commit is no number"),
    ],
)
def test_the_lag_of_a_group(cluster, kafka, committed, start, end, lag, status):
    kafka.set_range("orders", 0, start, end)
    kafka.add_group("billing", {("orders", 0): committed})
    run_rounds(cluster, kafka)
    assert (offset().lag, offset().lag_status) == (lag, status)


def test_transaction_markers_at_the_end_are_no_lag(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 99})
    kafka.data_ends["billing", ORDERS_0] = 99
    run_rounds(cluster, kafka)
    assert (offset().lag, offset().lag_ms) == (0, 0)


def test_lag_in_time_is_from_the_next_record_to_the_newest(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    kafka.timestamps[ORDERS_0, 90] = 45_000
    run_rounds(cluster, kafka)
    assert offset().lag_ms == 15_000
    assert Group.objects.get().lag_ms == 15_000


def test_lag_in_time_is_to_the_newest_record_after_the_commit_and_not_of_an_older_round(
    cluster, kafka
):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    kafka.set_range("orders", 0, 0, 130, newest=90_000)
    kafka.add_group("billing", {("orders", 0): 120})
    kafka.timestamps[ORDERS_0, 120] = 85_000
    run_groups_alone(cluster, kafka)
    assert (offset().lag, offset().lag_ms) == (10, 5_000)


@pytest.mark.parametrize(
    "newest",
    [
        pytest.param(None, id="not reported"),
        pytest.param(40_000, id="older than the record that waits"),
    ],
)
def test_lag_in_time_is_unknown_and_not_zero_where_the_newest_record_does_not_tell(
    cluster, kafka, newest
):
    kafka.set_range("orders", 0, 0, 100, newest=newest)
    kafka.add_group("billing", {("orders", 0): 90})
    kafka.timestamps[ORDERS_0, 90] = 45_000
    run_rounds(cluster, kafka)
    assert (offset().lag, offset().lag_ms) == (10, None)


def test_a_group_is_not_in_time_because_of_the_partitions_that_it_has_read(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90, ("orders", 1): 100})
    run_rounds(cluster, kafka)
    assert (offset(1).lag_ms, Group.objects.get().lag_ms) == (0, None)


def test_the_timestamp_of_the_next_record_is_read_once_while_the_group_stands_still(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    kafka.timestamps[ORDERS_0, 90] = 45_000
    run_rounds(cluster, kafka)
    kafka.set_range("orders", 0, 0, 130, newest=75_000)
    run_rounds(cluster, kafka, later(10))
    assert kafka.asked.count("read_timestamp_at") == 1
    assert offset().lag_ms == 30_000


def test_a_group_that_retention_overtook_is_measured_from_the_log_start(cluster, kafka):
    kafka.set_range("orders", 0, 40, 100)
    kafka.add_group("billing", {("orders", 0): 5})
    kafka.timestamps[ORDERS_0, 40] = 50_000
    run_rounds(cluster, kafka)
    assert offset().lag_ms == 10_000


def test_lag_in_time_is_unknown_when_the_record_cannot_be_read(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    assert (offset().lag, offset().lag_ms) == (10, None)


def test_a_group_sums_what_is_known(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90, ("orders", 1): 95, ("gone", 0): 7})
    run_rounds(cluster, kafka)
    group = Group.objects.get()
    assert (group.lag, group.unknown_count) == (15, 1)
    assert (group.topic_count, group.partition_count) == (2, 3)


def test_a_group_without_any_commit_has_no_lag_instead_of_zero(cluster, kafka):
    kafka.add_group("billing", {}, assigned=frozenset({ORDERS_0}))
    run_rounds(cluster, kafka)
    assert Group.objects.get().lag is None
    assert (offset().is_assigned, offset().lag_status) == (True, "no_commit")


def test_a_group_that_is_gone_is_removed_with_its_offsets(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    kafka.groups.clear()
    run_rounds(cluster, kafka, later(10))
    assert not Group.objects.exists()
    assert not GroupOffset.objects.exists()


def test_a_coordinator_that_does_not_answer_removes_no_group(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    kafka.groups.clear()
    kafka.list_errors = ("broker 2 did not answer",)
    rounds = run_rounds(cluster, kafka, later(10))
    assert Group.objects.count() == 1
    assert "broker 2 did not answer" in rounds["groups"].error


def test_a_group_that_cannot_be_described_keeps_what_was_known_of_it(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    kafka.groups["billing"] = GroupDescription("billing", "Unknown", "unknown", error="refused")
    run_rounds(cluster, kafka, later(10))
    group = Group.objects.get()
    assert (group.state, group.member_count, group.error) == ("Stable", 1, "refused")


def test_a_group_whose_commits_cannot_be_read_keeps_its_offsets(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    del kafka.committed["billing"]
    rounds = run_rounds(cluster, kafka, later(10))
    assert (offset().committed_offset, Group.objects.get().lag) == (90, 10)
    assert "committed offsets could not be read" in rounds["groups"].error


def test_an_error_of_one_partition_is_unknown_and_not_no_commit(cluster, kafka):
    kafka.add_group("billing", {})
    kafka.committed["billing"] = {ORDERS_0: CommittedOffset(None, error="unstable offset")}
    run_rounds(cluster, kafka)
    assert (offset().lag_status, offset().error) == ("unknown", "unstable offset")


@pytest.mark.parametrize(
    "group_id",
    [
        pytest.param("x" * 2000, id="too long"),
        pytest.param("".join(map(chr, range(0x4E00, 0x5200))), id="too long for an index"),
        pytest.param("a\0b", id="with NUL"),
    ],
)
def test_a_group_whose_id_no_row_can_have_is_a_problem_of_its_own_row(cluster, kafka, group_id):
    kafka.add_group(group_id, {("orders", 0): 90})
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    cut = Group.objects.exclude(group_id="billing").get()
    assert (cut.group_id, cut.lag) == (limits.short(group_id), 10)
    assert cut.error.startswith(limits.CUT_ID)
    round_error = CollectionRound.objects.get(noun=Noun.GROUPS).error
    assert "1 of 2 groups are incomplete" in round_error
    assert limits.GROUPS_LEFT_OUT not in round_error


def test_a_group_with_a_cut_id_keeps_its_row(cluster, kafka):
    kafka.add_group("a\0b", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    before = Group.objects.get().pk
    run_rounds(cluster, kafka, later(10))
    assert Group.objects.get().pk == before


def beyond(count):
    return {("orders", number): 5 for number in range(count)}


def test_offsets_beyond_the_limit_of_a_group_are_left_out_and_said(cluster, kafka):
    kafka.add_group("evil", beyond(limits.GROUP_PARTITIONS + 5))
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    row = Group.objects.get(group_id="evil")
    assert row.is_partial
    assert row.error.startswith("Beyond the limits: 5 partitions of the group are left out")
    assert row.offsets.count() == limits.GROUP_PARTITIONS
    assert (row.partition_count, row.unknown_count) == (limits.GROUP_PARTITIONS + 5, 10_003)
    assert not Group.objects.get(group_id="billing").error
    assert "1 of 2 groups are incomplete" in CollectionRound.objects.get(noun=Noun.GROUPS).error


def test_members_that_name_partitions_that_do_not_exist_have_no_rows_for_them(cluster, kafka):
    held = frozenset(TopicPartition("orders", number) for number in range(240_000))
    kafka.add_group("evil", {("orders", 0): 90}, assigned=held)
    run_rounds(cluster, kafka)
    assert [row.partition for row in GroupOffset.objects.all()] == [0, 1]
    assert Group.objects.get().error == ""


def test_partitions_of_topics_that_are_not_seen_are_kept_up_to_the_limit(cluster, kafka):
    held = frozenset(TopicPartition("hidden", number) for number in range(10_010))
    kafka.add_group("evil", {("orders", 0): 90}, assigned=held)
    run_rounds(cluster, kafka)
    assert GroupOffset.objects.count() == limits.GROUP_PARTITIONS
    assert "11 partitions of the group are left out" in Group.objects.get().error


def test_small_groups_lose_nothing_to_large_ones():
    large = {TopicPartition("orders", number): CommittedOffset(1) for number in range(9_000)}
    groups = {f"evil-{number}": large for number in range(60)}
    groups["small"] = {ORDERS_0: CommittedOffset(7)}
    found, left_out = first_offsets(groups)
    assert sum(map(len, found.values())) == limits.ROUND_PARTITIONS
    assert found["small"] == groups["small"]
    assert sum(left_out.values()) == 60 * 9_000 + 1 - limits.ROUND_PARTITIONS


def test_a_long_name_of_an_assignor_is_cut(cluster, kafka):
    kafka.add_group("evil", {("orders", 0): 90}, assignor="a" * 32_000)
    run_rounds(cluster, kafka)
    assert len(Group.objects.get().assignor) == limits.TEXT


HALF = {"assigned": frozenset({ORDERS_0, TopicPartition("orders", 1)})}


@pytest.mark.parametrize(
    ("committed", "lag", "lag_ms", "unknown"),
    [
        pytest.param(
            {0: 100}, None, None, 1, id="one partition read to its end, one without a commit"
        ),
        pytest.param({0: 90}, 10, 15_000, 1, id="one behind, one without a commit"),
        pytest.param({0: 90, 1: 100}, 10, 15_000, 0, id="both with a commit"),
        pytest.param({}, None, None, 2, id="no commit at all"),
    ],
)
def test_a_total_counts_the_partitions_without_a_number(
    cluster, kafka, committed, lag, lag_ms, unknown
):
    """tests/conformance/reported/group_lag_of_what_is_known"""
    kafka.add_group("g-half", {("orders", p): at for p, at in committed.items()}, **HALF)
    kafka.timestamps[ORDERS_0, 90] = 45_000
    run_rounds(cluster, kafka)
    group = Group.objects.get()
    assert (group.lag, group.lag_ms, group.unknown_count) == (lag, lag_ms, unknown)


def test_a_lag_whose_time_is_not_known_makes_the_total_in_time_unknown(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90, ("orders", 1): 100})
    run_rounds(cluster, kafka)
    group = Group.objects.get()
    assert (group.lag, group.unknown_count) == (10, 0)
    assert (group.lag_ms, group.unknown_ms_count) == (None, 1)


def test_the_page_and_metrics_mark_a_total_of_some_partitions(cluster, kafka, admin_client):
    kafka.add_group("g-half", {("orders", 0): 100}, **HALF)
    run_rounds(cluster, kafka)
    alias = cluster.alias
    for address in (f"/clusters/{alias}/groups/", f"/clusters/{alias}/groups/g-half/"):
        assert "not known" in admin_client.get(address).content.decode()
    assert (
        "1 of 2 partitions not known"
        in admin_client.get(f"/clusters/{alias}/groups/g-half/").content.decode()
    )


@pytest.mark.parametrize(
    ("before", "after", "is_since"),
    [
        pytest.param((90, 100), (90, 120), 0, id="does not move"),
        pytest.param((90, 100), (95, 120), 60, id="moved"),
        pytest.param((100, 100), (100, 120), 60, id="records begin to wait"),
        pytest.param((100, 100), (100, 100), 0, id="no record waits"),
        pytest.param((90, 100), (None, 100), None, id="no commit any more"),
    ],
)
def test_a_commit_is_dated_from_when_it_could_move(cluster, kafka, before, after, is_since):
    for committed, end, at in ((*before, 0), (*after, 60)):
        kafka.set_range("orders", 0, 0, end)
        kafka.add_group("billing", {("orders", 0): committed}, assigned=frozenset({ORDERS_0}))
        run_rounds(cluster, kafka, later(at))
    assert offset().committed_since == (None if is_since is None else later(is_since))


def test_a_commit_that_was_not_dated_yet_is_dated_by_the_next_round(cluster, kafka):
    kafka.add_group("billing", {("orders", 0): 90})
    run_rounds(cluster, kafka)
    GroupOffset.objects.update(committed_since=None)
    run_rounds(cluster, kafka, later(60))
    assert offset().committed_since == later(60)
