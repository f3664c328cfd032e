"""An archive holds exactly the committed bytes of the log, whatever stops its writer."""

import json
import resource
import subprocess
import sys

import pytest

from jobs.archives import ArchiveBusy, BadArchive
from jobs.quorum.log.archive import CommittedCut, LogArchive
from jobs.quorum.log.archive_manifest import MissingRange, read_manifest
from jobs.quorum.log.batches import LogBroken
from tests.jobs.quorum.metadata_logs import archived, batch, damaged, snapshot

THREE = batch(0, 1, 3) + batch(3, 1) + batch(4, 2, 2)


def kept(folder, *records, high_watermark=None, **settings):
    """Append records to an archive and close it; returns its manifest."""
    with LogArchive(folder, **settings) as archive:
        for one in records:
            archive.append(one, high_watermark=high_watermark)
    return read_manifest(folder)


def test_bytes_are_kept_as_they_came(tmp_path):
    manifest = kept(tmp_path, THREE)
    assert archived(tmp_path) == THREE
    assert (manifest.log_start_offset, manifest.next_offset, manifest.last_epoch) == (0, 6, 2)


def test_segments_are_named_by_their_first_offset_and_begin_when_one_is_full(tmp_path):
    kept(tmp_path, THREE, segment_bytes=len(batch(0, 1, 3)) + len(batch(3, 1)))
    names = sorted(path.name for path in tmp_path.glob("*.log"))
    assert names == ["00000000000000000000.log", "00000000000000000004.log"]
    assert archived(tmp_path) == THREE


def test_what_is_not_committed_is_held_back(tmp_path):
    with LogArchive(tmp_path) as archive:
        appended = archive.append(THREE, high_watermark=4)
    assert appended == (2, len(batch(0, 1, 3) + batch(3, 1)), True)
    assert archived(tmp_path) == batch(0, 1, 3) + batch(3, 1)


def test_what_is_there_already_is_not_appended_again(tmp_path):
    kept(tmp_path, THREE, THREE + batch(6, 2))
    assert archived(tmp_path) == THREE + batch(6, 2)


def test_a_batch_that_is_cut_off_is_left_for_the_next_request(tmp_path):
    manifest = kept(tmp_path, THREE + batch(6, 2)[:-1])
    assert manifest.next_offset == 6


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        pytest.param(damaged(batch(6, 2)), "offset 6 has a wrong CRC", id="a damaged batch"),
        pytest.param(batch(7, 2), "offset 7, not at 6", id="a hole"),
        pytest.param(batch(5, 2, 3), "offset 5, not at 6", id="an overlap"),
        pytest.param(batch(6, 1), "falls from 2 to 1", id="an older epoch"),
        pytest.param(b"HTTP/1.1 400 Bad Request" * 9, "record batch", id="something else"),
    ],
)
def test_what_cannot_be_the_log_is_refused(tmp_path, records, problem):
    with LogArchive(tmp_path) as archive:
        archive.append(THREE, high_watermark=None)
        with pytest.raises(LogBroken, match=problem):
            archive.append(records, high_watermark=None)
    assert archived(tmp_path) == THREE


def test_one_process_writes_at_a_time(tmp_path):
    with LogArchive(tmp_path), pytest.raises(ArchiveBusy), LogArchive(tmp_path):
        pass


def test_a_nodes_own_folder_is_not_written_into(tmp_path):
    (tmp_path / "00000000000000000000.log").write_bytes(THREE)
    with pytest.raises(BadArchive, match="import"), LogArchive(tmp_path):
        pass
    assert archived(tmp_path) == THREE


@pytest.mark.parametrize("text", ["", "[]", '{"version": 7}', '{"version": 1}', "\x00"])
def test_a_damaged_manifest_is_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(BadArchive), LogArchive(tmp_path):
        pass


def test_a_segment_that_lost_bytes_is_named(tmp_path):
    kept(tmp_path, THREE)
    (tmp_path / "00000000000000000000.log").write_bytes(THREE[:-1])
    with pytest.raises(BadArchive, match="it was cut"), LogArchive(tmp_path):
        pass


