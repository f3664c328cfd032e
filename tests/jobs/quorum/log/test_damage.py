"""Whatever byte of a log is another one: the history is the same, or it says where it is not."""

import random
import shutil
from itertools import groupby

import pytest

from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log.importer import NotALogFolder, import_folder
from jobs.quorum.replay.sparse import sparse_items
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import Gap
from tests.jobs.wire.metadata.snapshot_writer import segment_file_name
from tests.jobs.wire.metadata_values import log_of
from tests.support import METADATA_FOLDER

SEGMENTS = [b"".join(log_of(0, 3)), b"".join(log_of(6, 2))]


def flipped(content, at, bit):
    """The same bytes with one bit turned."""
    broken = bytearray(content)
    broken[at] ^= 1 << bit
    return bytes(broken)


def without_place(items):
    """Records as they count, without where they stand."""
    return [
        (one.offset, one.epoch, one.timestamp_ms, one.type, one.data)
        for one in items
        if not isinstance(one, Gap | LogDamage)
    ]


def check_told(items, whole, findings=()):
    """Fail where something differs from the whole history and no gap, damage or finding says so."""
    found = without_place(items)
    told = [one for one in items if isinstance(one, Gap | LogDamage)]
    assert found == whole or told or findings
    # What is lost between two records is a gap, and what is lost at the end is named.
    offsets = {one[0] for one in found}
    gaps = [one for one in told if isinstance(one, Gap)]
    damages = [one for one in told if isinstance(one, LogDamage) and one.expected is not None]
    for offset in {one[0] for one in whole} - offsets:
        in_gap = any(gap.from_offset <= offset < gap.to_offset for gap in gaps)
        # The records of a snapshot have the offset before its own.
        assert in_gap or any(damage.expected <= offset + 1 for damage in damages)


@pytest.mark.parametrize("number", [0, 1])
def test_every_bit_of_a_small_log_is_right_or_told(tmp_path, number):
    for index, content in enumerate(SEGMENTS):
        (tmp_path / segment_file_name(6 * index)).write_bytes(content)
    whole = without_place(read_folder(tmp_path).records())
    path = tmp_path / segment_file_name(6 * number)
    for at in range(len(SEGMENTS[number])):
        for bit in range(8):
            path.write_bytes(flipped(SEGMENTS[number], at, bit))
            folder = read_folder(tmp_path)
            findings = read_voter_timeline(folder.records()).anomalies
            check_told(list(folder.records()), whole, findings)


