"""The log of a live quorum comes into the archive whole, and what is missing is never invented."""

import contextlib

import pytest

from jobs.cluster.errors import ClusterFault
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.reader import LogDamaged, LogDiverged, LogReader
from tests.jobs.cluster.protocol.fake_broker import FETCH, PATIENT
from tests.jobs.cluster.protocol.fake_controller import FETCH_SNAPSHOT, controllers, door_to
from tests.jobs.quorum.metadata_logs import Leader, archived, damaged, snapshot

LOG = ((0, 1, 3), (3, 1, 1), (4, 2, 2))


@contextlib.asynccontextmanager
async def reading(folder, *batches, epoch=2, **settings):
    """Open an archive, a leader with a log, and the reader between them."""
    async with controllers() as (one,), door_to(one, timing=PATIENT) as door:
        leader = Leader(one, *(batches or LOG), epoch=epoch)
        with LogArchive(folder, **settings) as archive:
            yield leader, archive, LogReader(door, archive, now_s=lambda: 7.0)


async def read_on(reader, steps=20):
    """Step to the end of the log; returns what every step brought."""
    found = []
    for _ in range(steps):
        found.append(await reader.step(wait_ms=0))
        if found[-1].is_at_end:
            return found
    raise AssertionError(f"not at the end after {steps} steps: {found}")


async def test_the_whole_log_is_read(tmp_path):
    async with reading(tmp_path) as (leader, archive, reader):
        (step,) = await read_on(reader)
        assert (step.batches, step.size_bytes) == (3, len(leader.content()))
        assert archived(tmp_path) == leader.content()
        known = archive.manifest
        assert (known.high_watermark, known.leader_id, known.leader_epoch) == (6, 1, 2)
        assert known.read_at_ms == 7_000


async def test_reading_resumes_where_it_ended(tmp_path):
    async with reading(tmp_path) as (_, _, reader):
        await read_on(reader)
    async with reading(tmp_path, *LOG, (6, 2, 1)) as (leader, _, reader):
        (step,) = await read_on(reader)
        assert step.batches == 1
        assert archived(tmp_path) == leader.content()


async def test_nothing_is_asked_twice_of_a_quiet_log(tmp_path):
    async with reading(tmp_path) as (_, _, reader):
        await read_on(reader)
        assert (await reader.step(wait_ms=0)).batches == 0


async def test_what_is_not_committed_is_kept_when_it_is(tmp_path):
    async with reading(tmp_path) as (leader, _, reader):
        leader.high_watermark = 4
        (step,) = await read_on(reader)
        assert step.batches == 2
        assert archived(tmp_path) == leader.content()[: -len(leader.batches[4])]
        leader.high_watermark = 6
        await read_on(reader)
        assert archived(tmp_path) == leader.content()


async def test_what_the_quorum_gave_up_before_it_was_committed_never_comes_in(tmp_path):
    async with reading(tmp_path) as (leader, _, reader):
        leader.high_watermark = 4
        await read_on(reader)
        leader.batches.pop(4)
        leader.write((4, 3, 1))
        leader.epoch, leader.high_watermark = 3, None
        await read_on(reader)
        assert archived(tmp_path) == leader.content()


async def test_a_leader_that_knows_no_high_watermark_yet_has_nothing_committed(tmp_path):
    async with reading(tmp_path) as (leader, archive, reader):
        leader.high_watermark = -1
        step = await reader.step(wait_ms=0)
        assert (step.is_at_end, step.batches) == (False, 0)
        assert archive.manifest.high_watermark is None


async def test_the_log_is_preferred_to_the_snapshot_that_controllers_name_for_offset_0(tmp_path):
    async with reading(tmp_path) as (leader, archive, reader):
        leader.snapshots[4, 1] = snapshot()
        await read_on(reader)
        assert archived(tmp_path) == leader.content()
        assert archive.manifest.missing == ()


async def test_a_first_record_that_no_controller_serves_is_missing_with_its_reason(tmp_path):
    async with reading(tmp_path, (0, 1, 1), (1, 1, 2)) as (leader, archive, reader):
        leader.epoch = 1
        leader.snapshots[3, 1] = snapshot()
        await read_on(reader)
        (missing,) = archive.manifest.missing
        assert (missing.from_offset, missing.to_offset, missing.at_ms) == (0, 1, 7_000)


async def test_a_log_that_begins_later_is_read_from_its_own_snapshot_on(tmp_path):
    async with reading(tmp_path) as (leader, archive, reader):
        leader.forget_below(4)
        leader.snapshots[6, 2] = snapshot(2)
        await read_on(reader)
        assert [(one.end_offset, one.epoch) for one in archive.manifest.snapshots] == [(4, 1)]
        assert archived(tmp_path) == leader.content(4)
        assert (archive.manifest.log_start_offset, archive.manifest.missing) == (4, ())


async def test_without_that_snapshot_it_begins_at_the_newest(tmp_path):
    async with reading(tmp_path) as (leader, archive, reader):
        leader.log_start = 3
        leader.snapshots[4, 1] = snapshot()
        await read_on(reader)
        assert [(one.end_offset, one.epoch) for one in archive.manifest.snapshots] == [(4, 1)]
        assert archived(tmp_path) == leader.content(4)


async def test_a_snapshot_comes_in_as_many_pieces_as_it_needs(tmp_path):
    async with reading(tmp_path) as (leader, _, reader):
        leader.forget_below(4)
        leader.piece_bytes = 50
        await read_on(reader)
        (path,) = tmp_path.glob("*.checkpoint")
        assert path.read_bytes() == leader.snapshots[4, 1]


