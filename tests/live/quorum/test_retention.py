"""What the controllers have deleted is replaced by a snapshot, and what nobody kept is said to be missing."""

from contextlib import suppress

import pytest

from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import Snapshot, read_manifest
from jobs.quorum.log.follower import catch_up
from jobs.quorum.log.importer import import_folder
from jobs.quorum.log.source import MetadataSource
from tests.live.kafka_tools import LOG
from tests.live.quorum.quorums import assert_same_bytes, node_log
from tests.live.topics import new_topic
from tests.waiting import eventually

TINY = {
    "internal.metadata.log.segment.bytes": "16384",
    "metadata.log.max.record.bytes.between.snapshots": "10000",
    "metadata.max.retention.bytes": "40000",
}


@pytest.fixture
def one_node(small_lab):
    return small_lab("forgetful", nodes=1, overrides=TINY).cluster("forgetful")


def caught_up(cluster, folder, **settings) -> None:
    with LogArchive(folder) as archive:
        catch_up(MetadataSource(cluster.connection), archive, **settings)


def next_snapshot(cluster, folder) -> Snapshot:
    """Read on until the node has made another snapshot, and return it."""
    before = read_manifest(folder).snapshots

    def is_there() -> bool:
        caught_up(cluster, folder, snapshot_every=1)
        return read_manifest(folder).snapshots != before

    eventually(is_there, 120, every=1.0)
    return read_manifest(folder).snapshots[-1]


def on_disk(cluster, snapshot: Snapshot) -> bytes:
    """Return a snapshot as the node has it; one that it deletes has another name for a minute."""
    path = cluster.node(1).plan.data / LOG / snapshot.file
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return path.with_name(f"{path.name}.deleted").read_bytes()


def forgets(cluster, offset: int) -> None:
    """Write until the node has no segment below an offset any more."""

    for _ in range(12):
        new_topic(cluster, partitions=40)
    # Controllers look once a minute what is old.
    eventually(lambda: min(node_log(cluster.node(1))) > offset, 240, every=1.0)


@pytest.mark.campaign("faults")
@pytest.mark.timeout(900)
def test_a_log_that_was_deleted_begins_with_its_snapshot(one_node, tmp_path):
    early, late, files = tmp_path / "early", tmp_path / "late", tmp_path / "files"
    caught_up(one_node, early)
    seen = read_manifest(early)
    assert (seen.log_start_offset, seen.missing) == (0, ())

    forgets(one_node, seen.next_offset)
    caught_up(one_node, late)
    begun = read_manifest(late)
    (snapshot,) = begun.snapshots
    assert (late / snapshot.file).read_bytes() == on_disk(one_node, snapshot)
    assert begun.log_start_offset > seen.next_offset
    assert assert_same_bytes(late, one_node.node(1)) > 0

    caught_up(one_node, early)
    resumed = read_manifest(early)
    (missing,) = resumed.missing
    assert missing.from_offset == seen.next_offset
    assert missing.to_offset == resumed.snapshots[-1].end_offset

    for _ in range(3):
        new_topic(one_node, partitions=40)
    newest = next_snapshot(one_node, early)
    assert (early / newest.file).read_bytes() == on_disk(one_node, newest)

    with LogArchive(files) as archive:
        found = import_folder(one_node.node(1).plan.data, archive, now_ms=1)
    assert found.problems == ()
    assert found.snapshots
    # What the wire brought and what the disk has are one history.
    with LogArchive(files) as archive:
        found = import_folder(late, archive, now_ms=1)
    assert (found.problems, found.conflicts) == ((), 0)
