"""What arrives on the target through the batch path is what was on the source, record by record."""

import os
import uuid
from dataclasses import replace

import pytest

from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.spec import Guarantee, IsolationLevel, SyncsLocation
from jobs.wire.batches.record_batch import Codec
from tests.live import whole_batches
from tests.live.copied_records import assert_equal, assert_mapped, read_syncs
from tests.live.copiers import BatchCopying, flow_between, survey_whole
from tests.live.records import produce, read_all
from tests.live.topics import ends_of, make_topic
from tests.live.whole_batches import DAY, NOW, numbered, read_placed, record, write_batches

PARTITIONS = 20
BIG = 1_000_000


def fill(cluster, topic: str) -> None:
    """Write to each of the 20 partitions what is special about it."""
    for partition, codec in enumerate(whole_batches.CODECS):
        produce(cluster, topic, 3000, partition, **{"compression.type": codec})
    whole_batches.interleave(cluster, topic, 5)
    whole_batches.interleave(cluster, topic, 6, seed=2, **{"compression.type": "zstd"})
    tens = [numbered(10, first=10 * n) for n in range(60)]
    write_batches(cluster, topic, 7, tens)
    write_batches(cluster, topic, 8, tens, codec=Codec.ZSTD)
    large = [[record(0, os.urandom(BIG))] for _ in range(3)]
    write_batches(cluster, topic, 9, large)
    write_batches(cluster, topic, 10, large, codec=Codec.LZ4)
    odd = [record(n, headers=whole_batches.ODD_HEADERS[: n % 7]) for n in range(20)]
    write_batches(cluster, topic, 11, [odd, odd[:1], odd], codec=Codec.SNAPPY)
    nulls = [record(n, *pair) for n, pair in enumerate([(None, None), (b"", b""), (b"v", None)])]
    write_batches(cluster, topic, 12, [nulls, nulls])
    times = [record(n, timestamp=at) for n, at in enumerate([0, -1, 1, NOW - 400 * DAY, NOW, 0])]
    write_batches(cluster, topic, 13, [times, [record(0, timestamp=0)], times])
    for codec in Codec:
        write_batches(cluster, topic, 14, [numbered(3), numbered(400)], codec=codec)
    write_batches(cluster, topic, 15, [numbered(9000, 80)] * 3)
    write_batches(cluster, topic, 17, [numbered(1)])
    aborted = whole_batches.Transactions(cluster, topic)
    aborted.begin()
    aborted.write(50, 18)
    aborted.end(commit=False)
    produce(cluster, topic, 20_000, 19, **{"batch.size": 1_000_000})


@pytest.fixture(scope="module")
def family(east):
    """Topics of one family: 20 partitions of all kinds, one compacted, one stamped by the broker."""
    name = f"family-{uuid.uuid4().hex[:8]}"
    big = {"max_message_bytes": "2000000", "retention_ms": "-1"}
    make_topic(east, f"{name}-mixed", PARTITIONS, **big)
    make_topic(east, f"{name}-compacted", **whole_batches.COMPACTED)
    make_topic(east, f"{name}-stamped", 2, message_timestamp_type="LogAppendTime")
    fill(east, f"{name}-mixed")
    for partition in range(2):
        write_batches(east, f"{name}-stamped", partition, [numbered(10)] * 20, codec=Codec.LZ4)
    whole_batches.make_gaps(east, f"{name}-compacted")
    return name


@pytest.fixture
def flow_of_family(east, west, family):
    """Make a flow under names of its own; the copy of the compacted topic is not compacted once more."""

    def make(**settings):
        separator = f".{uuid.uuid4().hex[:6]}."
        make_topic(west, f"east{separator}{family}-compacted", retention_ms="-1")
        return flow_between(east, west, f"{family}.*", separator=separator, **settings)

    return make


def topics_of(family: str) -> list[str]:
    return [f"{family}-{kind}" for kind in ("mixed", "compacted", "stamped")]


def remote_of(flow, topic: str) -> str:
    return f"east{flow.separator}{topic}"


def assert_copied(flow, east, west, topic: str) -> None:
    committed = flow.isolation_level is IsolationLevel.READ_COMMITTED
    source = read_placed(east, topic, committed=committed)
    target = read_placed(west, remote_of(flow, topic))
    assert_equal(source, target)
    syncs_topic, on_source = syncs_place(flow)
    if syncs_topic is not None:
        assert_mapped(source, target, read_syncs(east if on_source else west, syncs_topic, topic))


def copy_topics(flow, east, topics) -> list[BatchCopying]:
    """Copy every topic from its beginning to its end, whoever copied it before."""
    starts = [
        replace(start, position=0, remote_end=None, last_sync=None)
        for start in survey_whole(flow).plan.starts
    ]
    done = []
    for topic in topics:
        mine = [start for start in starts if start.topic == topic]
        with BatchCopying(flow, mine) as copying:
            copying.wait_for_positions(ends_of(east, topic))
        done.append(copying)
    return done


WAYS = [
    pytest.param({}, id="as it comes"),
    pytest.param(
        {"isolation_level": IsolationLevel.READ_UNCOMMITTED, "commit_interval_ms": 50},
        id="read_uncommitted",
    ),
    pytest.param({"delivery": Guarantee.AT_LEAST_ONCE}, id="at_least_once"),
    pytest.param({"offset_syncs": SyncsLocation.SOURCE}, id="offset syncs on the source"),
]


@pytest.mark.parametrize("settings", WAYS)
def test_a_family_of_topics_arrives_record_by_record_with_its_offsets_mapped(
    east, west, family, flow_of_family, settings
):
    flow = flow_of_family(**settings)
    done = copy_topics(flow, east, topics_of(family))
    for topic in topics_of(family):
        assert_copied(flow, east, west, topic)
    rows = [row for copying in done for row in copying.rows.values()]
    assert {row.path for row in rows} == {"batch"}
    assert not any(row.reason for row in rows)
    assert sum(row.duplicates for row in rows) == 0


def test_a_client_that_everybody_uses_reads_the_same_from_both(east, west, family, flow_of_family):
    flow = flow_of_family(offset_syncs=SyncsLocation.NONE)
    topic = f"{family}-stamped"
    copy_topics(flow, east, [topic])
    assert read_all(west, remote_of(flow, topic)) == read_all(east, topic)
