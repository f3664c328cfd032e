"""What happens to a source while it is copied, and is said instead of passed over."""

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.contract import CopyState
from tests.live.copied_records import assert_equal, content
from tests.live.copiers import BatchCopying, copy_all, flow_between, survey
from tests.live.records import produce
from tests.live.replication.test_record_path_faults import start_of
from tests.live.topics import delete_before, delete_topic, make_topic, new_topic, wait_until_known
from tests.live.whole_batches import read_placed
from tests.waiting import eventually


def test_records_deleted_before_they_were_copied_are_a_finding_and_copying_goes_on(east, west):
    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    produce(east, topic, 10)
    copy_all(flow, east, topic)
    produce(east, topic, 20)
    delete_before(east, topic, 0, 25)
    copying = copy_all(flow, east, topic)
    assert f"Offsets 10 to 24 of {topic}-0 were deleted" in copying.rows[0].findings[0]
    assert "15 records are missing" in copying.rows[0].findings[0]
    assert copying.rows[0].records == 5


def test_a_position_beyond_the_end_of_the_log_stops_the_partition(east, west):
    topic = new_topic(east)
    produce(east, topic, 3)
    flow = flow_between(east, west, topic)
    (start,) = survey(flow).plan.starts
    with BatchCopying(flow, [start_of(start, position=50)]) as copying:
        row = copying.wait_for_state(CopyState.FAILED)
        eventually(lambda: not copying.is_running)
    assert "ends at offset 3 but was copied up to 50" in row.reason
    assert "created again" in row.reason


@pytest.mark.parametrize("count", [3, 50], ids=["shorter than before", "longer than before"])
def test_a_topic_that_is_created_again_while_it_is_copied_is_named(east, west, count):
    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    sent = produce(east, topic, 10)
    with BatchCopying(flow) as copying:
        copying.wait_for_position(10)
        delete_topic(east, topic)
        copying.wait_for_state(CopyState.RETRYING)
        eventually(lambda: is_made(east, topic), 30)
        produce(east, topic, count)
        row = copying.wait_for_state(CopyState.FAILED)
    assert f"Topic {topic} was deleted and created again (id " in row.reason
    assert "Position 10 belongs to the old topic" in row.reason
    copied = read_placed(west, f"east.{topic}")[0]
    assert [content(one)[1] for one in copied] == [one.value for one in sent]


def is_made(cluster, topic: str) -> bool:
    try:
        make_topic(cluster, topic)
    except AssertionError:  # the old one is still being deleted
        return False
    return True


def test_partitions_that_are_added_are_copied_from_their_beginning(east, west):
    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    produce(east, topic, 10)
    copy_all(flow, east, topic)
    admin = AdminClient({"bootstrap.servers": east.bootstrap_servers})
    for future in admin.create_partitions([NewPartitions(topic, 3)]).values():
        future.result(60)
    wait_until_known(east.connection, topic, 3)
    eventually(lambda: len(survey(flow).topics[0].partitions) == 3, 20)
    eventually(lambda: not survey(flow).plan.refused, 20)
    for partition in range(3):
        produce(east, topic, 10, partition)
    copy_all(flow, east, topic)
    assert_equal(read_placed(east, topic), read_placed(west, f"east.{topic}"))


@pytest.mark.timeout(900)
@pytest.mark.campaign("faults")
def test_records_lost_by_an_unclean_election_are_a_finding_and_the_new_ones_follow(small_lab, west):
    lab = small_lab("torn", nodes=3)
    torn = lab.cluster("torn")
    topic = "torn-topic"
    settings = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    admin = AdminClient({"bootstrap.servers": torn.bootstrap_servers})
    new = NewTopic(topic, num_partitions=1, replica_assignment=[[1, 2]], config=settings)
    admin.create_topics([new])[topic].result(60)
    wait_until_known(torn.connection, topic)
    eventually(lambda: leader_of(torn, topic) == 1, 30)
    flow = flow_between(torn, west, topic)
    first = produce(torn, topic, 10)
    with BatchCopying(flow) as copying:
        copying.wait_for_position(10)
        lab.node("torn-2").kill()
        lost = produce(torn, topic, 20)
        copying.wait_for_position(30)
        lab.node("torn-1").kill()
        lab.node("torn-2").start()
        eventually(lambda: leader_of(torn, topic) == 2, 60)
        after = produce(torn, topic, 5)
        eventually(lambda: copying.rows[0].position == 15, 60)
    assert f"{topic}-0 lost its records from offset 10 to 29" in copying.rows[0].findings[0]
    copied = [one.value for one in read_placed(west, f"torn.{topic}")[0]]
    assert copied == [one.value for one in [*first, *lost, *after]]


def leader_of(cluster, topic: str) -> int | None:
    try:
        with ClusterClient(cluster.connection, timeout_s=3) as client:
            return describe_topics(client, [topic])[0].partitions[0].leader
    except (ClusterFault, IndexError):
        return None
