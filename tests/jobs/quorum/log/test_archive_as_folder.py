"""What reads a node's folder reads an archive: the same records, the same gaps, the same beginning."""

import shutil

import pytest

from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import MissingRange
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log.importer import import_folder
from jobs.wire.metadata.log import Gap
from tests.support import METADATA_FOLDER


@pytest.mark.parametrize("segment_bytes", [4_000, 64 << 20], ids=["small", "large"])
def test_an_archive_of_a_real_log_tells_its_history(segment_bytes, tmp_path):
    with LogArchive(tmp_path / "a", segment_bytes=segment_bytes) as archive:
        import_folder(METADATA_FOLDER, archive, now_ms=1)
    ours, theirs = read_folder(tmp_path / "a"), read_folder(METADATA_FOLDER)

    def told(folder):
        return [(one.offset, one.epoch, one.type, one.data) for one in folder.records()]

    assert told(ours) == told(theirs)
    assert len(ours.segments) > 2 or segment_bytes > 4_000


def test_an_archive_that_is_being_written_is_read_up_to_its_last_whole_batch(tmp_path):
    with LogArchive(tmp_path / "a") as archive:
        import_folder(METADATA_FOLDER, archive, now_ms=1)
        path = max((tmp_path / "a").glob("*.log"))
        with path.open("ab") as file:
            file.write(path.read_bytes()[:30])
        *_, last, tail = read_folder(tmp_path / "a").records()
        assert tail.is_tail
        assert last.offset == archive.manifest.next_offset - 1


def test_what_is_missing_in_the_archive_is_a_gap_of_the_history(tmp_path):
    source = shutil.copytree(METADATA_FOLDER, tmp_path / "n")
    last = max(source.glob("*.log"))
    for snapshot in source.glob("*.checkpoint"):
        snapshot.unlink()
    with LogArchive(tmp_path / "a") as archive:
        import_folder(source, archive, now_ms=1)
        end = archive.manifest.next_offset
        archive.note_missing(MissingRange(end, end + 50, "They were deleted.", 1))
        later = tmp_path / "later"
        later.mkdir()
        (later / f"{end + 50:020}.log").write_bytes(_moved(last.read_bytes(), end + 50))
        import_folder(later, archive, now_ms=1)
    gaps = [one for one in read_folder(tmp_path / "a").records() if isinstance(one, Gap)]
    assert (gaps[-1].from_offset, gaps[-1].to_offset) == (end, end + 50)


def _moved(content: bytes, base: int) -> bytes:
    """Return the first batch of a log at another offset, which its CRC does not cover."""
    length = int.from_bytes(content[8:12], "big") + 12
    return base.to_bytes(8, "big") + content[8:length]