@pytest.mark.parametrize("size", range(0, len(SEGMENTS[1]), 7))
def test_a_log_that_ends_anywhere_says_where(tmp_path, size):
    (tmp_path / segment_file_name(0)).write_bytes(SEGMENTS[0])
    (tmp_path / segment_file_name(6)).write_bytes(SEGMENTS[1][:size])
    items = list(read_folder(tmp_path).records())
    batch = len(SEGMENTS[1]) // 2
    assert len(without_place(items)) == 6 + 2 * (size // batch)
    tails = [one for one in items if isinstance(one, LogDamage)]
    assert all(one.is_tail for one in tails)
    assert [one.position for one in tails] == [size - size % batch] * bool(size % batch)


def cut_before_an_empty_segment(folder):
    """A log whose second segment lost its last batch, and whose third one is new."""
    (folder / segment_file_name(0)).write_bytes(SEGMENTS[0])
    (folder / segment_file_name(6)).write_bytes(SEGMENTS[1][: len(SEGMENTS[1]) // 2])
    (folder / segment_file_name(10)).write_bytes(b"")


def test_what_is_missing_before_an_empty_segment_is_a_gap(tmp_path):
    cut_before_an_empty_segment(tmp_path)
    *_, last = read_folder(tmp_path).records()
    assert last == Gap(8, 10)


def test_what_is_missing_before_an_empty_segment_is_reported_after_an_import(tmp_path):
    (tmp_path / "n").mkdir()
    cut_before_an_empty_segment(tmp_path / "n")
    folder, problems = archived_items(tmp_path / "n", tmp_path / "a")
    *_, last = folder.records()
    assert (last.expected, last.may_lose_records) == (8, True)
    assert "begins at offset 10" in problems[0]


def test_an_empty_segment_behind_a_whole_log_is_normal(tmp_path):
    (tmp_path / segment_file_name(0)).write_bytes(SEGMENTS[0])
    (tmp_path / segment_file_name(6)).write_bytes(b"")
    assert not [one for one in read_folder(tmp_path).records() if isinstance(one, Gap | LogDamage)]


def archived_items(source, folder):
    """The history of an archive that took a folder; none where it was refused."""
    try:
        with LogArchive(folder) as archive:
            found = import_folder(source, archive, now_ms=1)
    except NotALogFolder:
        return None, ()
    return read_folder(folder), found.problems


def _bytes_of_headers(content, chance, count):
    """Where to damage: bytes of batch headers, which the CRC does not cover all, and any others."""
    starts, at = [], 0
    while at + 61 <= len(content):
        starts.append(at)
        at += int.from_bytes(content[at + 8 : at + 12], "big") + 12
    places = [chance.choice(starts) + chance.randrange(61) for _ in range(count)]
    return places + [chance.randrange(len(content)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(3))
def test_a_byte_of_a_real_log_is_right_or_told_after_an_import(tmp_path, seed):
    chance = random.Random(seed)
    whole = without_place(read_folder(METADATA_FOLDER).records())
    for number in range(30):
        source = tmp_path / f"n{number}"
        shutil.copytree(METADATA_FOLDER, source)
        path = chance.choice(sorted(source.glob("*.log")))
        content = path.read_bytes()
        at = chance.choice(_bytes_of_headers(content, chance, 5))
        path.chmod(0o600)
        path.write_bytes(flipped(content, at, chance.randrange(8)))
        folder, problems = archived_items(source, tmp_path / f"a{number}")
        assert folder is not None
        items = list(folder.records())
        findings = [one for one in read_voter_timeline(items).anomalies if one.is_finding]
        check_told(items, whole, findings or problems)
        # What is read without the partitions says the same of what is missing.
        told = [one for one in items if isinstance(one, Gap | LogDamage)]
        assert [one for one in sparse_items(folder) if isinstance(one, Gap | LogDamage)] == told


@pytest.mark.parametrize("seed", range(2))
def test_a_real_log_with_a_lost_sector_is_read_behind_it(tmp_path, seed):
    chance = random.Random(seed)
    source = shutil.copytree(METADATA_FOLDER, tmp_path / "n")
    whole = without_place(read_folder(METADATA_FOLDER).records())
    path = source / segment_file_name(875)
    content = bytearray(path.read_bytes())
    at = chance.randrange(2_000, len(content) - 6_000)
    content[at : at + 4096] = bytes(4096)
    path.chmod(0o600)
    path.write_bytes(content)
    folder, problems = archived_items(source, tmp_path / "a")
    items = list(folder.records())
    check_told(items, whole)
    assert problems
    assert without_place(items)[-1] == whole[-1]
    kinds = [key for key, _ in groupby(type(one).__name__ for one in items)]
    assert kinds[-3:] == ["LogDamage", "Gap", "LogRecord"]


def test_damage_before_the_snapshot_with_which_a_history_begins_is_no_reason_of_a_later_gap(
    tmp_path,
):
    source = shutil.copytree(METADATA_FOLDER, tmp_path / "n")
    path = source / segment_file_name(648)
    content = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(flipped(flipped(content, 5_448, 0), 10_896, 0))
    folder, problems = archived_items(source, tmp_path / "a")
    told = [LogDamage, Gap, (799, 800)]
    for log in (read_folder(source), folder):
        for items in (list(log.records()), list(sparse_items(log))):
            found = [one for one in items if isinstance(one, Gap | LogDamage)]
            gap = found[-1]
            assert [*map(type, found), (gap.from_offset, gap.to_offset)] == told
            assert (found[0].position, found[0].expected) == (10_872, 799)
    assert len(problems) == 2
