"""Folders of nodes come into an archive whole, in any order, and differences are reported."""

import random
import shutil

import pytest

from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.importer import MOST_DAMAGED, NotALogFolder, import_folder
from jobs.quorum.log.reader import LogReader
from tests.jobs.cluster.protocol.fake_controller import controllers, door_to
from tests.jobs.quorum.metadata_logs import Leader, archived, batch, damaged, snapshot
from tests.jobs.wire.mutations import damaged_batch
from tests.support import KRAFT_LOG, METADATA_FOLDER


def node(folder, *segments, snapshots=(), cluster_id=None):
    """Make a node's folder: segments as lists of batches, snapshots as (end offset, epoch)."""
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    for batches in segments:
        first = int.from_bytes(batches[0][:8], "big")
        (log / f"{first:020}.log").write_bytes(b"".join(batches))
    for end, epoch in snapshots:
        (log / f"{end:020}-{epoch:010}.checkpoint").write_bytes(snapshot(epoch))
    if cluster_id:
        (folder / "meta.properties").write_text(f"#\nversion=1\ncluster.id={cluster_id}\n")
    return folder


def imported(archive_folder, *sources):
    """Import folders one after the other; returns what the last one brought, and the manifest."""
    with LogArchive(archive_folder) as archive:
        for source in sources:
            found = import_folder(source, archive, now_ms=5)
        return found, archive.manifest


ONE = [batch(0, 1, 3), batch(3, 1)]
TWO = [batch(4, 1), batch(5, 2)]
THREE = [batch(6, 2, 2)]


def test_a_whole_folder_comes_in(tmp_path):
    source = node(tmp_path / "n", ONE, TWO, cluster_id="abc")
    found, manifest = imported(tmp_path / "a", source)
    assert archived(tmp_path / "a") == b"".join(ONE + TWO)
    assert (found.batches, found.problems, found.conflicts) == (4, (), 0)
    assert (manifest.cluster_id, manifest.high_watermark) == ("abc", None)


def test_the_folder_of_the_log_itself_may_be_given(tmp_path):
    source = node(tmp_path / "n", ONE, cluster_id="abc") / "__cluster_metadata-0"
    _, manifest = imported(tmp_path / "a", source)
    assert (manifest.next_offset, manifest.cluster_id) == (4, "abc")


def test_a_second_import_brings_only_what_is_new(tmp_path):
    early = node(tmp_path / "1", ONE)
    late = node(tmp_path / "2", ONE + TWO)
    found, _ = imported(tmp_path / "a", early, late)
    assert found.batches == 2
    assert archived(tmp_path / "a") == b"".join(ONE + TWO)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2), (2, 3, 1), (3, 2, 1)])
def test_the_order_of_imports_makes_no_difference(order, tmp_path):
    parts = {1: ONE, 2: TWO, 3: THREE}
    folders = [node(tmp_path / str(n), parts[n]) for n in order]
    _, manifest = imported(tmp_path / "a", *folders)
    assert archived(tmp_path / "a") == b"".join(ONE + TWO + THREE)
    assert manifest.missing == ()


def test_a_hole_is_missing_until_it_is_filled(tmp_path):
    _, manifest = imported(tmp_path / "a", node(tmp_path / "1", ONE), node(tmp_path / "3", THREE))
    (missing,) = manifest.missing
    assert (missing.from_offset, missing.to_offset) == (4, 6)
    _, manifest = imported(tmp_path / "a", node(tmp_path / "2", TWO))
    assert manifest.missing == ()


def test_a_part_of_a_hole_may_be_filled(tmp_path):
    folders = [
        node(tmp_path / "1", ONE),
        node(tmp_path / "3", THREE),
        node(tmp_path / "2", TWO[1:]),
    ]
    _, manifest = imported(tmp_path / "a", *folders)
    assert [(one.from_offset, one.to_offset) for one in manifest.missing] == [(4, 5)]


def test_the_snapshot_with_which_a_log_begins_comes_with_it(tmp_path):
    source = node(tmp_path / "n", TWO, THREE, snapshots=[(4, 1), (6, 2), (8, 2)])
    found, manifest = imported(tmp_path / "a", source)
    assert found.snapshots == ("00000000000000000004-0000000001.checkpoint",)
    assert manifest.high_watermark == 8


def test_of_snapshots_ahead_of_the_log_the_newest_comes_in(tmp_path):
    source = node(tmp_path / "n", ONE, snapshots=[(50, 2), (90, 3)])
    _, manifest = imported(tmp_path / "a", source)
    assert [one.end_offset for one in manifest.snapshots] == [90]
    assert (manifest.next_offset, manifest.last_epoch) == (90, 3)


