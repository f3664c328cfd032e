"""How much memory a copier takes when the source is quicker than the target."""

import os

import pytest

from jobs.wire.batches.record_batch import Codec
from tests.live.copiers import CopierProcess, flow_between
from tests.live.topics import ends_of, new_topic
from tests.live.whole_batches import numbered, record, write_batches
from tests.waiting import eventually, pause

pytestmark = pytest.mark.timeout(900)

PARTITIONS = 100
# Python, its libraries and the compiled loops take 190 MB; the rest is for what is fetched and not sent.
MOST_BYTES = 350 << 20


@pytest.mark.campaign("faults")
def test_a_target_that_hangs_does_not_fill_the_memory(small_lab, east, tmp_path):
    lab = small_lab("slow")
    slow, node = lab.cluster("slow"), lab.node("slow-1")
    topic = new_topic(east, PARTITIONS, min_insync_replicas="1")
    large = [record(n, os.urandom(150_000)) for n in range(6)]
    for partition in range(PARTITIONS):
        batches = [large, numbered(50), large, numbered(50)]
        write_batches(east, topic, partition, batches, codec=Codec(partition % 2 * Codec.LZ4))
    worker = CopierProcess(flow_between(east, slow, topic), tmp_path)
    worker.wait_until_copying()
    for _ in range(2):
        node.pause()
        pause(6, "the source is quicker than the target for so long")
        node.resume()
        pause(1, "the target takes some of it")
    ends = ends_of(east, topic)
    eventually(lambda: all(worker.positions()[topic, p] >= end for p, end in ends.items()), 120)
    assert worker.most_memory() < MOST_BYTES
    worker.stop()
