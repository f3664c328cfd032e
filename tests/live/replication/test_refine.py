"""Bounds narrowed by the records of two real clusters, over markers and aborted records on both sides."""

import json

import pytest
import yaml
from confluent_kafka import Producer

from jobs.cli import main
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.record_comparison import fingerprints_of, refine
from jobs.replication.translation.sync_history import SyncHistory
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from tests.live.copiers import copy_all, flow_between
from tests.live.records import read_messages
from tests.live.topics import ends_of, new_topic
from tests.waiting import eventually

COUNT = 60


def write_in_transactions(cluster, topic):
    """Ten records a transaction; every third is aborted and written again."""
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": f"tx-{topic}"}
    )
    producer.init_transactions()
    written = 0
    for first in range(0, COUNT, 10):
        for is_aborted in [True, False] if first % 30 == 0 else [False]:
            producer.begin_transaction()
            for number in range(first, first + 10):
                producer.produce(topic, b"v%d" % number, b"k", partition=0)
            producer.flush()
            (producer.abort_transaction if is_aborted else producer.commit_transaction)()
            written += 10 + 1
    # A coordinator answers before the last marker is written.
    eventually(lambda: ends_of(cluster, topic) == {0: written}, 30)


def places(cluster, topic):
    """Where each value is."""
    return {one.value(): one.offset() for one in read_messages(cluster, topic)}


def test_every_record_between_two_distant_syncs_is_found_exactly(east, west):
    topic = new_topic(east)
    write_in_transactions(east, topic)
    copy_all(flow_between(east, west, topic), east, topic)
    remote = f"{east.connection.alias}.{topic}"
    there, here = places(west, remote), places(east, topic)
    pairs = sorted((offset, there[value]) for value, offset in here.items())
    history = SyncHistory([pairs[0], pairs[-1]])
    with ClusterClient(east.connection) as source, ClusterClient(west.connection) as target:
        sides = (
            fingerprints_of(source, TopicPartition(topic, 0)),
            fingerprints_of(target, TopicPartition(remote, 0)),
        )
        for upstream in range(pairs[0][0], pairs[-1][0] + 1):
            true = next(down for up, down in pairs if up >= upstream)
            found = history.certify(upstream)
            assert found.lo <= true <= found.hi
            refined = refine(found, upstream, *sides)
            assert (refined.lo, refined.hi) == (true, true), (upstream, refined.reason)


@pytest.fixture
def dump_of(tmp_path):
    """Write offset syncs of partition 0 of a topic as a dump."""

    def write(topic, pairs):
        lines = []
        for at, pair in enumerate(pairs):
            key, value = encode_offset_sync(OffsetSync(topic, 0, *pair))
            row = {"partition": 0, "offset": at, "timestamp": 1}
            lines.append(json.dumps({**row, "key_hex": key.hex(), "value_hex": value.hex()}))
        path = tmp_path / "syncs.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_the_command_asks_the_records_where_the_syncs_leave_a_doubt(
    east, west, tmp_path, capsys, dump_of
):
    topic = new_topic(east)
    write_in_transactions(east, topic)
    flow = flow_between(east, west, topic)
    copy_all(flow, east, topic)
    there, here = places(west, f"{east.connection.alias}.{topic}"), places(east, topic)
    pairs = sorted((offset, there[value]) for value, offset in here.items())
    document = {
        "name": flow.name,
        "source": flow.source.to_mapping(),
        "target": flow.target.to_mapping(),
        "topics": [topic],
    }
    (tmp_path / "flow.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    upstream, true = pairs[len(pairs) // 2]
    asked = ["--syncs", str(dump_of(topic, [pairs[0], pairs[-1]])), "--topic", topic]
    asked += ["--partition", "0", "--offset", str(upstream), "--json"]
    assert main(["translate", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["exact"] is False
    assert main(["translate", *asked, "--refine", str(tmp_path / "flow.yaml")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["lo"], told["hi"], told["exact"]) == (true, true, True)
