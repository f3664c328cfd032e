"""Checkpoints from a shell for a flow that MirrorMaker 2 copies: closer than its own, never too far."""

import json
import time

import pytest
import yaml

from jobs.cli import main
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.replication.checkpoints.topic import read_checkpoint_topic
from tests.live.groups import commit, new_group, values_from
from tests.live.mirror_maker.mirrored import records_on
from tests.live.records import produce, read_all
from tests.live.topics import make_topic
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

RECORDS, SLOW_S = 1000, 120
PLACES = (0, 1, 333, 998, 999, 1000)


@pytest.fixture
def copied(kafka, lab, east, west, tmp_path):
    """A topic that a real MirrorMaker 2 has copied, with checkpoints of its own switched off."""
    topic = f"beside-{new_group()}"
    make_topic(east, topic)
    settings = {
        "east->west.topics": topic,
        "east->west.offset-syncs.topic.location": "target",
        "east->west.emit.checkpoints.enabled": "false",
        "offset.lag.max": "50",
    }
    clusters = (("east", east.bootstrap_servers), ("west", west.bootstrap_servers))
    mirror = MirrorMaker(tmp_path / "mm2", kafka, mirror_properties(*clusters, settings))
    produce(east, topic, RECORDS)
    mirror.start()
    try:
        remote = f"east.{topic}"
        eventually(lambda: mirror.check() or records_on(west, remote) >= RECORDS, SLOW_S)
    finally:
        mirror.stop()
    return topic


def write_flow(folder, east, west, topic: str, prefix: str):
    clusters = {
        side: {"alias": side_alias, "bootstrap_servers": cluster.bootstrap_servers}
        for side, side_alias, cluster in (("source", "east", east), ("target", "west", west))
    }
    values = {"name": "beside", **clusters, "topics": [topic], "groups": [f"{prefix}.*"]}
    path = folder / "flow.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_a_shell_writes_checkpoints_for_what_mirror_maker_copies(
    east, west, copied, tmp_path, capsys
):
    prefix, source = new_group("beside"), TopicPartition(copied, 0)
    for place in PLACES:
        commit(east, f"{prefix}-{place}", {source: place})
    flow = write_flow(tmp_path, east, west, copied, prefix)
    before_ms = time.time_ns() // 1_000_000
    assert main(["checkpoints", str(flow), "--once", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["groups"], report["fault"], report["errors"]) == (len(PLACES), "", {})
    with ClusterClient(west.connection) as client:
        found = read_checkpoint_topic(
            client, "east.checkpoints.internal", wants=lambda group: group.startswith(prefix)
        )
    remote = TopicPartition(f"east.{copied}", 0)
    values = [record.value for record in read_all(east, copied)]
    told = {}
    for key, kept in found.checkpoints.items():
        place = int(key.group.rpartition("-")[2])
        told[place] = kept.checkpoint.downstream_offset
        assert kept.timestamp_ms >= before_ms
        if place < RECORDS:
            (first,) = values_from(west, remote, told[place], 1)
            assert values.index(first) <= place, "records would be skipped"
    assert report["told"] == len(told)
    # Who has read everything goes on at the end: MirrorMaker 2 itself would say up to 50 records less.
    assert told[RECORDS] == RECORDS


def test_a_flow_file_that_wants_no_checkpoints_is_a_bad_question(east, west, tmp_path, capsys):
    path = write_flow(tmp_path, east, west, "orders", "g")
    path.write_text(path.read_text("utf-8") + "emit_checkpoints_interval_s: 0\n", encoding="utf-8")
    assert main(["checkpoints", str(path), "--once"]) == 2
    assert "emit_checkpoints_interval_s" in capsys.readouterr().err
