"""A history read in ranges is the history that somebody reads who follows it."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.offset_syncs.archive import open_parts
from jobs.replication.offset_syncs.archive_manifest import Source
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.backfill import (
    LONGEST_RANGE,
    SHORTEST_RANGE,
    Collected,
    SyncRange,
    append_ranges,
    ranges_of,
)
from jobs.replication.offset_syncs.reader import TakenSyncs, increment_of, take_syncs
from jobs.wire.batches.record_batch import BatchHeader
from tests.jobs.replication.offset_syncs.sync_logs import batch, marker
from tests.jobs.replication.offset_syncs.test_sync_rows import listed

SOURCE = Source("west", "mm2-offset-syncs.east.internal", "A" * 22)
# What comes next in the log: so many offsets removed before it, so many records, one missing inside or not.
PARTS = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 1, 4]), st.integers(0, 3), st.booleans()), max_size=14
)


def log_of(parts):
    batches, offset = [], 0
    for gap, count, has_hole in parts:
        offset += gap
        offsets = [offset + n for n in range(count + 1)]
        if has_hole and count > 1:
            offsets.pop(1)
        batches.append(batch(*offsets) if count else marker(offset))
        offset = offsets[-1] + 1
    return batches, offset


def fetched(batches, offset, most):
    """What a broker answers: whole batches from the one that holds the offset on."""
    found = [one for one in batches if BatchHeader.decode(one).next_offset > offset]
    return memoryview(b"".join(found[:most]))


def read_range(batches, span, most):
    collected = Collected(TakenSyncs(span.start))
    while collected.take(fetched(batches, collected.whole.next_offset, most), (), span):
        pass
    return collected.result()


@given(PARTS, st.lists(st.integers(0, 60), max_size=4), st.integers(1, 5))
def test_ranges_and_following_make_the_same_syncs(tmp_path_factory, parts, cuts, most):
    batches, end = log_of(parts)
    followed, filled = (tmp_path_factory.mktemp(name) for name in ("followed", "filled"))
    with SyncArchive(followed) as archive:
        offset = 0
        while content := fetched(batches, offset, most):
            taken = take_syncs(content, offset)
            archive.append(increment_of(taken, SOURCE))
            offset = taken.next_offset
        holes = archive.manifest.holes
    bounds = sorted({0, *(cut for cut in cuts if cut < end), end})
    spans = [SyncRange(n, *bounds[n : n + 2]) for n in range(len(bounds) - 1)]
    with SyncArchive(filled) as archive:
        archive.append(increment_of(TakenSyncs(0), SOURCE))  # as a backfill begins
        list(append_ranges(archive, SOURCE, [read_range(batches, one, most) for one in spans]))
        archive.tidy(now=True)
        assert archive.manifest.next_offset == end
        assert archive.manifest.holes == holes
    told, wanted = open_parts(filled), open_parts(followed)
    assert told.names == wanted.names
    for name in wanted.names:
        assert listed(told.rows(name)) == listed(wanted.rows(name))


def test_ranges_cover_everything_once_and_keep_everybody_busy():
    for start, end, readers in ((0, 10_000_000, 2), (5, 250_005, 2), (0, 1, 4), (3, 3, 2)):
        found = ranges_of(start, end, readers)
        assert [one.start for one in found[1:]] == [one.end for one in found[:-1]]
        assert not found or (found[0].start, found[-1].end) == (start, end)
        assert all(one.end - one.start <= LONGEST_RANGE for one in found)
        assert len(found) >= min(readers, (end - start) // SHORTEST_RANGE)