def test_a_bad_snapshot_is_a_problem_and_not_taken(tmp_path):
    source = node(tmp_path / "n", TWO, snapshots=[(4, 1)])
    path = next((source / "__cluster_metadata-0").glob("*.checkpoint"))
    path.write_bytes(damaged(path.read_bytes()))
    found, manifest = imported(tmp_path / "a", source)
    assert len(found.problems) == 1
    assert (manifest.snapshots, manifest.high_watermark) == ((), None)
    assert [(one.kind, one.from_offset) for one in manifest.damaged] == [("unusable_snapshot", 4)]
    whole = node(tmp_path / "m", TWO, snapshots=[(4, 1)])
    assert imported(tmp_path / "a", whole)[1].damaged == ()


def test_what_is_behind_damage_is_taken_and_the_place_is_kept(tmp_path):
    source = node(tmp_path / "n", [*ONE, damaged(TWO[0]), TWO[1]], THREE)
    found, manifest = imported(tmp_path / "a", source)
    position = len(b"".join(ONE))
    assert f"{0:020}.log, byte {position}: " in found.problems[0]
    assert archived(tmp_path / "a") == b"".join([*ONE, TWO[1], *THREE])
    (missing,), (place,) = manifest.missing, manifest.damaged
    assert (missing.from_offset, missing.to_offset, missing.reason) == (4, 5, found.problems[0])
    assert (place.file, place.position, place.kind) == (f"{0:020}.log", position, "wrong_crc")
    assert (place.from_offset, place.to_offset) == (4, 5)


def test_a_damaged_end_of_the_last_segment_has_no_end_offset(tmp_path):
    source = node(tmp_path / "n", ONE, [TWO[0], damaged(TWO[1])])
    _, manifest = imported(tmp_path / "a", source)
    (place,) = manifest.damaged
    assert (place.file, place.from_offset, place.to_offset) == (f"{4:020}.log", 5, None)
    assert manifest.missing == ()


def test_another_replica_mends_what_was_damaged(tmp_path):
    broken = node(tmp_path / "n", [ONE[0], damaged(ONE[1]), *TWO[:1], damaged(TWO[1])])
    _, manifest = imported(tmp_path / "a", broken, node(tmp_path / "m", ONE + TWO))
    assert (manifest.damaged, manifest.missing) == ((), ())
    assert archived(tmp_path / "a") == b"".join(ONE + TWO)


def test_a_folder_of_which_nothing_can_be_read_is_refused_with_the_first_reason(tmp_path):
    source = node(tmp_path / "n", [damaged(ONE[0])])
    with pytest.raises(NotALogFolder, match=r"no record that can be read.*byte 0: .*CRC"):
        imported(tmp_path / "a", source)


def test_of_very_many_damaged_places_the_last_kept_one_is_for_the_rest(tmp_path):
    many = [damaged(batch(n, 1)) if n % 2 else batch(n, 1) for n in range(2 * MOST_DAMAGED + 9)]
    _, manifest = imported(tmp_path / "a", node(tmp_path / "n", many))
    assert len(manifest.damaged) == MOST_DAMAGED
    last = manifest.damaged[-1]
    assert "4 more places behind it are damaged" in last.problem
    assert last.to_offset == 2 * MOST_DAMAGED + 8


def test_segments_behind_a_hole_are_each_written_to_their_own_file(tmp_path):
    late = [[batch(5, 1)], [batch(6, 1)], [batch(7, 1)]]
    _, manifest = imported(tmp_path / "a", node(tmp_path / "n", [batch(0, 1)], *late))
    assert archived(tmp_path / "a") == b"".join([batch(0, 1), *(one for (one,) in late)])
    assert [one.base_offset for one in manifest.segments] == [0, 5]


@pytest.mark.parametrize(
    ("end", "kind"), [(TWO[0][:-3], "truncated_tail"), (b"\0" * 4096, "zero_tail")]
)
def test_a_tail_that_is_cut_off_or_reserved_is_no_problem_and_told(tmp_path, end, kind):
    found, manifest = imported(tmp_path / "a", node(tmp_path / "n", [*ONE, end]))
    assert (found.batches, found.problems) == (2, ())
    assert f"byte {len(b''.join(ONE))}: " in found.tail
    (place,) = manifest.damaged
    assert (place.kind, place.from_offset, place.to_offset) == (kind, 4, None)


def test_a_tail_with_another_history_is_a_conflict_and_the_archive_stays(tmp_path):
    given_up = [*ONE, batch(4, 1), batch(5, 1)]
    found, _ = imported(
        tmp_path / "a", node(tmp_path / "1", ONE + TWO), node(tmp_path / "2", given_up)
    )
    assert (found.conflicts, found.problems) == (1, ())
    assert archived(tmp_path / "a") == b"".join(ONE + TWO)


