"""Offsets that are translated for a page, compared with a failover plan of the same real topics."""

import pytest

from console.replication.translation_limits import read_limits
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.archive_writer import SyncArchive
from jobs.replication.failover.model import Wish
from jobs.replication.failover.read_evidence import Asking, Route
from jobs.replication.failover.read_syncs import read_translator
from jobs.replication.failover.session import ask_plan
from jobs.replication.sync_archive import open_translator
from jobs.replication.sync_follower import catch_up, place_of
from jobs.replication.translator import NarrowestTranslator
from tests.live.batches.copying import copy_all, flow_between
from tests.live.records import new_topic, produce
from tests.live.replication.moving import consume, new_group

pytestmark = pytest.mark.live


def test_a_page_is_never_less_certain_than_a_plan_of_the_same_syncs(east, west, tmp_path):
    topic, group = new_topic(east), new_group()
    flow = flow_between(east, west, topic)
    produce(east, topic, 400)
    copy_all(flow, east, topic)
    consume(east, group, topic, 100)
    with SyncArchive(tmp_path) as archive:
        catch_up(place_of(flow), archive)
    told, archived = read_translator(flow), open_translator(tmp_path)
    (planned,) = ask_plan(Asking(Wish(groups=(group,)), (Route(flow, told, 0),))).groups[0].items
    asked = (planned.origin, planned.committed)
    found = NarrowestTranslator(archived, told).translate(*asked)
    assert planned.lo <= found.lo
    assert planned.hi is None or (found.hi is not None and found.hi <= planned.hi)


def test_a_cluster_says_which_partitions_there_are_and_where_they_end(east):
    topic = new_topic(east, 2)
    produce(east, topic, 5)
    asked = {TopicPartition(topic, 0), TopicPartition(topic, 7), TopicPartition("nowhere", 0)}
    limits = read_limits(east.connection, asked, timeout_s=10)
    assert limits.partition_counts == {topic: 2, "nowhere": 0}
    assert limits.ends == {TopicPartition(topic, 0): 5}
