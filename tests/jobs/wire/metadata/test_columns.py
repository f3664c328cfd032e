"""A metadata log as columns: what the compiled loop reads is what the decoder of single records reads."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.batches.record_batch import Codec, iterate_batches
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata import compiled as metadata_compiled
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns, cuts, read_columns
from jobs.wire.metadata.log import LogRecord, read_log
from jobs.wire.metadata.records import encode_metadata_record
from jobs.wire.metadata.schema import CONTROL_SCHEMA_BY_TYPE, SCHEMA_BY_TYPE
from tests.examples import examples
from tests.jobs.wire.metadata import plain as metadata_plain
from tests.jobs.wire.metadata.metadata_logs import damaged_logs, logs
from tests.jobs.wire.mutations import damaged_batch
from tests.support import KRAFT_LOG

BOTH = pytest.mark.parametrize(
    "loops", [metadata_compiled, metadata_plain], ids=["compiled", "plain"]
)
NUMBERS = {
    name: schema.number for name, schema in (SCHEMA_BY_TYPE | CONTROL_SCHEMA_BY_TYPE).items()
}
NO_TYPES = {"UNDECODABLE", "UNKNOWN_RECORD", "UNKNOWN_CONTROL_RECORD"}


def listed(pieces):
    """Everything that columns say as Python values, whatever the pieces they came in."""
    kinds = (frames, partitions, brokers, topics)
    found = [[fact for columns in pieces for fact in kind(columns)] for kind in kinds]
    damage = [one for columns in pieces for one in columns.damage]
    return (*found, damage, sum(columns.unknown_tags for columns in pieces))


def frames(columns: MetadataColumns):
    of_records = columns.tables.records[[t.READING, t.VALUE_AT, t.VALUE_BYTES]]
    of_batches = (columns.epoch, columns.timestamp_ms, columns.position, columns.is_control)
    told = (columns.offset, columns.type, columns.version, *of_batches, *of_records)
    return [tuple(map(int, one)) for one in zip(*told, strict=True)]


def partitions(columns: MetadataColumns):
    for row, fields in enumerate(columns.tables.partitions.T.tolist()):
        at, count = fields[t.DIRECTORIES_AT], fields[t.DIRECTORIES]
        ids = bytes(columns.content[at : at + 16 * max(count, 0)])
        lists = [columns.list_of(which, row) for which in range(t.LISTS)]
        yield (columns.offset[fields[0]], fields[1 : t.DIRECTORIES_AT], ids, count, lists)


def brokers(columns: MetadataColumns):
    return [(columns.offset[one[0]], one[1:]) for one in columns.tables.brokers.T.tolist()]


def topics(columns: MetadataColumns):
    names = (columns.name_of(row) for row in range(columns.tables.topics.shape[1]))
    return [
        (columns.offset[one[0]], one[1:], name)
        for one, name in zip(columns.tables.topics.T.tolist(), names, strict=True)
    ]


def same_as_records(pieces, found):
    """Columns beside what `read_log` yields: places, types and damage are equal."""
    damage = [one for columns in pieces for one in columns.damage]
    assert [one for one in found if isinstance(one, LogDamage)] == damage
    records = [one for one in found if isinstance(one, LogRecord)]
    rows = [(columns, row) for columns in pieces for row in range(len(columns))]
    assert len(rows) == len(records)
    for (columns, row), record in zip(rows, records, strict=True):
        place = (columns.offset[row], columns.epoch[row], columns.timestamp_ms[row])
        assert place == (record.offset, record.epoch, record.timestamp_ms)
        assert columns.position[row] == record.position
        assert bool(columns.is_control[row]) == record.is_control
        if record.type not in NO_TYPES | {"ABORT", "COMMIT"}:
            assert columns.type[row] == NUMBERS[record.type]
            assert columns.version[row] == record.version
        if record.type == "UNDECODABLE" and not record.is_control:
            assert columns.tables.records[t.READING, row] != t.TYPED


def change(partition, **data):
    told = {"partitionId": partition, "topicId": "AAAAAAAAAAcAAAAAAAAACQ", **data}
    return encode_metadata_record("PARTITION_CHANGE_RECORD", 2, told, {100: b"xy"})


def batch(offset, *values, **fields):
    records = [PlacedRecord(offset + index, 77, None, one) for index, one in enumerate(values)]
    return encode_batch(records, partition_leader_epoch=3, **fields)


@examples(100)
@given(logs())
def test_the_compiled_loop_reads_what_the_plain_one_reads(log):
    compiled = list(read_columns(log, loops=metadata_compiled))
    assert listed(compiled) == listed(list(read_columns(log, loops=metadata_plain)))
    same_as_records(compiled, list(read_log(log)))


@examples(100)
@given(damaged_logs())
def test_damage_is_found_where_the_decoder_of_single_records_finds_it(log):
    found = list(read_log(log))
    same_as_records(list(read_columns(log, loops=metadata_compiled)), found)
    same_as_records(list(read_columns(log, loops=metadata_plain)), found)


@examples(100)
@given(logs(), st.integers(0, 2**32))
def test_batches_that_were_damaged_before_their_crc_read_alike(log, seed):
    chance = random.Random(seed)
    batches = [bytes(content) for _, content in iterate_batches(log)]
    broken = b"".join(damaged_batch(one, chance) for one in batches)
    same_as_records(list(read_columns(broken, loops=metadata_compiled)), list(read_log(broken)))
    compiled = listed(list(read_columns(broken, loops=metadata_compiled)))
    assert compiled == listed(list(read_columns(broken, loops=metadata_plain)))


@BOTH
def test_an_offset_beyond_64_bits_is_damage_and_no_error(loops):
    log = (2**63 - 1).to_bytes(8, "big") + batch(0, change(3, isr=[1]), change(4, isr=[1]))[8:]
    same_as_records(list(read_columns(log, loops=loops)), list(read_log(log)))


@pytest.mark.parametrize("name", sorted(path.name for path in KRAFT_LOG.rglob("*.log")))
@BOTH
def test_a_real_segment_reads_as_its_records(name, loops):
    content = next(KRAFT_LOG.rglob(name)).read_bytes()
    same_as_records(list(read_columns(content, loops=loops)), list(read_log(content)))


@BOTH
def test_a_partition_change_has_its_lists_and_its_unknown_tags_are_counted(loops):
    log = batch(5, change(3, isr=[1, 2], leader=2), change(4, isr=[], eligibleLeaderReplicas=[7]))
    (columns,) = read_columns(log, loops=loops)
    assert columns.offset.tolist() == [5, 6]
    assert columns.tables.partitions[: t.LEADER + 1].T.tolist() == [
        [0, 7, 9, 3, 2],
        [1, 7, 9, 4, -2],
    ]
    assert [columns.list_of(t.ISR, row) for row in (0, 1)] == [(1, 2), ()]
    assert [columns.list_of(t.ELR, row) for row in (0, 1)] == [None, (7,)]
    assert columns.unknown_tags == 2


@BOTH
@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name.lower())
def test_every_compression_is_read(loops, codec):
    log = batch(5, change(3, isr=[1]), codec=codec)
    (columns,) = read_columns(log, loops=loops)
    assert columns.list_of(t.ISR, 0) == (1,)
    assert columns.value(0) == change(3, isr=[1])


@BOTH
def test_ranges_read_one_after_the_other_are_the_whole(loops):
    log = b"".join(batch(10 * at, *[change(at)] * 10) for at in range(20))
    found = list(cuts(np.frombuffer(log, np.uint8), 0, 1))
    assert len(found) > 5
    parts = [
        columns.offset
        for begin, end in pairwise([0, *(one.at for one in found)])
        for columns in read_columns(log, byte_range=(begin, end), loops=loops)
    ]
    assert np.concatenate(parts).tolist() == list(range(200))


def test_a_segment_is_cut_up_to_what_is_out_of_the_ordinary():
    log = batch(0, change(1)) + batch(1, change(2), change(3))
    (cut,) = cuts(np.frombuffer(log + b"\0" * 70, np.uint8), 0, 1 << 20)
    assert (cut.at, cut.offset, cut.records) == (len(log), 3, 2)
