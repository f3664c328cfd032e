"""Real topics of offset syncs: followed, made anew, cut, and compacted under the follower's hands."""

import threading
from contextlib import contextmanager

import pytest
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.offset_syncs.archive_manifest import GapKind, read_manifest
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import SyncsPlace, catch_up, follow, place_of
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from tests.live.copiers import copy_all, flow_between
from tests.live.records import Record, produce, write
from tests.live.topics import admin_of, make_topic, new_topic, wait_until_known
from tests.waiting import PATIENCE, Stalls, eventually

ORDERS = TopicPartition("orders", 0)


def tell(cluster, topic, *pairs, where=ORDERS, **settings):
    """Write offset syncs."""
    syncs = [encode_offset_sync(OffsetSync(*where, *pair)) for pair in pairs]
    write(cluster, topic, [Record(0, key, value) for key, value in syncs], **settings)


def bounds(folder, upstream, where=ORDERS):
    found = open_translator(folder).translate(where, upstream)
    return None if found is None else (found.lo, found.hi)


@contextmanager
def following(place, folder):
    """Follow in a thread until the block ends; yields what was heard."""
    stop, heard = threading.Event(), []

    def run():
        with SyncArchive(folder) as archive:
            follow(place, archive, stop, heard.append)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        stop.set()
        thread.join(20 * PATIENCE)
        assert not thread.is_alive()


def test_what_is_told_is_in_the_archive_within_two_seconds(west, tmp_path):
    topic = new_topic(west)
    with following(SyncsPlace(west.connection, topic), tmp_path) as heard:
        for number in range(3):
            tell(west, topic, (10 * number, 10 * number + 5))
            with Stalls() as stalls:
                eventually(
                    lambda n=number: bounds(tmp_path, 10 * n) == (10 * n + 5,) * 2, 10, every=0.1
                )
            assert stalls.took_s < 2
        eventually(lambda: heard[-1].is_at_end)
    assert [one.fault for one in heard] == [None] * len(heard)


def test_what_is_no_sync_is_counted_and_never_stops_it(west, tmp_path):
    topic = new_topic(west)
    tell(west, topic, (1, 1))
    write(west, topic, [Record(0, b"key", None), Record(0, b"{}", b"{}"), Record(0, None, b"x")])
    tell(west, topic, (20, 20), **{"compression.type": "zstd"})
    with SyncArchive(tmp_path) as archive:
        assert catch_up(SyncsPlace(west.connection, topic), archive) == 2
        assert sum(archive.manifest.refused.values()) == 3
        assert archive.manifest.gaps == ()
        assert catch_up(SyncsPlace(west.connection, topic), archive) == 0
    assert bounds(tmp_path, 10) == (2, 20)


def test_a_topic_made_anew_is_a_loss_and_what_was_before_is_unknown(west, tmp_path):
    topic = new_topic(west)
    with following(SyncsPlace(west.connection, topic), tmp_path) as heard:
        tell(west, topic, (10, 20))
        eventually(lambda: bounds(tmp_path, 10) == (20, 20))
        with ClusterClient(west.connection) as client:
            admin_of(client.connection).delete_topics([topic])[topic].result()
        eventually(lambda: heard[-1].fault is not None, 30)
        make_topic(west, topic)
        wait_until_known(west.connection, topic, 1)
        tell(west, topic, (30, 3))
        eventually(lambda: bounds(tmp_path, 30) == (3, 3), 30)
    assert bounds(tmp_path, 10) == (0, 3)
    with SyncArchive(tmp_path) as archive:
        assert [gap.kind for gap in archive.manifest.gaps] == [GapKind.LOST]


def test_records_deleted_before_they_were_read_are_a_loss(west, tmp_path):
    topic = new_topic(west)
    place = SyncsPlace(west.connection, topic)
    with SyncArchive(tmp_path) as archive:
        tell(west, topic, (10, 20))
        catch_up(place, archive)
        tell(west, topic, (20, 30), (30, 40))
        with ClusterClient(west.connection) as client:
            admin_of(client.connection).delete_records([ClientPartition(topic, 0, 2)])[
                ClientPartition(topic, 0)
            ].result()
        catch_up(place, archive)
        (gap,) = archive.manifest.gaps
    assert (gap.kind, gap.from_offset, gap.to_offset) == (GapKind.LOST, 1, 2)
    assert bounds(tmp_path, 30) == (40, 40)
    assert bounds(tmp_path, 10) == (0, 40)


def test_what_compaction_removed_between_two_visits_is_a_hole(west, tmp_path):
    topic = new_topic(
        west, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01"
    )
    place = SyncsPlace(west.connection, topic)
    clicks = TopicPartition("clicks", 0)
    with SyncArchive(tmp_path) as archive:
        tell(west, topic, (10, 20))
        tell(west, topic, (1, 1), where=clicks)
        catch_up(place, archive)
        tell(west, topic, *((n, n + 10) for n in range(20, 60)))

        def is_compacted():
            # A new segment begins with a record, and the cleaner looks at closed ones.
            tell(west, topic, (1, 1), where=TopicPartition("others", 0))
            with SyncArchive(tmp_path / "whole") as whole:
                catch_up(place, whole)
            count = read_manifest(tmp_path / "whole").sync_count
            for path in (tmp_path / "whole").iterdir():
                path.unlink()
            return count < 40

        eventually(is_compacted, 90, every=1.0)
        catch_up(place, archive)
        assert [gap.kind for gap in archive.manifest.gaps] == [GapKind.COMPACTED]
    assert bounds(tmp_path, 59) == (69, 69)
    assert bounds(tmp_path, 10) == (0, 69), "anything may have happened between them"
    assert bounds(tmp_path, 1, clicks) == (1, 1), "nobody told of it meanwhile"


@pytest.mark.parametrize("location", ["target", "source"])
def test_the_syncs_of_a_flow_are_found_where_its_settings_say(east, west, tmp_path, location):
    topic = new_topic(east)
    produce(east, topic, 500)
    flow = flow_between(east, west, topic, offset_syncs=location)
    copy_all(flow, east, topic)
    with SyncArchive(tmp_path) as archive:
        catch_up(place_of(flow), archive)
    translator = open_translator(tmp_path)
    where = TopicPartition(topic, 0)
    assert where in translator.partitions
    for upstream in (0, 250, 499):
        found = translator.translate(where, upstream)
        assert found.lo <= upstream <= (found.hi or upstream)
    assert translator.translate(where, 499).exact
