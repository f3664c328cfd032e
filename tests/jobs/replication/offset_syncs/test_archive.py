"""The archive of offset syncs: whatever was appended how, it answers as if all syncs had come one by one."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.archives import MANIFEST, ArchiveBusy, BadArchive
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive import archive_folder, open_parts, open_translator
from jobs.replication.offset_syncs.archive_manifest import Gap, GapKind, Source, read_manifest
from jobs.replication.offset_syncs.archive_writer import Increment, Limits, SyncArchive
from jobs.replication.offset_syncs.sync_rows import SyncRows, repeats
from jobs.replication.translation.bounds import Why
from jobs.replication.translation.translator import Translator
from tests.examples import examples
from tests.jobs.replication.offset_syncs.test_sync_files import runs
from tests.jobs.replication.offset_syncs.test_sync_rows import LINKS, followed, listed

SOURCE = Source("west", "mm2-offset-syncs.east.internal", "A" * 22)
NAMES = [TopicPartition("orders", 0), TopicPartition("clicks", 3)]
# So small that files are merged in the middle of a short test.
SOON = Limits(most_parts=3, syncs_of_kept=5)
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


def increment(syncs, next_offset=0, gap=None, follows=(), lost_at=1, **more) -> Increment:
    found = None if gap is None else Gap(gap, 0, None, 0, lost_at, "a test")
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
        back, own = one.reverse_many([where] * 12, range(12)), one.mm2_many([where] * 12, range(12))
        for offset, (lo, hi, why) in enumerate(zip(*back, strict=True)):
            found = (lo, None if hi < 0 <= lo else hi, Why(why).text)
            assert found == answered(other.reverse(where, offset))
            assert (None if own[offset] == -2 else own[offset]) == other.mm2(where, offset)


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
        archive.tidy(now=True)
    assert_same_answers(open_translator(folder), one_by_one(pieces))


@examples(40)
@given(PIECES)
def test_merging_loses_no_sync(tmp_path_factory, pieces):
    found = []
    for limits in (SOON, Limits()):
        folder = tmp_path_factory.mktemp("archive")
        with SyncArchive(folder, limits) as archive:
            for gap, syncs, follows, _ in with_links(pieces):
                archive.append(increment(syncs, 0, gap, follows))
        parts = open_parts(folder)
        found.append({name: news(parts.rows(name)) for name in parts.names})
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [2, 4, 9])
def test_merging_keeps_one_of_syncs_that_say_the_same_in_a_row(tmp_path, count):
    with SyncArchive(tmp_path, SOON) as archive:
        for at in range(count):
            archive.append(increment([(0, 7, 5, False, "")], at))
        archive.tidy(now=True)
    (name,) = open_parts(tmp_path).names
    assert len(open_parts(tmp_path).rows(name).upstream) == 1


def news(rows: SyncRows):
    """Return the rows that say something else than the row before them."""
    return listed(rows.pick(~repeats(rows._replace(partition=np.zeros_like(rows.partition)))))


def test_files_are_merged_when_there_are_many(tmp_path):
    with SyncArchive(tmp_path, SOON) as archive:
        for number in range(0, 100, 10):
            archive.append(increment([(0, number, number + 5)]))
        assert len(archive.manifest.parts) <= 3
    assert open_parts(tmp_path).rows(NAMES[0]).upstream.tolist() == list(range(0, 100, 10))


def at(times, content):
    return content._replace(rows=content.rows._replace(at_ms=np.array(times, np.int64)))


def test_what_was_known_at_a_time_is_told_as_it_was_told_then(tmp_path):
    with SyncArchive(tmp_path, SOON) as archive:
        archive.append(at([100, 200], increment([(0, 0, 5), (0, 50, 60)])))
        archive.append(at([300], increment([(0, 90, 100)])))
        archive.tidy(now=True)

    def then(at_ms):
        return open_translator(tmp_path, as_of_ms=at_ms)

    assert then(99).translate(NAMES[0], 70) is None
    assert [bounds(then(ms).translate(NAMES[0], 70)) for ms in (100, 299, 300)] == [
        (6, None), (61, None), (61, 100),
    ]  # fmt: skip
    assert [then(ms).mm2(NAMES[0], 70) for ms in (99, 100, 200)] == [None, 6, 61]


def test_before_a_loss_was_seen_what_it_took_away_was_known(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(at([100], increment([(0, 0, 5)])))
        archive.append(at([150], increment([(0, 0, 0)], gap=GapKind.LOST, lost_at=500)))
    known = [
        bounds(open_translator(tmp_path, as_of_ms=ms).translate(NAMES[0], 0)) for ms in (499, 500)
    ]
    assert known == [(5, 5), (0, 0)]


def test_a_folder_without_an_archive_has_nothing_to_say(tmp_path):
    told = open_translator(tmp_path / "none")
    assert told.partitions == frozenset()
    assert (told.translate(NAMES[0], 5), told.mm2(NAMES[0], 5)) == (None, None)


def test_what_was_appended_is_seen_by_readers_that_had_opened_it_before(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 10, 20)]))
        before = open_translator(tmp_path)
        archive.append(increment([(0, 30, 40)]))
        assert bounds(open_translator(tmp_path).translate(NAMES[0], 20)) == (21, 40)
        assert bounds(before.translate(NAMES[0], 20)) == (21, None)


@pytest.mark.parametrize("is_merged", [False, True], ids=["as it came", "merged"])
def test_between_two_syncs_that_follow_each_other_every_record_is_as_far_as_the_first(
    tmp_path, is_merged
):
    """Also over appends, and where compaction took syncs of other partitions between the two."""
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 0, 5)]))
        archive.append(increment([(0, 100, 105)], gap=GapKind.COMPACTED, follows=[(0, 5)]))
        archive.tidy(now=is_merged)
    found = open_translator(tmp_path).translate(NAMES[0], 68)
    assert (found.lo, found.hi) == (73, 105)
    assert found.reason == Why.PERHAPS_NO_RECORD.text
    assert open_translator(tmp_path).reverse(NAMES[0], 73).lo == 68


def test_behind_a_sync_that_follows_a_missing_one_nothing_from_before_counts(tmp_path):
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 0, 5), (0, 100, 300)], follows=[(-1, -1), (60, 200)]))
    assert bounds(open_translator(tmp_path).translate(NAMES[0], 50)) == (0, 300)


def test_an_archive_of_version_1_is_opened_and_written_on(tmp_path):
    _, content = runs([(0, 0, 5, False, ""), (0, 100, 105, False, "")], with_links=True)
    pq.write_table(content, tmp_path / "runs-1-1.parquet")
    (tmp_path / "index-1").mkdir()
    part = {"file": "runs-1-1.parquet", "first": 1, "last": 1, "runs": 1, "syncs": 2}
    index = {"folder": "index-1", "last": 1}
    old = {
        "version": 1,
        "identity": "x",
        "source": None,
        "appends": 1,
        "parts": [part],
        "index": index,
        "gaps": [],
    }
    (tmp_path / MANIFEST).write_text(json.dumps(old), encoding="utf-8")
    where = TopicPartition("b", 1)
    assert bounds(open_translator(tmp_path).translate(where, 68)) == (6, 105)
    with SyncArchive(tmp_path) as archive:
        archive.append(increment([(0, 1, 1)])._replace(names=[where]))
        archive.tidy(now=True)
        assert len(archive.manifest.parts) == 1
    assert not (tmp_path / "index-1").exists()
    assert open_parts(tmp_path).rows(where).upstream.tolist() == [0, 100, 1]


def test_where_to_resume_and_what_was_refused_are_kept(tmp_path):
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
    assert "a gap in the archive" in found.reason


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
    (tmp_path / "syncs-2-2.parquet").write_bytes(b"half")
    (tmp_path / ".syncs-2-2.parquet.7.partial").write_bytes(b"half")
    (tmp_path / "index-7").mkdir()
    with SyncArchive(tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == kept
    assert bounds(open_translator(tmp_path).translate(NAMES[0], 10)) == (20, 20)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 3}', '{"version": 2}'])
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
def test_the_folder_of_a_flow_is_below_the_archive(tmp_path, name):
    folder = archive_folder(tmp_path, name)
    assert folder.resolve().parent == (tmp_path / "syncs").resolve()


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=40), st.booleans())
def test_mirror_maker_2_does_not_see_what_is_in_the_chain_of_a_record(
    tmp_path_factory, steps, is_merged
):
    ups = np.cumsum([step for step, _ in steps], dtype=np.int64).tolist()
    told = [(0, up, up + 7) for up in ups]
    chained = np.array([is_chained for _, is_chained in steps], np.int64)
    seen, folder = Translator(), tmp_path_factory.mktemp("archive")
    for sync, is_chained in zip(told, chained, strict=True):
        if not is_chained:
            seen.add(NAMES[0], *sync[1:])
    with SyncArchive(folder, SOON) as archive:
        for at in range(0, len(told), 7):
            piece = rows(told[at : at + 7])._replace(chained=chained[at : at + 7])
            archive.append(Increment(SOURCE, NAMES, piece, at))
        archive.tidy(now=is_merged)
    for offset in range(max(ups, default=0) + 2):
        assert open_translator(folder).mm2(NAMES[0], offset) == seen.mm2(NAMES[0], offset)