def test_what_a_killed_writer_had_written_is_taken_in(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from jobs.quorum.log.archive import LogArchive\n"
        "archive = LogArchive(Path(sys.argv[1]), segment_bytes=100).__enter__()\n"
        "archive.append(bytes.fromhex(sys.argv[2]), high_watermark=None); os._exit(9)"
    )
    kept(tmp_path, batch(0, 1, 3), segment_bytes=100)
    rest = batch(3, 1) + batch(4, 2, 2)
    subprocess.run([sys.executable, "-c", code, str(tmp_path), rest.hex()], check=False)
    with LogArchive(tmp_path, segment_bytes=100) as archive:
        assert (archive.manifest.next_offset, archive.manifest.last_epoch) == (6, 2)
        archive.append(batch(6, 3), high_watermark=None)
    assert archived(tmp_path) == THREE + batch(6, 3)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(batch(6, 2)[:-1], id="half of one"),
        pytest.param(batch(6, 2) + damaged(batch(7, 2)), id="damaged"),
        pytest.param(batch(6, 2) + b"\0" * 500, id="zeros, as after a power cut"),
    ],
)
def test_a_batch_that_was_not_finished_is_cut_off(tmp_path, written):
    kept(tmp_path, THREE)
    with (tmp_path / "00000000000000000000.log").open("ab") as file:
        file.write(written)
    with LogArchive(tmp_path) as archive:
        end = archive.manifest.next_offset
        archive.append(batch(end, 2), high_watermark=None)
    assert archived(tmp_path) == THREE + b"".join(batch(6 + n, 2) for n in range(end - 5))


def test_after_a_full_disk_appending_resumes_where_it_was(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with LogArchive(tmp_path) as archive:
        archive.append(batch(0, 1, 3), high_watermark=None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(batch(0, 1, 3)) + 10, hard))
        try:
            with pytest.raises(OSError, match="too large"):
                archive.append(THREE, high_watermark=None)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        archive.append(THREE, high_watermark=None)
    assert archived(tmp_path) == THREE


def test_a_snapshot_is_kept_and_the_log_continues_there(tmp_path):
    with LogArchive(tmp_path) as archive:
        archive.append(THREE, high_watermark=None)
        archive.add_snapshot(100, 4, [snapshot(4)])
        archive.note_missing(MissingRange(6, 100, "They were deleted.", 5))
        archive.append(batch(100, 4) + batch(101, 5), high_watermark=None)
    manifest = read_manifest(tmp_path)
    assert (tmp_path / "00000000000000000100-0000000004.checkpoint").read_bytes() == snapshot(4)
    assert [(one.base_offset, one.end_offset) for one in manifest.segments] == [(0, 6), (100, 102)]
    assert manifest.missing == (MissingRange(6, 100, "They were deleted.", 5),)


def test_after_a_snapshot_the_first_batch_may_begin_before_its_end(tmp_path):
    with LogArchive(tmp_path) as archive:
        archive.add_snapshot(100, 4, [snapshot(4)])
        archive.append(batch(98, 4, 4) + batch(102, 4), high_watermark=None)
        assert archive.manifest.next_offset == 103
    assert (tmp_path / "00000000000000000098.log").exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(snapshot()[:-1], id="cut off"),
        pytest.param(snapshot() + batch(9), id="without a footer"),
        pytest.param(batch(0) + snapshot(), id="without a header"),
        pytest.param(damaged(snapshot()), id="damaged"),
    ],
)
def test_what_is_no_whole_snapshot_is_not_kept(tmp_path, content):
    with LogArchive(tmp_path) as archive, pytest.raises(LogBroken):
        archive.add_snapshot(100, 4, [content])
    assert not list(tmp_path.glob("*.checkpoint*"))
    assert read_manifest(tmp_path).is_empty


@pytest.mark.parametrize(
    ("end", "left"),
    [
        pytest.param(4, batch(0, 1, 3) + batch(3, 1), id="at a batch"),
        pytest.param(5, batch(0, 1, 3) + batch(3, 1), id="inside a batch"),
        pytest.param(3, batch(0, 1, 3), id="a whole segment"),
        pytest.param(0, b"", id="everything"),
    ],
)
def test_what_the_quorum_gave_up_is_cut_off(tmp_path, end, left):
    with LogArchive(tmp_path, segment_bytes=100) as archive:
        archive.append(THREE, high_watermark=None)
        archive.truncate(end, at_ms=9)
        assert archive.manifest.dropped[0].to_offset == 6
        archive.append(batch(archive.manifest.next_offset, 7), high_watermark=None)
    assert archived(tmp_path)[: len(left)] == left


def test_what_is_committed_is_never_cut(tmp_path):
    with LogArchive(tmp_path) as archive:
        archive.append(THREE, high_watermark=6)
        archive.note(high_watermark=6)
        with pytest.raises(CommittedCut, match="Offsets 4 to 5"):
            archive.truncate(4, at_ms=9)
    assert archived(tmp_path) == THREE


@pytest.mark.parametrize(("epoch", "end"), [(0, 0), (1, 4), (2, 6), (9, 6)])
def test_the_end_of_an_epoch_is_found(tmp_path, epoch, end):
    with LogArchive(tmp_path, segment_bytes=100) as archive:
        archive.append(THREE, high_watermark=None)
        assert archive.end_of_epoch(epoch) == end


def test_the_manifest_tells_other_programs_where_the_archive_begins_and_ends(tmp_path):
    kept(tmp_path, THREE)
    document = json.loads((tmp_path / "manifest.json").read_text())
    assert (document["log_start_offset"], document["next_offset"]) == (0, 6)
