"""The archive of offset syncs: whatever was appended how, it answers as if all syncs had come one by one."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.archives import MANIFEST, ArchiveBusy, BadArchive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive import archive_folder, open_translator, read_all_runs
from jobs.replication.offset_syncs.archive_manifest import Gap, GapKind, Source, read_manifest
from jobs.replication.offset_syncs.archive_writer import Increment, Limits, SyncArchive
from jobs.replication.offset_syncs.runs import SyncRows, build_runs
from jobs.replication.translation.sync_history import Why
from jobs.replication.translation.translator import Translator
from tests.examples import examples
from tests.jobs.replication.offset_syncs.test_runs import LINKS, followed

SOURCE = Source("west", "mm2-offset-syncs.east.internal", "A" * 22)
NAMES = [TopicPartition("orders", 0), TopicPartition("clicks", 3)]
# So small that files are merged and arrays are made in the middle of a short test.
SOON = Limits(most_parts=3, syncs_before_index=5, share_before_index=0.3)
PIECES = st.lists(
    st.tuples(
        st.sampled_from([None, None, None, GapKind.COMPACTED, GapKind.LOST]),
        st.lists(
            st.tuples(
                st.integers(0, 1), st.integers(0, 9), st.integers(0, 9), st.just(False), LINKS
            ),
            max_size=6,
        ),
        st.booleans(),
    ),
    max_size=12,
)


def rows(syncs, hole=0, follows=()) -> SyncRows:
    columns = np.array([sync[:3] for sync in syncs], np.int64).reshape(-1, 3).T
    found = SyncRows.without_links(*columns, np.full(len(columns[0]), hole))
    if not follows:
        return found
    upstream, downstream = np.array(follows, np.int64).reshape(-1, 2).T
    return found._replace(follows_upstream=upstream, follows_downstream=downstream)


def increment(syncs, next_offset=0, gap=None, follows=(), **more) -> Increment:
    found = None if gap is None else Gap(gap, 0, None, 0, 1, "a test")
    holes = int(gap is GapKind.COMPACTED)
    content = rows(syncs, holes, follows)
    return Increment(SOURCE, NAMES, content, next_offset, gap=found, holes=holes, **more)


def with_links(pieces):
    """Yield each piece with what its syncs follow; the sync before one may stand in an earlier piece."""
    told = iter(list(followed([sync for _, syncs, _ in pieces for sync in syncs])))
    for gap, syncs, is_opened_again in pieces:
        yield gap, syncs, [next(told) for _ in syncs], is_opened_again


def one_by_one(pieces) -> Translator:
    """What somebody knows who takes each sync when it comes."""
    told, awaiting = Translator(), set()
    for gap, syncs, links, _ in with_links(pieces):
        if gap is GapKind.LOST:
            told = Translator()
        if gap is not None:
            awaiting = set(told.partitions)
        for (number, *pair, _, _), link in zip(syncs, links, strict=True):
            where = NAMES[number]
            follows = None if link == (-1, -1) else link
            told.add(where, *pair, after_gap=where in awaiting, follows=follows)
            awaiting.discard(where)
    return told


def bounds(found):
    return None if found is None else (found.lo, found.hi)


def answered(found):
    return (-1, -1, Why.NO_SYNC.text) if found is None else (found.lo, found.hi, found.reason)


def assert_same_answers(one, other) -> None:
    assert one.partitions == other.partitions
    for where in NAMES:
        for offset in range(12):
            assert bounds(one.translate(where, offset)) == bounds(other.translate(where, offset))
            assert bounds(one.reverse(where, offset)) == bounds(other.reverse(where, offset))
            assert one.mm2(where, offset) == other.mm2(where, offset)
        many = one.translate_many([where] * 12, range(12))
        for offset, (lo, hi, why) in enumerate(zip(*many, strict=True)):
            found = (lo, None if hi < 0 <= lo else hi, Why(why).text)
            assert found == answered(other.translate(where, offset))


@examples(60)
@given(PIECES, st.sampled_from([SOON, Limits()]))
def test_it_answers_as_if_all_syncs_had_come_one_by_one(tmp_path_factory, pieces, limits):
    folder = tmp_path_factory.mktemp("archive")
    for at, (gap, syncs, follows, is_opened_again) in enumerate(with_links(pieces)):
        with SyncArchive(folder, limits) as archive:
            archive.append(increment(syncs, at, gap, follows))
        if is_opened_again:
            assert_same_answers(open_translator(folder), one_by_one(pieces[: at + 1]))
    with SyncArchive(folder, limits) as archive:
        archive.tidy(index_now=True)
    assert_same_answers(open_translator(folder), one_by_one(pieces))


@examples(40)
@given(PIECES)
def test_merging_and_arrays_lose_no_run(tmp_path_factory, pieces):
    tables = []
    for limits in (SOON, Limits()):
        folder = tmp_path_factory.mktemp("archive")
        with SyncArchive(folder, limits) as archive:
            for gap, syncs, follows, _ in with_links(pieces):
                archive.append(increment(syncs, 0, gap, follows))
        tables.append(read_all_runs(folder))
    assert tables[0].same_as(tables[1])


def test_a_run_goes_on_over_many_appends(tmp_path):
    with SyncArchive(tmp_path, SOON) as archive:
        for number in range(0, 100, 10):
            archive.append(increment([(0, number, number + 5)]))
        assert len(archive.manifest.parts) < 10
    table = read_all_runs(tmp_path)
    assert table.same_as(build_runs(NAMES, rows([(0, n, n + 5) for n in range(0, 100, 10)])))
    assert len(table) == 1


def test_a_folder_without_an_archive_has_nothing_to_say(tmp_path):
    told = open_translator(tmp_path / "none")
    assert told.partitions == frozenset()
    assert (told.translate(NAMES[0], 5), told.mm2(NAMES[0], 5)) == (None, None)


def test_what_was_appended_is_seen_by_whoever_had_opened_it_before(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 10, 20)]))
        before = open_translator(tmp_path)
        archive.append(increment([(0, 30, 40)]))
        assert bounds(open_translator(tmp_path).translate(NAMES[0], 20)) == (21, 40)
        assert bounds(before.translate(NAMES[0], 20)) == (21, None)


@pytest.mark.parametrize("is_indexed", [False, True], ids=["as it came", "in the index"])
def test_between_two_syncs_that_follow_each_other_every_record_is_as_far_as_the_first(
    tmp_path, is_indexed
):
    """Also over appends, and where compaction took syncs of other partitions between the two."""
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 0, 5)]))
        archive.append(increment([(0, 100, 105)], gap=GapKind.COMPACTED, follows=[(0, 5)]))
        archive.tidy(index_now=is_indexed)
    found = open_translator(tmp_path).translate(NAMES[0], 68)
    assert (found.lo, found.hi) == (73, 105)
    assert found.reason == Why.PERHAPS_NO_RECORD.text
    assert open_translator(tmp_path).reverse(NAMES[0], 73).lo == 68


def test_behind_a_sync_that_follows_one_that_nobody_kept_nothing_from_before_counts(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 0, 5), (0, 100, 300)], follows=[(-1, -1), (60, 200)]))
    assert bounds(open_translator(tmp_path).translate(NAMES[0], 50)) == (0, 300)


def test_an_index_of_an_earlier_version_is_opened_and_knows_of_no_links(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 0, 5), (0, 100, 105)], follows=[(-1, -1), (0, 5)]))
        archive.tidy(index_now=True)
    (old,) = tmp_path.glob("index-*/linked.npy")
    old.unlink()
    assert bounds(open_translator(tmp_path).translate(NAMES[0], 68)) == (6, 105)


def test_where_to_go_on_and_what_was_refused_are_kept(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([], 5, refused={"a tombstone": 2}))
        archive.append(increment([(0, 1, 1)], 9, refused={"a tombstone": 1, "short": 1}))
    with SyncArchive(tmp_path) as archive:
        kept = archive.manifest
    assert (kept.next_offset, kept.source) == (9, SOURCE)
    assert kept.refused == {"a tombstone": 3, "short": 1}


def test_a_gap_is_told_with_its_place(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 1, 1)]))
        archive.append(increment([(0, 9, 9)], gap=GapKind.COMPACTED))
    (gap,) = read_manifest(tmp_path).gaps
    assert (gap.kind, gap.before) == (GapKind.COMPACTED, 2)
    found = open_translator(tmp_path).translate(NAMES[0], 5)
    assert bounds(found) == (0, 9)
    assert "nobody kept" in found.reason


def test_only_one_process_appends(tmp_path):
    with (
        SyncArchive(tmp_path),
        pytest.raises(ArchiveBusy, match="another process"),
        SyncArchive(tmp_path),
    ):
        pass


def test_what_a_crash_left_is_removed_and_does_not_count(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 10, 20)]))
        kept = {path.name for path in tmp_path.iterdir()}
    (tmp_path / "runs-2-2.parquet").write_bytes(b"half")
    (tmp_path / ".runs-2-2.parquet.7.partial").write_bytes(b"half")
    (tmp_path / "index-7").mkdir()
    with SyncArchive(tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == kept
    assert bounds(open_translator(tmp_path).translate(NAMES[0], 10)) == (20, 20)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2}', '{"version": 1}'])
def test_a_damaged_manifest_is_named(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(BadArchive, match=r"manifest\.json"):
        open_translator(tmp_path)
    with pytest.raises(BadArchive, match=r"manifest\.json"), SyncArchive(tmp_path):
        pass


def test_an_archive_begun_again_is_another_one(tmp_path):
    folder = tmp_path / "archive"
    for downstream in (20, 30):
        with SyncArchive(folder) as archive:
            archive.append(increment([(0, 10, downstream)]))
        assert open_translator(folder).translate(NAMES[0], 10).lo == downstream
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["12", "A->B", "../../etc", "", "..", "a b"])
def test_the_folder_of_a_flow_stands_below_the_archive(tmp_path, name):
    folder = archive_folder(tmp_path, name)
    assert folder.resolve().parent == (tmp_path / "syncs").resolve()
