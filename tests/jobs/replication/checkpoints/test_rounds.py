"""A round of checkpoints: from the groups of the source to records on the target."""

import pytest

from jobs.cluster.admin.groups import CommittedGroups
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    TopicPartition,
)
from jobs.cluster.errors import NotAuthorized, Unreachable
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.replication.checkpoints.group_sync import TargetGroups
from jobs.replication.checkpoints.rounds import NO_SYNCS, CheckpointRounds
from jobs.replication.checkpoints.thread import AGAIN_S, TimedRounds
from jobs.replication.checkpoints.topic import TOPIC_ID_HEADER, CheckpointTopic, GroupPartition
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.bounded import BoundedTranslator
from jobs.wire.mirror_records import Checkpoint, encode_checkpoint

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
BILLING = GroupPartition("billing", REMOTE)


class Clusters:
    """Both clusters of a flow in memory: 100 records of `orders`, copied 50 offsets further."""

    def __init__(self) -> None:
        self.kept = BoundedTranslator()
        self.kept.add(ORDERS, 0, 50)
        self.kept.add(ORDERS, 99, 149, follows=(0, 50))
        self.ids = {"east.orders": "first-id", "audit": "audit-id"}
        self.has_syncs = True
        self.ends = {ORDERS: OffsetRange(0, 100, 100), REMOTE: OffsetRange(0, 150, 150)}
        self.offsets = {"billing": {ORDERS: CommittedOffset(10, "of the application")}}
        self.errors = {}
        self.topic = CheckpointTopic("east.checkpoints.internal")
        self.fault = None
        self.target_offsets = {}
        self.groups = TargetGroups(self.describe, self.committed, self.alter)

    def syncs(self):
        return self.kept if self.has_syncs else None

    def checkpoints(self):
        return self.topic

    def ranges(self, partitions, *, on_source):
        return {where: self.ends.get(where, OffsetRange(error="unknown")) for where in partitions}

    def source_groups(self, accepts):
        found = {group: offsets for group, offsets in self.offsets.items() if accepts(group)}
        return CommittedGroups(found, self.errors)

    def topic_ids(self, topics):
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def write(self, checkpoints, at_ms, topic_ids):
        if self.fault is not None:
            raise self.fault
        for one in checkpoints:
            self.take(one, at_ms, [(TOPIC_ID_HEADER, topic_ids[one.topic].encode())])

    def take(self, checkpoint, at_ms=1, headers=None):
        self.topic.take(*encode_checkpoint(checkpoint), at_ms, self.topic.read_to, headers)

    def describe(self, groups):
        return {group: GroupDescription(group, "Empty", "classic", 0) for group in groups}

    def committed(self, groups):
        return {group: dict(self.target_offsets) for group in groups}

    def alter(self, _group, offsets):
        self.target_offsets |= offsets
        return dict.fromkeys(offsets)


def flow(**settings) -> FlowSpec:
    east, west = (Connection(alias, "127.0.0.1:1") for alias in ("east", "west"))
    return FlowSpec("east to west", east, west, **settings)


@pytest.fixture
def clusters() -> Clusters:
    return Clusters()


def rounds_of(clusters, **settings) -> CheckpointRounds:
    return CheckpointRounds(flow(**settings), clusters)


def told(clusters) -> dict[str, tuple[int, int]]:
    return {
        key.group: (kept.checkpoint.upstream_offset, kept.checkpoint.downstream_offset)
        for key, kept in clusters.topic.checkpoints.items()
    }


def test_a_group_gets_a_checkpoint_with_its_metadata_and_the_time_of_asking(clusters):
    report = rounds_of(clusters).run(7_000, sync_groups=False)
    kept = clusters.topic.checkpoints[BILLING]
    assert kept.checkpoint == Checkpoint("billing", *REMOTE, 10, 60, "of the application")
    assert kept.timestamp_ms == 7_000
    assert (report.groups, report.told, report.exact, report.written) == (1, 1, 1, 1)
    assert (report.at_ms, report.fault) == (7_000, "")


