"""The tables of a log say what the plain fold of its records says: one rule of causes."""

from dataclasses import replace

import pyarrow.parquet as pq
from hypothesis import given

from jobs.quorum.history.changes import PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log_tables.reading import partition_changes
from jobs.quorum.log_tables.schemas import SCHEMAS
from jobs.quorum.log_tables.writing import change_row, write_beside_partitions, write_partitions
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from tests.examples import examples
from tests.jobs.quorum.metadata_stories import stories
from tests.jobs.quorum.voters.test_control_scan import static
from tests.support import METADATA_FOLDER


def rows(output, name):
    return pq.read_table(output / name).to_pylist()


def plain_rows(folder):
    """What every table of changes should hold, by the fold of every record."""
    found = {name: [] for name in ("broker_changes", "config_changes", "features", "topic_changes")}
    for change in read_changes(folder.records()):
        told = change_row(change)
        if told is not None:
            found[told[0]].append(told[1])
    return found


def plain_partitions(folder):
    """The changes of partitions by the fold of every record, as far as a table can say them."""
    return sorted(
        (
            replace(one, directories=(), previous_elr=None, since_offset=None, not_after_ms=None)
            for one in read_changes(folder.records())
            if isinstance(one, PartitionChange)
        ),
        key=str,
    )


@examples(60)
@given(log=stories())
def test_random_logs_have_the_same_changes_and_causes_whichever_way_they_are_read(
    tmp_path_factory, log
):
    output = tmp_path_factory.mktemp("tables")
    path = tmp_path_factory.mktemp("log")
    (path / f"{0:020}.log").write_bytes(log)
    folder = read_folder(path)
    for shard in range(2):
        write_partitions(folder, output, shard, 2)
    write_beside_partitions(folder, output)
    assert sorted(partition_changes(output / "partition_changes"), key=str) == plain_partitions(
        folder
    )
    assert {name: rows(output, name) for name in plain_rows(folder)} == plain_rows(folder)


def test_a_log_of_a_real_cluster_has_the_voters_and_elections_of_its_timeline(tmp_path):
    folder = read_folder(METADATA_FOLDER)
    told = write_beside_partitions(folder, tmp_path)
    timeline = read_voter_timeline(folder.records())
    assert [row["offset"] for row in rows(tmp_path, "voter_sets")] == [
        one.offset for one in timeline.entries
    ]
    elections = rows(tmp_path, "elections")
    assert [(row["epoch"], row["leader_id"], row["gap_ms"]) for row in elections] == [
        (one.epoch, one.leader_id, one.gap_ms) for one in timeline.elections
    ]
    last_ms = {span.epoch: span.last_ms for span in timeline.epochs}
    assert [row["ended_ms"] for row in elections] == [last_ms[row["epoch"]] for row in elections]
    assert told["end_offset"] == timeline.end_offset
    assert told["gaps"] == [list(gap) for gap in timeline.unknown]


def test_a_log_of_a_real_cluster_has_the_changes_of_every_record(tmp_path):
    folder = read_folder(METADATA_FOLDER)
    told = write_partitions(folder, tmp_path, 0, 1)
    beside = write_beside_partitions(folder, tmp_path)
    found = sorted(partition_changes(tmp_path / "partition_changes"), key=str)
    assert found == plain_partitions(folder)
    assert told["rows"] == len(found)
    for name, expected in plain_rows(folder).items():
        assert rows(tmp_path, name) == expected
        assert beside["rows"][name] == len(expected)


def test_every_table_is_there_even_of_a_log_that_tells_nothing(tmp_path):
    log, output = tmp_path / "log", tmp_path / "tables"
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(b"")
    folder = read_folder(log)
    write_partitions(folder, output, 0, 1)
    told = write_beside_partitions(folder, output)
    assert {name: rows(output, name) for name in SCHEMAS} == {name: [] for name in SCHEMAS}
    assert (told["records"], told["first_ms"]) == (0, None)


def test_a_segment_that_is_damaged_is_named(tmp_path):
    log, output = tmp_path / "log", tmp_path / "tables"
    log.mkdir()
    for path in METADATA_FOLDER.glob("*.log"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        (log / path.name).write_bytes(content)
    told = write_beside_partitions(read_folder(log), output)
    assert any(".log, byte" in sentence for sentence in told["damage"])


def test_elections_before_the_snapshot_of_a_static_quorum_are_in_the_tables(tmp_path):
    told = write_beside_partitions(read_folder(static(tmp_path)), tmp_path / "out")
    assert (told["rows"]["elections"], told["rows"]["voter_sets"]) == (1, 1)
    (row,) = pq.read_table(tmp_path / "out" / "voter_sets").to_pylist()
    assert (row["voter_ids"], row["is_static"]) == ([1, 2, 3], True)
    assert told["first_offset"] == 511
