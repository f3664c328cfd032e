"""Checkpoints and certificates of real flows, beside the records of both clusters."""

import time
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.replication.checkpoints.topic import read_checkpoint_topic
from jobs.replication.failover.kafka import read_translator
from jobs.replication.flow.spec import CopiedBy, FlowSpec, Guarantee, SyncsLocation
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.offsets import backtest
from jobs.spark.analyses.task import AnalysisTask
from jobs.wire.mirror_records import Checkpoint, encode_checkpoint
from tests.live.copiers import BatchCopying, flow_between
from tests.live.groups import Rounds, commit, new_group
from tests.live.records import produce
from tests.live.replication.test_checkpoints import transactions
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import new_topic
from tests.waiting import eventually

CHECKPOINTS = "east.checkpoints.internal"
PLACES = (0, 1, 29, 30, 31, 60, 79, 80, 85, 100, 141)


@pytest.fixture
def trusted(spark, tmp_path):
    """Ask for the backtest of a flow, and perhaps of another one beside it."""

    def ask(flow, beside=None, **arguments):
        named = {"flow": flow} | ({"beside": beside} if beside else {})
        resources = {
            name: {"flow": one.to_mapping(), "archive": None} for name, one in named.items()
        }
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        task = AnalysisTask(spark, folder, folder / "tables", folder / "histories", resources)
        names = {name: one.name for name, one in named.items()}
        given = checked_arguments(backtest.ANALYSIS, {**names, **arguments})
        answer = backtest.run(task, given)
        document_of(backtest.ANALYSIS, given, answer, task.tables, 0.0)
        assert not [*task.histories.glob("backtest-*")]
        tables = {table.name: read(table, task) for table in backtest.ANALYSIS.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


@pytest.fixture(scope="module")
def copied(east, west):
    """A flow that copied over gaps, with checkpoints of a group at each of some places."""
    topic, prefix = new_topic(east), new_group("trusted")
    flow = flow_between(
        east, west, topic, groups=(f"{prefix}.*",), delivery=Guarantee.AT_LEAST_ONCE
    )
    with BatchCopying(flow) as copying:
        produce(east, topic, 60)
        copying.wait_for_position(60)
        transactions(east, topic)
        copying.wait_for_position(60 + 3 * 27)
        for number, place in enumerate(PLACES):
            commit(east, f"{prefix}-{number}", {TopicPartition(topic, 0): place})
        # The newest offset syncs may be told 3 s later, and a checkpoint before that is a bound only.
        eventually(lambda: are_told(flow, TopicPartition(topic, 0)))
        with Rounds(flow) as rounds:
            rounds.run(sync_groups=False)
    return flow, topic, f"{prefix}-3"


def are_told(flow, where):
    """Whether the offset syncs on the topic go up to the newest of the 120 copies."""
    newest = read_translator(flow).translate(where, 60 + 3 * 27)
    return newest is not None and newest.lo == 120


@pytest.fixture
def mirrored(kafka, east, west, tmp_path):
    """A flow that a real MirrorMaker 2 copied, with its own checkpoints of two groups."""
    topic, prefix = new_topic(east), new_group("mirrored")
    settings = {
        "east->west.topics": topic,
        "east->west.groups": f"{prefix}.*",
        "east->west.offset-syncs.topic.location": "target",
        "east->west.offset.lag.max": "50",
        "east->west.emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
    }
    clusters = (("east", east.bootstrap_servers), ("west", west.bootstrap_servers))
    mirror = MirrorMaker(tmp_path / "mm2", kafka, mirror_properties(*clusters, settings))
    produce(east, topic, 500)
    for place in (499, 500):
        commit(east, f"{prefix}-{place}", {TopicPartition(topic, 0): place})
    mirror.start()
    try:
        eventually(lambda: mirror.check() or told_of(west, prefix) == 2, 120)
    finally:
        mirror.kill()
    return FlowSpec(
        "mirrored",
        east.connection,
        west.connection,
        (topic,),
        offset_syncs=SyncsLocation.TARGET,
        copied_by=CopiedBy.MIRROR_MAKER,
    )


def told_of(west, prefix):
    """How many groups have a checkpoint."""
    with ClusterClient(west.connection) as client:
        found = read_checkpoint_topic(client, CHECKPOINTS, wants=lambda g: g.startswith(prefix))
    return len(found.groups)


def write_checkpoint(west, topic, group, upstream, downstream):
    key, value = encode_checkpoint(Checkpoint(group, topic, 0, upstream, downstream, ""))
    producer = Producer({"bootstrap.servers": west.bootstrap_servers})
    producer.produce(CHECKPOINTS, value, key, partition=0)
    assert producer.flush(30) == 0


def test_a_flow_that_says_what_is_true_has_no_miss_and_a_wrong_checkpoint_is_one(
    copied, west, trusted
):
    flow, topic, group = copied
    found = trusted(flow)
    facts = found.facts
    assert (found["misses"], facts["misses"]) == ([], 0), found["misses"]
    assert facts["verdict"].startswith("No answer would have skipped a record")
    assert (facts["checkpoints"], facts["checkable_checkpoints"]) == (len(PLACES), len(PLACES))
    assert facts["checkable_share"] == 1, found["unknown"]
    assert {row["asked"] for row in found["days"]} == {"checkpoint", "sample"}
    (row,) = found["summary"]
    assert (row["checkpoint_reread_max"], row["copied_by"]) == (0, "crosslog")

    remote = TopicPartition(f"east.{topic}", 0)
    with ClusterClient(west.connection) as client:
        told = read_checkpoint_topic(client, CHECKPOINTS).of_group(group)[remote]
    upstream, downstream = told.checkpoint.upstream_offset, told.checkpoint.downstream_offset
    write_checkpoint(west, remote.topic, group, upstream, downstream + 2)
    found = trusted(flow, group=group)
    assert found.facts["misses"] == 1
    assert "do not fail over" in found.facts["verdict"]
    (miss,) = found["misses"]
    assert (miss["who"], miss["group"], miss["upstream"]) == ("checkpoint", group, upstream)
    assert (miss["answer"], miss["place"]) == (downstream + 2, downstream)
    assert (miss["skipped"], miss["skipped_copy"]) == (upstream, downstream)


def test_a_cluster_that_does_not_answer_ends_the_question(copied, trusted):
    flow = copied[0]
    gone = replace(flow.source, bootstrap_servers="127.0.0.1:1")
    with pytest.raises(ClusterFault) as caught:
        trusted(replace(flow, source=gone))
    assert caught.value.cluster == "east"


def test_mirror_maker_is_judged_beside_and_reads_more_again(copied, mirrored, trusted):
    found = trusted(copied[0], mirrored, days=1, group=None)
    ours, theirs = sorted(found["summary"], key=lambda row: row["copied_by"])
    assert (theirs["copied_by"], theirs["checkpoint_misses"], theirs["certificate_misses"]) == (
        "mirror_maker", 0, 0,
    )  # fmt: skip
    assert theirs["checkable"] == theirs["questions"] > 2, found["unknown"]
    assert theirs["width_max"] > 0
    assert theirs["mm2_reread_max"] > ours["certificate_reread_max"]