def test_a_checkpoint_that_says_nothing_new_is_not_written_again(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1, sync_groups=False)
    report = rounds.run(2, sync_groups=False)
    assert (report.written, report.written_total, report.told) == (0, 1, 1)
    clusters.offsets["billing"][ORDERS] = CommittedOffset(20)
    assert rounds.run(3, sync_groups=False).written == 1
    assert told(clusters) == {"billing": (20, 70)}


def test_after_a_restart_what_was_told_before_is_known(clusters):
    rounds_of(clusters).run(1, sync_groups=False)
    assert rounds_of(clusters).run(2, sync_groups=False).written == 0


def test_a_group_that_went_back_gets_a_lower_checkpoint(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1, sync_groups=False)
    clusters.offsets["billing"][ORDERS] = CommittedOffset(3)
    rounds.run(2, sync_groups=False)
    assert told(clusters) == {"billing": (3, 53)}


def test_groups_and_topics_that_the_flow_leaves_out_get_none(clusters):
    clusters.offsets["connect-sink"] = {ORDERS: CommittedOffset(1)}
    clusters.offsets["stock"] = {TopicPartition("clicks", 0): CommittedOffset(1)}
    rounds_of(clusters, topics=("orders",)).run(1, sync_groups=False)
    assert told(clusters) == {"billing": (10, 60)}


def test_a_topic_that_came_from_the_target_goes_by_its_own_name_there(clusters):
    where = TopicPartition("west.audit", 0)
    clusters.kept.add(where, 7, 8)
    clusters.ends |= {where: OffsetRange(0, 9, 9), TopicPartition("audit", 0): OffsetRange(0, 9, 9)}
    clusters.offsets = {"billing": {where: CommittedOffset(7)}}
    rounds_of(clusters).run(1, sync_groups=False)
    assert list(clusters.topic.checkpoints) == [
        GroupPartition("billing", TopicPartition("audit", 0))
    ]


def test_why_partitions_of_groups_have_no_checkpoint_is_counted(clusters):
    clusters.offsets["billing"] |= {
        TopicPartition("clicks", 0): CommittedOffset(1),
        ORDERS: CommittedOffset(None),
    }
    report = rounds_of(clusters).run(1, sync_groups=False)
    assert (report.told, report.without) == (0, {"no_sync": 1})


def test_checkpoints_of_groups_that_are_gone_stay_and_are_counted(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1, sync_groups=False)
    clusters.offsets = {}
    report = rounds.run(2, sync_groups=False)
    assert (report.stale_groups, report.written) == (1, 0)
    assert told(clusters) == {"billing": (10, 60)}


def test_a_group_that_could_not_be_read_is_told_and_not_taken_for_gone(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1, sync_groups=False)
    clusters.offsets, clusters.errors = {}, {"billing": "no coordinator"}
    report = rounds.run(2, sync_groups=False)
    assert (report.stale_groups, report.errors) == (0, {"billing": "no coordinator"})


def test_what_was_told_of_a_deleted_topic_counts_no_more_for_another_of_its_name(clusters):
    rounds = rounds_of(clusters)
    clusters.offsets["billing"][ORDERS] = CommittedOffset(99)
    rounds.run(1_000, sync_groups=False)
    clusters.ids["east.orders"] = "second-id"
    clusters.kept.add(ORDERS, 0, 0)
    clusters.kept.add(ORDERS, 99, 99, follows=(0, 0))
    rounds.run(3_000, sync_groups=False)
    assert told(clusters) == {"billing": (99, 99)}
    assert clusters.topic.checkpoints[BILLING].topic_id == "second-id"


@pytest.mark.parametrize("is_same_driver", [True, False], ids=["while it runs", "while none runs"])
def test_a_checkpoint_that_seems_possible_is_not_kept_of_a_deleted_topic(clusters, is_same_driver):
    clusters.offsets["billing"][ORDERS] = CommittedOffset(99)
    rounds = rounds_of(clusters)
    rounds.run(1_000, sync_groups=False)
    clusters.ids["east.orders"] = "second-id"
    clusters.kept.add(ORDERS, 0, 0)  # nothing says more than that
    rounds = rounds if is_same_driver else rounds_of(clusters)
    rounds.run(3_000, sync_groups=False)
    assert told(clusters) == {"billing": (99, 1)}