def test_replicas_that_differ_below_the_high_watermark_are_reported(tmp_path):
    other = [ONE[0], batch(3, 1, body=b"something else")]
    sound = node(tmp_path / "1", ONE, snapshots=[(4, 1)])
    found, _ = imported(tmp_path / "a", sound, node(tmp_path / "2", other))
    assert "offset 3" in found.problems[0]
    assert "corrupt" in found.problems[0]


def test_a_history_whose_epochs_do_not_fit_is_left_out(tmp_path):
    found, _ = imported(
        tmp_path / "a", node(tmp_path / "1", TWO), node(tmp_path / "2", [batch(6, 1)])
    )
    assert "another history" in found.problems[0]
    assert archived(tmp_path / "a") == b"".join(TWO)


def test_segments_that_differ_where_they_overlap_are_reported(tmp_path):
    source = node(tmp_path / "n", ONE, [batch(3, 1, body=b"something else"), *TWO])
    found, manifest = imported(tmp_path / "a", source)
    assert archived(tmp_path / "a") == b"".join(ONE + TWO)
    assert "the batch at offset 3 is another one in a segment before" in found.problems[0]
    assert [one.file for one in manifest.damaged] == [f"{3:020}.log"]


def test_segments_of_another_history_in_one_folder_are_a_damaged_place(tmp_path):
    source = node(tmp_path / "n", [batch(0, 4)], [batch(1, 2), batch(2, 2)], [batch(3, 4)])
    _, manifest = imported(tmp_path / "a", source)
    (place,) = manifest.damaged
    assert (place.kind, place.from_offset, place.to_offset) == ("wrong_epoch", 1, 3)


def test_a_batch_whose_epoch_its_neighbours_belie_is_damaged(tmp_path):
    wrong = [batch(0, 1), batch(1, 3), batch(2, 2), batch(3, 2)]
    found, manifest = imported(tmp_path / "a", node(tmp_path / "n", wrong))
    assert "the epoch is 3, but 2 is behind it" in found.problems[0]
    assert archived(tmp_path / "a") == b"".join([wrong[0], *wrong[2:]])
    assert [(one.from_offset, one.to_offset) for one in manifest.damaged] == [(1, 2)]


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_folder_is_taken_or_told(tmp_path, seed):
    chance = random.Random(seed)
    for number in range(60):
        batches = [damaged_batch(one, chance) for one in ONE + TWO + THREE]
        batches = [batch(0, 1), *(one for one in batches if len(one) > 61)]
        source = node(tmp_path / f"n{number}", ONE, snapshots=[(4, 1)])
        log = source / "__cluster_metadata-0"
        (log / f"{0:020}.log").write_bytes(b"".join(batches))
        found, manifest = imported(tmp_path / f"a{number}", source)
        taken = archived(tmp_path / f"a{number}")
        assert len(taken) == found.size_bytes
        assert taken == b"".join(ONE + TWO + THREE) or manifest.damaged or found.problems


def test_another_clusters_folder_is_refused(tmp_path):
    mine = node(tmp_path / "1", ONE, cluster_id="mine")
    other = node(tmp_path / "2", TWO, cluster_id="other")
    with pytest.raises(NotALogFolder, match="other"):
        imported(tmp_path / "a", mine, other)
    assert archived(tmp_path / "a") == b"".join(ONE)


def test_a_folder_without_a_log_says_which_folder_to_give(tmp_path):
    with pytest.raises(NotALogFolder, match="__cluster_metadata-0"):
        imported(tmp_path / "a", tmp_path)


async def test_a_cluster_is_followed_from_an_imported_folder_on(tmp_path):
    source = node(tmp_path / "n", ONE, cluster_id="the-cluster")
    async with controllers() as (one,), door_to(one) as door:
        leader = Leader(one, (0, 1, 3), (3, 1, 1), (4, 2, 1), epoch=2)
        with LogArchive(tmp_path / "a") as archive:
            import_folder(source, archive, now_ms=5)
            step = await LogReader(door, archive).step(wait_ms=0)
        assert (step.batches, step.dropped_from) == (1, None)
        assert archived(tmp_path / "a") == leader.content()


def test_a_real_nodes_folder_comes_in_byte_for_byte(tmp_path):
    source = shutil.copytree(KRAFT_LOG, tmp_path / "n")
    found, manifest = imported(tmp_path / "a", source)
    assert archived(tmp_path / "a") == archived(METADATA_FOLDER)
    assert found.problems == ()
    assert found.snapshots == ("00000000000000000765-0000000001.checkpoint",)
    assert (manifest.log_start_offset, manifest.high_watermark) == (648, 1092)