async def test_what_was_deleted_before_it_was_read_is_missing_and_not_invented(tmp_path):
    async with reading(tmp_path, (0, 1, 3), epoch=1) as (_, _, reader):
        await read_on(reader)
    async with reading(tmp_path, (40, 2, 2), (42, 2, 1)) as (leader, archive, reader):
        leader.forget_below(40, epoch=1)
        steps = await read_on(reader)
        (missing,) = archive.manifest.missing
        assert (missing.from_offset, missing.to_offset) == (3, 40)
        assert steps[0].missing == missing
        assert [one.file for one in archive.manifest.segments] == [
            "00000000000000000000.log",
            "00000000000000000040.log",
        ]


@contextlib.asynccontextmanager
async def reading_snapshots(folder, times):
    """Read a log of six records that wants a snapshot for every two; `times` are what its clock says."""
    async with controllers() as (one,), door_to(one, timing=PATIENT) as door:
        leader = Leader(one, *LOG, epoch=2)
        with LogArchive(folder) as archive:
            clock = iter(times)
            now = [0.0]

            def now_s():
                now[0] = next(clock, now[0])
                return now[0]

            yield leader, archive, LogReader(door, archive, now_s=now_s, snapshot_every=2)


def ends(archive):
    return [one.end_offset for one in archive.manifest.snapshots]


async def test_a_snapshot_is_kept_now_and_then_so_that_a_fold_is_short(tmp_path):
    async with reading_snapshots(tmp_path, [7.0]) as (leader, archive, reader):
        leader.snapshots[4, 1] = snapshot()
        steps = await read_on(reader)
        assert steps[-1].snapshot == (4, 1)
        assert ends(archive) == [4]
        assert archived(tmp_path) == leader.content()
        assert archive.manifest.missing == ()


async def test_a_quorum_without_a_new_snapshot_is_left_alone_for_a_while(tmp_path):
    async with reading_snapshots(tmp_path, [7.0]) as (leader, archive, reader):
        await read_on(reader)
        leader.snapshots[4, 1] = snapshot()
        await reader.step(wait_ms=0)
        assert ends(archive) == []


async def test_it_is_asked_again_after_ten_minutes(tmp_path):
    async with reading_snapshots(tmp_path, [7.0] * 3 + [607.0]) as (leader, archive, reader):
        await read_on(reader)
        leader.snapshots[4, 1] = snapshot()
        await reader.step(wait_ms=0)
        assert ends(archive) == [4]
        assert (await reader.step(wait_ms=0)).snapshot is None


async def test_a_snapshot_that_went_away_meanwhile_is_named_again_by_the_log(tmp_path):
    async with reading(tmp_path) as (leader, archive, reader):
        leader.log_start = 4
        leader.snapshots[4, 1] = snapshot()
        gone = leader.snapshots.pop
        answer = leader.broker.answers[FETCH_SNAPSHOT]

        def goes(asked):
            gone((4, 1))
            leader.snapshots[6, 2] = snapshot(2)
            leader.broker.answers[FETCH_SNAPSHOT] = answer
            return answer(asked)

        leader.broker.answers[FETCH_SNAPSHOT] = goes
        with pytest.raises(ClusterFault) as told:
            await reader.step(wait_ms=0)
        assert told.value.retriable
        await read_on(reader)
        assert [one.end_offset for one in archive.manifest.snapshots] == [6]


async def test_an_uncommitted_tail_that_was_imported_is_cut_when_the_quorum_gave_it_up(tmp_path):
    async with reading(tmp_path, (0, 1, 3), (3, 1, 4), epoch=1) as (leader, archive, _):
        archive.append(leader.content(), high_watermark=None)
    async with reading(tmp_path, (0, 1, 3), (3, 2, 1), (4, 2, 1)) as (leader, archive, reader):
        steps = await read_on(reader)
        assert steps[0].dropped_from == 3
        assert archived(tmp_path) == leader.content()
        assert archive.manifest.dropped[0].from_offset == 3


async def test_committed_records_that_the_cluster_lost_are_a_finding(tmp_path):
    async with reading(tmp_path) as (_, _, reader):
        await read_on(reader)
    async with reading(tmp_path, (0, 1, 3), epoch=3) as (_, archive, reader):
        before = archived(tmp_path)
        with pytest.raises(LogDiverged) as told:
            await reader.step(wait_ms=0)
        assert not told.value.retriable
        assert "as committed" in archive.manifest.finding
        assert archived(tmp_path) == before


async def test_damaged_batches_are_refused_and_asked_for_again(tmp_path):
    async with reading(tmp_path) as (leader, _, reader):
        good = leader.batches[3]
        leader.batches[3] = damaged(good)
        with pytest.raises(LogDamaged, match="offset 3"):
            await reader.step(wait_ms=0)
        leader.batches[3] = good
        await read_on(reader)
        assert archived(tmp_path) == leader.content()


async def test_a_damaged_snapshot_is_refused(tmp_path):
    async with reading(tmp_path) as (leader, _, reader):
        leader.forget_below(4)
        leader.snapshots[4, 1] = damaged(snapshot())
        with pytest.raises(LogDamaged, match="CRC"):
            await reader.step(wait_ms=0)
        assert not list(tmp_path.glob("*.checkpoint*"))


async def test_an_archive_never_believes_a_leader_older_than_its_log(tmp_path):
    async with reading(tmp_path) as (_, _, reader):
        await read_on(reader)
    async with reading(tmp_path, (0, 1, 3), epoch=1) as (leader, _, reader):
        with pytest.raises(ClusterFault) as told:
            await reader.step(wait_ms=0)
        assert told.value.retriable
        asked = leader.broker.of(FETCH)[0].topics[0].partitions[0]
        assert asked.current_leader_epoch == 2
