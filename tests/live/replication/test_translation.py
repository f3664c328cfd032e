"""Offsets that are translated for a page, compared with a failover plan of the same real topics."""

from console.replication.translation.limits import read_limits
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.failover.kafka import read_translator
from jobs.replication.failover.model import FailoverRequest
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.failover.session import ask_plan
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import catch_up, place_of
from jobs.replication.translation.bounds import Why
from tests.live.copiers import copy_all, flow_between
from tests.live.groups import consume, new_group
from tests.live.records import produce
from tests.live.topics import new_topic


def test_page_and_plan_say_the_same_and_the_topic_says_it_too(east, west, tmp_path):
    topic, group = new_topic(east), new_group()
    flow = flow_between(east, west, topic)
    produce(east, topic, 400)
    copy_all(flow, east, topic)
    consume(east, group, topic, 100)
    with SyncArchive(tmp_path) as archive:
        catch_up(place_of(flow), archive)
    archived, told = open_translator(tmp_path), read_translator(flow, timeout_s=60)
    (planned,) = (
        ask_plan(
            EvidenceRequest(
                FailoverRequest(groups=(group,)), (Route(flow, archived, 0),), timeout_s=60
            )
        )
        .groups[0]
        .items
    )
    for translator in (archived, told):
        found = translator.translate(planned.origin, planned.committed)
        assert (found.lo, found.hi, found.reason) == (planned.lo, planned.hi, planned.reason)
        assert (found.lo, found.reason) == (100, Why.PERHAPS_NO_RECORD.text)


def test_what_a_flow_told_before_it_was_restarted_still_counts(east, west):
    """Its first sync then names none before it; only a hole in the topic would end what is known."""
    topic = new_topic(east)
    flow = flow_between(east, west, topic)
    for _ in range(2):
        produce(east, topic, 300)
        copy_all(flow, east, topic)
    found = read_translator(flow, timeout_s=60).translate(TopicPartition(topic, 0), 100)
    assert (found.lo, found.reason) == (100, Why.PERHAPS_NO_RECORD.text)


def test_a_cluster_says_which_partitions_there_are_and_where_they_end(east):
    topic = new_topic(east, 2)
    produce(east, topic, 5)
    asked = {TopicPartition(topic, 0), TopicPartition(topic, 7), TopicPartition("nowhere", 0)}
    limits = read_limits(east.connection, asked, timeout_s=60)
    assert limits.partition_counts == {topic: 2, "nowhere": 0}
    assert limits.ends == {TopicPartition(topic, 0): 5}