def test_offset_syncs_of_a_deleted_topic_are_not_used_for_another_of_its_name(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1_000, sync_groups=False)
    clusters.ids["east.orders"] = "second-id"
    report = rounds.run(2_000, sync_groups=False)
    assert (report.told, report.without) == (0, {"no_sync": 1})
    clusters.kept.add(ORDERS, 10, 3)
    rounds.run(3_000, sync_groups=False)
    assert told(clusters) == {"billing": (10, 3)}


def test_offset_syncs_that_came_while_the_id_was_not_known_are_kept(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1_000, sync_groups=False)
    del clusters.ids["east.orders"]
    clusters.kept.add(ORDERS, 10, 3)
    rounds.run(2_000, sync_groups=False)
    clusters.ids["east.orders"] = "second-id"
    rounds.run(3_000, sync_groups=False)
    assert told(clusters) == {"billing": (10, 3)}


def test_while_the_id_of_a_remote_topic_is_not_known_nothing_is_told(clusters):
    del clusters.ids["east.orders"]
    report = rounds_of(clusters).run(1, sync_groups=False)
    assert (report.written, report.without) == (0, {"target_unknown": 1})


@pytest.mark.parametrize(
    ("pair", "follows"),
    [
        pytest.param((0, 50), None, id="the first sync again"),
        pytest.param((99, 149), (0, 50), id="the last sync again"),
        pytest.param((50, 100), None, id="a sync that its neighbours imply"),
        pytest.param((98, 148), (0, 50), id="a sync before the last"),
    ],
)
def test_no_sync_that_comes_again_takes_a_checkpoint_back(clusters, pair, follows):
    rounds = rounds_of(clusters)
    clusters.offsets["billing"][ORDERS] = CommittedOffset(90)
    rounds.run(1, sync_groups=False)
    clusters.kept.add(ORDERS, *pair, follows=follows)
    clusters.offsets["billing"][ORDERS] = CommittedOffset(95)
    rounds.run(2, sync_groups=False)
    assert told(clusters) == {"billing": (95, 145)}


def test_wrong_checkpoints_without_an_id_are_corrected_in_the_first_round_and_counted_once(
    clusters,
):
    clusters.take(Checkpoint("billing", *REMOTE, 10, 0, ""))
    clusters.take(Checkpoint("stock", *REMOTE, 20, 70, ""))
    clusters.offsets["stock"] = {ORDERS: CommittedOffset(20)}
    rounds = rounds_of(clusters)
    report = rounds.run(1, sync_groups=False)
    assert told(clusters) == {"billing": (10, 60), "stock": (20, 70)}
    assert (report.written, report.corrected) == (2, 1)
    assert {kept.topic_id for kept in clusters.topic.checkpoints.values()} == {"first-id"}
    assert rounds.run(2, sync_groups=False).written == 0
    again = rounds_of(clusters).run(3, sync_groups=False)
    assert (again.written, again.corrected) == (0, 0)


def test_a_right_checkpoint_without_an_id_is_kept_though_its_offset_syncs_are_gone(clusters):
    clusters.take(Checkpoint("billing", *REMOTE, 10, 60, ""))
    clusters.kept.clear()
    clusters.kept.add(ORDERS, 99, 149)
    report = rounds_of(clusters).run(1, sync_groups=False)
    assert told(clusters) == {"billing": (10, 60)}
    assert (report.written, report.corrected) == (1, 0)


def test_groups_of_the_target_are_set_only_when_that_is_due(clusters):
    rounds = rounds_of(clusters)
    rounds.run(1, sync_groups=False)
    assert clusters.target_offsets == {}
    report = rounds.run(2, sync_groups=True)
    assert clusters.target_offsets == {REMOTE: CommittedOffset(60, "of the application")}
    assert (report.synced_at_ms, report.synced_total) == (2, 1)


