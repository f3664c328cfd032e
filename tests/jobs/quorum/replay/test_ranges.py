"""A log read in ranges and folded in shares has the tables of a log that one reader reads and folds whole."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.image.image import LARGEST_BATCH_RECORDS
from jobs.quorum.log.folder import read_folder
from jobs.quorum.log.ranges import read_ranges
from jobs.quorum.log_tables.schemas import SCHEMAS
from jobs.quorum.log_tables.writing import write_beside_partitions, write_partitions
from jobs.quorum.replay.dealing import dealt_columns
from jobs.quorum.replay.ranges import deal_range, dealt_runs, ranges_of
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from tests.examples import examples
from tests.jobs.quorum.metadata_stories import stories
from tests.jobs.quorum.replay.test_replay import batch, changed, created
from tests.jobs.wire.metadata.snapshot_writer import (
    SnapshotWriter,
    segment_file_name,
    snapshot_file_name,
)
from tests.support import METADATA_FOLDER

NO_OP = encode_metadata_record("NO_OP_RECORD", 0, {})
BEGIN = encode_metadata_record("BEGIN_TRANSACTION_RECORD", 0, {})
END = encode_metadata_record("END_TRANSACTION_RECORD", 0, {})


def at_once(folder, output):
    beside = write_beside_partitions(folder, output)
    return [write_partitions(folder, output, 0, 1)], beside


def in_ranges(folder, output, size_bytes, shares):
    dealt = output / "dealt"
    dealt.mkdir()

    def deal(ranges):
        return [deal_range(folder, one, n, dealt, shares) for n, one in enumerate(ranges)]

    def plan(uncut):
        return list(ranges_of(folder, size_bytes, uncut))

    resets = read_ranges(plan, deal)
    told = [
        write_partitions(folder, output, share, shares, dealt_columns(dealt, resets, share))
        for share in range(shares)
    ]
    return told, write_beside_partitions(folder, output, dealt_runs(dealt, len(resets)))


def tables(output):
    found = {}
    for name, schema in SCHEMAS.items():
        parts = [pq.read_table(path) for path in sorted((output / name).glob("*.parquet"))]
        plain = [
            pa.field(one.name, pa.string() if pa.types.is_dictionary(one.type) else one.type)
            for one in schema
        ]
        whole = pa.concat_tables([part.cast(pa.schema(plain)) for part in parts])
        order = [(key, "ascending") for key in ("offset", "topic_id", "partition")]
        found[name] = whole.sort_by(order) if name == "partition_changes" else whole
    return found


def check_same(folder, temporary, size_bytes=1, shares=3):
    whole, cut = temporary / "whole", temporary / "cut"
    whole.mkdir()
    cut.mkdir()
    (one,), beside = at_once(folder, whole)
    told, beside_too = in_ranges(folder, cut, size_bytes, shares)
    assert tables(cut) == tables(whole)
    assert beside_too == beside
    assert sum(share["rows"] for share in told) == one["rows"]
    kinds = {kind for share in told for kind in share["anomalies"]}
    worst = {kind: max(share["anomalies"].get(kind, 0) for share in told) for kind in kinds}
    assert worst == one["anomalies"]
    return tables(whole)


def write(folder, contents):
    folder.mkdir(exist_ok=True)
    for offset, content in contents.items():
        (folder / segment_file_name(offset)).write_bytes(content)
    return read_folder(folder)


@examples(150)
@given(log=stories(), shares=st.integers(1, 4), size_bytes=st.integers(1, 600))
def test_the_tables_do_not_depend_on_ranges_and_shares(tmp_path_factory, log, shares, size_bytes):
    temporary = tmp_path_factory.mktemp("log")
    check_same(write(temporary / "log", {0: log}), temporary, size_bytes, shares)


@examples(60)
@given(log=stories(), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_nor_where_a_byte_of_the_log_is_damaged(tmp_path_factory, log, place, bit):
    content = bytearray(log)
    content[int(place * len(content))] ^= 1 << bit
    temporary = tmp_path_factory.mktemp("log")
    check_same(write(temporary / "log", {0: bytes(content)}), temporary)


@pytest.mark.parametrize("size_bytes", [1, 20_000], ids=["at every batch", "at some batches"])
def test_nor_of_a_real_cluster_s_log(tmp_path, size_bytes):
    found = check_same(read_folder(METADATA_FOLDER), tmp_path, size_bytes)
    assert len(found["partition_changes"]) > 100
    assert len(found["broker_changes"]) > 0


def with_another_delta(content):
    """Return a batch whose last offset delta was damaged: a cut behind it has a false offset."""
    return content[:26] + bytes([content[26] ^ 4]) + content[27:]


BATCHES = {0: batch(0, *created()), 2: batch(2, changed([1])), 3: batch(3, changed([1, 2]))}


@pytest.mark.parametrize(
    ("contents", "changes"),
    [
        pytest.param({0: b"".join(BATCHES.values())[:-9]}, 2, id="a segment cut inside a batch"),
        pytest.param({0: BATCHES[0] + BATCHES[2], 9: batch(9, changed([1]))}, 2, id="a gap"),
        pytest.param({0: BATCHES[0] + BATCHES[3]}, 1, id="a gap inside a segment"),
        pytest.param(
            {0: with_another_delta(BATCHES[0]) + BATCHES[2]}, 0, id="a batch of a false length"
        ),
        pytest.param({0: BATCHES[0] + b"\0" * 999, 2: BATCHES[2]}, 2, id="zeros behind a segment"),
        pytest.param({0: BATCHES[0] + BATCHES[2], 2: BATCHES[2] + BATCHES[3]}, 3, id="an overlap"),
        pytest.param({0: b"", 5: b""}, 0, id="empty segments"),
        pytest.param(
            {0: BATCHES[0]} | {2 + n: batch(2 + n, changed([1 + n % 2])) for n in range(1000)},
            1001,
            id="a thousand small segments",
        ),
        pytest.param(
            {0: BATCHES[0] + batch(2, *[changed([1 + n % 2]) for n in range(3000)])},
            3001,
            id="a batch larger than a range",
        ),
    ],
)
def test_nor_of_a_log_with(tmp_path, contents, changes):
    found = check_same(write(tmp_path / "log", contents), tmp_path)
    assert len(found["partition_changes"]) == changes


def dated(offset, time_ms, epoch, isr):
    records = [PlacedRecord(offset, time_ms, None, changed(isr))]
    return encode_batch(records, partition_leader_epoch=epoch)


def test_nor_of_a_log_with_an_overlap_in_which_an_epoch_begins(tmp_path):
    again = dated(3, 1003, 2, [2]) + dated(4, 1004, 2, [1])
    contents = {0: b"".join(BATCHES.values()), 2: BATCHES[2] + again}
    found = check_same(write(tmp_path / "log", contents), tmp_path)
    assert found["partition_changes"]["offset"].to_pylist() == [1, 2, 3, 4]


def test_nor_of_a_log_with_times_that_are_none_in_batches_in_a_row(tmp_path):
    contents = {0: BATCHES[0] + dated(2, -1, 1, [1]) + dated(3, -1, 1, [2])}
    folder = write(tmp_path / "log", contents)
    check_same(folder, tmp_path)
    (tmp_path / "again").mkdir()
    assert len(at_once(folder, tmp_path / "again")[1]["damage"]) == 2


def test_nor_of_a_log_with_a_gap_inside_a_segment_and_a_snapshot_behind_it(tmp_path):
    snapshot = SnapshotWriter(epoch=1, last_contained_log_timestamp_ms=1003)
    snapshot.append(created())
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / snapshot_file_name(4, 1)).write_bytes(snapshot.freeze())
    folder = write(tmp_path / "log", {0: BATCHES[0] + BATCHES[3] + batch(4, changed([1]))})
    found = check_same(folder, tmp_path)["partition_changes"]
    assert found["offset"].to_pylist() == [1, 3, 4]
    assert found["cause"].to_pylist()[1] == "snapshot"


TOPIC, PARTITION = created()
FULL = [NO_OP] * LARGEST_BATCH_RECORDS


@pytest.mark.parametrize(
    ("batches", "cause"),
    [
        pytest.param([[TOPIC], [PARTITION]], "partitions_added", id="the next batch"),
        pytest.param([[TOPIC, *FULL], [PARTITION]], "topic_created", id="a full batch"),
        pytest.param(
            [[BEGIN, TOPIC], [NO_OP], [PARTITION, END]], "topic_created", id="a transaction"
        ),
        pytest.param(
            [[BEGIN, TOPIC], [changed([1])], [PARTITION, END]],
            "partitions_added",
            id="a transaction with a change between",
        ),
        pytest.param(
            [[TOPIC], [BEGIN], [changed([1])], [PARTITION, END]],
            "partitions_added",
            id="a transaction that begins later",
        ),
    ],
)
def test_a_topic_and_its_partition_in_two_ranges_are_one_creation_as_in_one(
    tmp_path, batches, cause
):
    content, offset = b"", 0
    for values in batches:
        content += batch(offset, *values)
        offset += len(values)
    found = check_same(write(tmp_path / "log", {0: content}), tmp_path)
    assert found["partition_changes"]["cause"].to_pylist() == [cause]


def test_what_is_appended_while_a_log_is_read_is_not_seen(tmp_path):
    folder = write(tmp_path / "log", {0: BATCHES[0] + BATCHES[2]})
    with folder.segments[0].path.open("ab") as file:
        file.write(BATCHES[3])
    assert len(check_same(folder, tmp_path)["partition_changes"]) == 2


def test_the_records_between_two_files_that_a_share_gets_are_for_this_user_only(tmp_path):
    folder = write(tmp_path / "log", {0: BATCHES[0]})
    (one,) = ranges_of(folder, 1)
    deal_range(folder, one, 0, tmp_path, 2)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("range-*")} == {0o600}
