"""Rounds that collect applications: what is written, what stays, and that one bad one costs only itself."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console.streams.collection import collect, rows
from console.streams.collection.collect import SeenApplications, first_applications
from console.streams.collection.rows import counts_of, save_application
from console.streams.models import StreamsApplication, StreamsRound, StreamsSnapshot
from console.streams.snapshots import picture_of
from jobs import limits
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import NotAuthorized, Unreachable
from jobs.cluster.group_members import ClassicGroup
from jobs.streams.application import Role
from jobs.streams.audit.conditions import Seen
from jobs.streams.lag import NOT_KEPT
from jobs.streams.rebalances.changes import Change, Reason
from tests.console.making import NOW, make_cluster
from tests.console.streams.making import (
    SHOP,
    group,
    make_streams,
    member,
    observation,
    two_instances,
    without_endpoint,
)
from tests.jobs.streams.audit.seeing import application, thread

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster():
    return make_cluster("east")


def seen(*observations, others=(), **fields):
    ids = frozenset({one.group.group_id for one in observations} | set(others))
    return SeenApplications({one.group.group_id: one for one in observations}, ids, **fields)


def run(cluster, answer, now=NOW):
    """Run a round at a moment, due or not; return what was passed to the door as known."""
    StreamsRound.objects.update(claimed_until=None)
    asked = []

    def door(_connection, known, _now_ms):
        asked.append(set(known))
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert collect.collect_applications(cluster.pk, lambda: now, door)
    return asked[0]


def shop() -> StreamsApplication:
    return StreamsApplication.objects.get(application_id=SHOP)


def test_a_round_writes_counts_lag_and_a_snapshot(cluster):
    run(cluster, seen(observation(two_instances())))
    row = shop()
    assert (row.protocol, row.state, row.instances, row.threads) == ("streams", "Stable", 2, 2)
    assert (row.tasks, row.tasks_without_thread, row.stores) == (4, 0, 1)
    assert row.lag_records == 10 + 11 + 12 + 13
    assert (row.answers_wrong, row.misrouted_share) == (False, 0)
    assert row.snapshots.get().generation == 5
    assert len(picture_of(row).application.processes) == 2
    assert StreamsRound.objects.get().succeeded_at == NOW


def test_an_instance_without_endpoint_makes_answers_wrong(cluster):
    run(cluster, seen(observation(without_endpoint())))
    assert shop().answers_wrong is True
    assert shop().misrouted_share > 0


def test_a_snapshot_is_stored_once_for_each_assignment(cluster):
    for _ in range(2):
        run(cluster, seen(observation(two_instances())))
    moved = group(member(1, (0, 1, 2)), member(2, (3,)), group_epoch=6)
    run(cluster, seen(observation(moved)), NOW + timedelta(minutes=1))
    taken = StreamsSnapshot.objects.order_by("pk").values_list("generation", flat=True)
    assert list(taken) == [5, 6]


@pytest.mark.parametrize(
    ("found", "state", "threads"),
    [
        (ClassicGroup(SHOP, "PreparingRebalance", "consumer", "", ()), "PreparingRebalance", 0),
        (group(state="Empty"), "Empty", 0),
        (replace(two_instances(), subtopologies=None, state="NotReady"), "NotReady", 2),
    ],
    ids=["rebalancing", "empty", "without topology"],
)
def test_a_group_without_metadata_keeps_the_last_whole_snapshot(cluster, found, state, threads):
    run(cluster, seen(observation(two_instances())))
    run(cluster, seen(observation(found)), NOW + timedelta(minutes=5))
    row = shop()
    assert (row.state, row.threads, row.tasks) == (state, threads, 4)
    assert (row.facts_at, row.snapshots.count()) == (NOW, 1)
    assert len(picture_of(row).application.tasks) == 4


def test_known_applications_are_asked_for_again(cluster):
    run(cluster, seen(observation(two_instances())))
    assert run(cluster, seen(observation(two_instances()))) == {SHOP}


def test_a_group_that_is_not_listed_is_gone(cluster):
    run(cluster, seen(observation(two_instances())))
    run(cluster, seen())
    assert (shop().state, shop().instances, shop().tasks_without_thread) == ("Gone", 0, 4)


def test_a_broker_that_does_not_list_its_groups_makes_none_gone(cluster):
    run(cluster, seen(observation(two_instances())))
    fault = Unreachable("Broker 2 did not answer.", cluster="east")
    run(cluster, seen(cluster_faults=(fault,)))
    assert shop().state == "Stable"
    assert StreamsRound.objects.get().error == "Broker 2 did not answer."


def test_a_group_that_cannot_be_described_says_why_and_keeps_its_values(cluster):
    run(cluster, seen(observation(two_instances())))
    fault = NotAuthorized("DESCRIBE on group shop is missing.", cluster="east", hint="Grant it.")
    run(cluster, seen(others=[SHOP], faults={SHOP: fault}))
    assert "DESCRIBE on group shop is missing." in shop().problem
    assert (shop().state, shop().instances) == ("Stable", 2)


def test_one_application_that_breaks_costs_no_other(cluster):
    broken = observation(two_instances(group_id="broken"))
    object.__setattr__(broken, "committed", None)
    run(cluster, seen(broken, observation(two_instances())))
    assert shop().tasks == 4
    told = StreamsRound.objects.get()
    assert (told.error_code, told.failing_since) == ("partial", None)
    assert "broken" in told.error


def test_a_failed_round_keeps_values_and_says_why(cluster):
    run(cluster, seen(observation(two_instances())))
    run(cluster, Unreachable("No broker answered.", cluster="east"), NOW + timedelta(minutes=1))
    told = StreamsRound.objects.get()
    assert (told.error, told.succeeded_at) == ("No broker answered.", NOW)
    assert told.failing_since == NOW + timedelta(minutes=1)
    assert shop().freshness.is_failing


def test_a_claimed_round_is_not_run_twice(cluster):
    run(cluster, seen())
    assert not collect.collect_applications(cluster.pk, lambda: NOW, None)
    assert collect.APPLICATIONS.due(NOW) == []
    assert collect.APPLICATIONS.due(NOW + timedelta(seconds=31)) == [cluster.pk]


def test_old_snapshots_go_and_the_newest_stays(cluster, settings):
    row = make_streams(cluster)
    later = NOW + timedelta(minutes=1)
    make_streams(cluster, group(member(1, (0, 1, 2, 3)), group_epoch=6), later)
    end = NOW + timedelta(days=settings.STREAMS_RETENTION_D, minutes=2)
    StreamsApplication.objects.update(last_seen_at=end)
    rows.prune(end)
    assert row.snapshots.get().generation == 6


def test_applications_that_are_gone_for_long_are_removed(cluster, settings):
    make_streams(cluster)
    rows.prune(NOW + timedelta(days=settings.STREAMS_RETENTION_D, minutes=1))
    assert not StreamsApplication.objects.exists()


def flap(cluster, *seconds):
    for number, at_s in enumerate(seconds):
        found = group(member(1, (0, 1, 2), client_id=f"c{number}"), member(2, (3,)))
        run(cluster, seen(observation(found)), NOW.replace(second=0) + timedelta(seconds=at_s))


def test_at_most_one_snapshot_a_minute_is_kept_and_the_newest_holds(cluster):
    flap(cluster, 0, 10, 59, 61, 119, 120)
    assert StreamsSnapshot.objects.count() == 3
    threads = picture_of(shop()).application.threads
    assert {one.client_id for one in threads} == {"c5", f"{SHOP}-2-StreamThread-1"}
    assert [one.taken_at.second for one in StreamsSnapshot.objects.order_by("pk")] == [59, 59, 0]


def test_a_day_of_snapshots_has_a_limit_of_bytes(cluster):
    for number in range(4):
        found = group(member(1, (0, 1, 2), client_id=f"c{number}"), member(2, (3,)))
        row = StreamsApplication.objects.filter(cluster=cluster).first()
        save_application(
            cluster, row, observation(found), NOW + timedelta(minutes=number), day_bytes=1_000
        )
    sizes = [len(one.content) + len(one.changelogs) for one in StreamsSnapshot.objects.all()]
    assert len(sizes) == 2
    assert sizes[0] < 1_000 <= sum(sizes)
    assert picture_of(shop()).taken_at == NOW + timedelta(minutes=3)


def test_ages_over_source_partitions_of_which_one_is_not_known_are_not_known(cluster):
    told = observation(two_instances())
    ends = {number: end for number, end in told.topics["orders"].ends.items() if number}
    topics = {**told.topics, "orders": replace(told.topics["orders"], ends=ends)}
    committed = {
        TopicPartition("orders", number): CommittedOffset(100) for number in range(4)
    }  # all of what is known is read
    run(cluster, seen(replace(told, topics=topics, committed=committed)))
    row = shop()
    assert (row.lag_records, row.lag_unknown_count) == (None, 1)
    assert row.lag_at_most_ms is row.event_time_lag_ms is None


def crowd():
    """More members than are kept of one application."""
    return group(*(member(number, (number % 4,)) for number in range(1_001)))


def test_an_application_beyond_the_limits_says_so_and_makes_no_verdict(cluster):
    run(cluster, seen(observation(crowd())))
    row = shop()
    assert row.left_out == "1,001 members: the first 1,000 are kept."
    assert (row.threads, row.tasks) == (1_000, 4)
    assert row.tasks_without_thread is row.answers_wrong is row.misrouted_share is None
    assert row.lag_at_most_ms is row.event_time_lag_ms is None
    assert "1 of 1 applications are beyond the limits" in StreamsRound.objects.get().error


def test_an_application_that_is_within_the_limits_again_says_so(cluster):
    run(cluster, seen(observation(crowd())))
    run(cluster, seen(observation(two_instances())), NOW + timedelta(minutes=1))
    assert shop().left_out == ""
    assert StreamsRound.objects.get().error == ""


def test_the_first_applications_are_kept_and_those_that_are_known_before_all():
    ids = [f"app-{number:04}" for number in range(1_100)]
    kept, left_out = first_applications(ids, ["app-1099"], "east")
    assert len(kept) == limits.APPLICATIONS
    assert "app-1099" in kept
    assert len(left_out) == 100
    assert "more than 1,000 applications" in left_out["app-1000"].message


def test_applications_that_are_gone_for_longest_make_room(cluster):
    rows = [
        StreamsApplication(
            cluster=cluster,
            application_id=f"gone-{number}",
            protocol="classic",
            state="Gone",
            first_seen_at=NOW,
            last_seen_at=NOW - timedelta(minutes=number),
        )
        for number in range(1, limits.APPLICATIONS_KEPT + 1)
    ]
    StreamsApplication.objects.bulk_create(rows)
    run(cluster, seen(observation(two_instances())))
    names = set(StreamsApplication.objects.values_list("application_id", flat=True))
    assert len(names) == limits.APPLICATIONS_KEPT
    assert SHOP in names
    assert f"gone-{limits.APPLICATIONS_KEPT}" not in names


def test_what_there_was_no_time_for_keeps_its_values_and_says_so(cluster):
    make_streams(cluster)
    StreamsRound.objects.update(claimed_until=None)
    answer = seen(observation(without_endpoint()))
    assert collect.collect_applications(cluster.pk, lambda: NOW, lambda *_: answer, 0.0)
    assert "No time was left" in shop().problem
    assert shop().answers_wrong is False
    assert "1 of 1 groups could not be read" in StreamsRound.objects.get().error


def changes():
    rows_ = StreamsSnapshot.objects.order_by("pk").values_list("change", flat=True)
    return [Change.from_json(one) for one in rows_]


ALONE = group(member(1, (0, 1, 2, 3)), group_epoch=6)


def test_the_first_snapshot_says_that_nothing_before_it_is_known(cluster):
    run(cluster, seen(observation(two_instances())))
    (first,) = changes()
    assert (first.reasons, len(first.instances), first.since_ms) == ((Reason.FIRST_SEEN,), 2, None)


def test_a_snapshot_keeps_what_differs_from_the_one_before(cluster):
    run(cluster, seen(observation(two_instances())))
    later = NOW + timedelta(seconds=70)
    run(cluster, seen(observation(ALONE, later)), later)
    change = changes()[1]
    assert [one.process_id for one in change.left] == ["process-2"]
    assert [one.target.process_id for one in change.moves if one.role is Role.ACTIVE] == [
        "process-1"
    ] * 2
    assert (change.is_gap, change.unavailable_ms, change.generations) == (False, 70_000, 1)


def test_a_snapshot_that_is_replaced_keeps_what_differs_from_the_row_before_it(cluster):
    moments = [NOW, NOW + timedelta(seconds=61), NOW + timedelta(seconds=80)]
    for found, now in zip([two_instances(), ALONE, two_instances(group_epoch=7)], moments, strict=True):  # fmt: skip
        run(cluster, seen(observation(found, now)), now)
    _, change = changes()
    assert (change.left, change.moves, change.generations) == ((), (), 2)
    assert (change.reasons, change.stopped_tasks) == ((Reason.LEFT,), 2)
    assert change.since_ms == int(NOW.timestamp() * 1000)


def test_a_first_snapshot_that_is_replaced_has_none_before_it(cluster):
    run(cluster, seen(observation(two_instances())))
    run(cluster, seen(observation(ALONE)), NOW + timedelta(seconds=5))
    assert [one.reasons for one in changes()] == [(Reason.FIRST_SEEN,)]


def test_a_change_after_a_time_without_rounds_is_marked(cluster):
    run(cluster, seen(observation(two_instances())))
    later = NOW + timedelta(minutes=10)
    run(cluster, seen(observation(ALONE, later)), later)
    assert (changes()[1].is_gap, changes()[1].unavailable_ms) == (True, 600_000)


def test_members_of_a_group_that_was_empty_are_its_first(cluster):
    run(cluster, seen(observation(two_instances())))
    run(cluster, seen(observation(group(state="Empty"))), NOW + timedelta(seconds=60))
    later = NOW + timedelta(seconds=90)
    run(cluster, seen(observation(ALONE, later)), later)
    change = changes()[1]
    assert (change.reasons, change.is_gap, change.unavailable_ms) == ((Reason.FIRST_MEMBERS,), False, 90_000)  # fmt: skip


def test_tasks_of_a_member_whose_bytes_cannot_be_read_may_have_a_thread():
    unread = application(thread(1, (0, 1)), thread(2, problem="short"))
    assert counts_of(Seen(unread, NOT_KEPT))["tasks_without_thread"] is None
