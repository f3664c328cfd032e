"""What a new survey means for partitions that are being copied (rules T1 to T5)."""

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.flow.plan import FlowPlan
from jobs.spark.flow_driver.topology import Difference, compare

WHERE = TopicPartition("t", 0)
START = PartitionStart("t", 0, 5, "east.t")
IDS = {"t": "old"}


def refused(state: CopyState) -> PartitionProgress:
    return PartitionProgress("t", 0, 5, state, "because")


def plan(*, starts=(), refuses=(), ids=None) -> FlowPlan:
    return FlowPlan(tuple(starts), tuple(refuses), ids or IDS)


def test_nothing_changed():
    assert compare([WHERE], IDS, plan(starts=[START]), IDS) == Difference()


def test_t1_a_partition_that_is_not_copied_yet_is_new():
    assert compare([], {}, plan(starts=[START]), IDS).new == [START]


def test_t2_a_topic_created_again_and_accepted_begins_again():
    found = compare([WHERE], IDS, plan(starts=[START], ids={"t": "new"}), {"t": "new"})
    assert (found.again, found.new, found.ended) == ([START], [], [])


def test_t2_a_topic_created_again_and_not_accepted_ends():
    row = refused(CopyState.FAILED)
    assert compare([WHERE], IDS, plan(refuses=[row]), {"t": "new"}).ended == [row]


def test_t3_a_topic_that_is_gone_ends():
    row = refused(CopyState.STOPPED)
    assert compare([WHERE], IDS, plan(refuses=[row]), {}).ended == [row]


def test_t4_a_partition_that_has_no_leader_just_now_is_left_to_its_task():
    found = compare([WHERE], IDS, plan(refuses=[refused(CopyState.RETRYING)]), IDS)
    assert found == Difference()


def test_t4_a_log_that_became_shorter_is_left_to_its_task():
    found = compare([WHERE], IDS, plan(refuses=[refused(CopyState.FAILED)]), IDS)
    assert found == Difference()


def test_t5_a_partition_that_cannot_be_copied_is_refused():
    row = refused(CopyState.FAILED)
    assert compare([], {}, plan(refuses=[row]), IDS).refused == [row]


def test_a_partition_that_no_answer_mentions_any_more_is_unknown():
    assert compare([WHERE], IDS, plan(), {}).unknown == [WHERE]