def test_a_group_that_went_back_is_followed_on_the_target_also_by_a_new_driver(clusters):
    rounds_of(clusters).run(1, sync_groups=True)
    clusters.offsets["billing"][ORDERS] = CommittedOffset(3)
    report = rounds_of(clusters).run(2, sync_groups=True)
    assert clusters.target_offsets[REMOTE].offset == 53
    assert report.sync.moved_back == 1


def test_without_a_topic_of_offset_syncs_the_reason_is_told(clusters):
    clusters.has_syncs = False
    assert rounds_of(clusters).run(1, sync_groups=False).fault == NO_SYNCS


def test_the_report_is_json_with_what_is_known(clusters):
    rounds = rounds_of(clusters)
    before = rounds.report.to_mapping()
    assert (before["at_ms"], before["group_sync"]) == (None, None)
    rounds.run(5, sync_groups=True)
    shown = rounds.report.to_mapping()
    assert (shown["at_ms"], shown["told"], shown["group_sync"]["written"]) == (5, 1, 1)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_rounds_follow_each_other_at_the_flows_intervals(clusters):
    clock = Clock()
    settings = {"sync_group_offsets": True, "sync_group_offsets_interval_s": 120}
    rounds = TimedRounds(flow(**settings), clusters, clock, lambda: int(clock.now_s * 1000))
    assert rounds.run() == 60
    assert rounds.report.synced_at_ms == 100_000
    clock.now_s += 60
    rounds.run()
    assert (rounds.report.at_ms, rounds.report.synced_at_ms) == (160_000, 100_000)
    clock.now_s += 60
    rounds.run()
    assert rounds.report.synced_at_ms == 220_000


def test_a_round_that_failed_is_told_and_tried_again_soon(clusters):
    clock = Clock()
    rounds = TimedRounds(flow(), clusters, clock)
    clusters.fault = Unreachable("No broker answers.", cluster="west")
    assert rounds.run() == AGAIN_S
    assert "west: No broker answers." in rounds.report.fault
    assert rounds.report.written_total == 0
    clusters.fault = None
    assert rounds.run() == 60
    assert (rounds.report.fault, rounds.report.written) == ("", 1)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(NotAuthorized("No right.", cluster="west"), id="a person may give the right"),
        pytest.param(VersionNotOffered("Too old.", cluster="west"), id="final"),
    ],
)
def test_a_round_that_fails_until_a_person_acts_is_tried_again_when_the_next_one_is_due(
    clusters, fault
):
    rounds = TimedRounds(flow(), clusters, Clock())
    clusters.fault = fault
    assert rounds.run() == 60
    assert rounds.report.fault == f"{fault} {fault.hint}"


def test_metadata_that_no_checkpoint_can_hold_stops_only_its_own_group(clusters):
    clusters.offsets["stock"] = {ORDERS: CommittedOffset(10, "x" * 32_768)}
    report = rounds_of(clusters).run(1, sync_groups=False)
    assert told(clusters) == {"billing": (10, 60)}
    assert "32767" in report.errors["stock"]


def test_a_group_beyond_the_end_gets_no_checkpoint_and_no_offset_and_is_a_finding(clusters):
    """tests/conformance/reported/group_beyond_the_end"""
    clusters.offsets["billing"][ORDERS] = CommittedOffset(5_000)
    report = rounds_of(clusters).run(1, sync_groups=True)
    assert (report.told, report.without, clusters.target_offsets) == (0, {"beyond_source": 1}, {})
    assert report.to_mapping()["findings"] == [
        "Group billing: its committed offset 5,000 of orders-0 is beyond the end of the partition (100): it "
        "is of another life of the topic, or of a log that was truncated. The application would start where "
        "auto.offset.reset says. It gets no checkpoint there."
    ]


def test_a_commit_newer_than_the_end_is_compared_with_an_end_that_is_newer_still(clusters):
    class Growing(Clusters):
        def source_groups(self, accepts):
            self.ends |= {ORDERS: OffsetRange(0, 130, 130), REMOTE: OffsetRange(0, 180, 180)}
            return super().source_groups(accepts)

    growing = Growing()
    growing.offsets["billing"][ORDERS] = CommittedOffset(120)
    report = rounds_of(growing).run(1, sync_groups=False)
    assert (report.told, report.findings) == (1, ())
