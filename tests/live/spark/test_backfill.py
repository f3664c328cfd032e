"""`crosslog backfill` of a real topic of offset syncs: the same archive as the follower's."""

import json
import subprocess
import sys

import pytest
import yaml

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive import open_parts, open_translator
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import catch_up, place_of
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from tests.jobs.replication.offset_syncs.test_sync_rows import listed
from tests.live.records import Record, write
from tests.live.topics import make_topic

COUNT = 250_000


@pytest.fixture
def flow(west):
    """A flow whose topic of offset syncs is there, with gaps and with records of somebody else."""
    alias = "backfilled"
    flow = FlowSpec("backfill", west.connection, west.connection, ("orders",), tasks=2)
    values = flow.to_mapping()
    values["source"] |= {"alias": alias}
    flow = FlowSpec.from_mapping(values)
    topic = place_of(flow).topic
    make_topic(west, topic)
    records = []
    for number in range(COUNT):
        upstream = 10 * number + number // 1000
        sync = OffsetSync("orders", number % 3, upstream, upstream + number // 5000)
        records.append(Record(0, *encode_offset_sync(sync)))
    records[7] = Record(0, b"not a sync", None)
    write(west, topic, records, **{"linger.ms": 50})
    return flow


def test_tasks_read_ranges_and_the_archive_is_that_of_the_follower(west, flow, tmp_path):
    archive, path = tmp_path / "filled", tmp_path / "flow.yaml"
    path.write_text(yaml.safe_dump(flow.to_mapping()), encoding="utf-8")
    command = ["backfill", str(path), "--archive", str(archive), "--json"]
    ended = subprocess.run(
        [sys.executable, "-m", "jobs", *command],
        capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    facts, rows = document["facts"], document["tables"][0]["preview"]
    assert (facts["syncs_read"], facts["syncs_in_archive"]) == (COUNT - 1, COUNT - 1)
    assert (facts["topic_end_offset"], facts["gaps"]) == (COUNT, 0)
    assert sum(row["syncs"] for row in rows) == COUNT - 1
    assert any("1 records refused" in (row["detail"] or "") for row in rows)
    followed = tmp_path / "followed"
    with SyncArchive(followed) as one:
        catch_up(place_of(flow), one)
        refused = one.manifest.refused
    told, wanted = open_parts(archive), open_parts(followed)
    assert told.names == wanted.names
    for name in wanted.names:
        assert listed(told.rows(name)) == listed(wanted.rows(name))
    with SyncArchive(archive) as one:
        assert one.manifest.refused == refused
        assert catch_up(place_of(flow), one) == 0
    for upstream in (0, 12_345, 10 * COUNT):
        answers = [
            open_translator(folder).translate(TopicPartition("orders", 0), upstream)
            for folder in (archive, followed)
        ]
        assert answers[0] == answers[1]
