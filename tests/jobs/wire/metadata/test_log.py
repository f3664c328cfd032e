"""Segments of the metadata log: what kafka-dump-log reads, and what is left of damaged ones."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.compression import compress
from jobs.wire.batches.log_batches import (
    LARGEST_BATCH_BYTES,
    BatchAt,
    BytesSource,
    DamageKind,
    LogDamage,
    scan_batches,
)
from jobs.wire.batches.record_batch import BatchHeader, Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch, seal
from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata.log import LogRecord, read_log
from jobs.wire.metadata.records import encode_metadata_record
from tests.examples import examples
from tests.jobs.wire.kraft_dump import expected_dump, read_as_dumped
from tests.jobs.wire.metadata_values import (
    NO_OP,
    TIME,
    control_batch,
    data_batch,
    log_of,
    metadata_values,
)
from tests.support import METADATA_FOLDER, conformance_cases

FILE = "kraft_vectors"
DUMPED = expected_dump()
NAMES = sorted(DUMPED)


def damages(content: bytes) -> list[LogDamage]:
    return [found for found in read_log(content) if isinstance(found, LogDamage)]


def offsets(content: bytes, expected_offset: int | None = None) -> list[int]:
    read = read_log(content, expected_offset=expected_offset)
    return [found.offset for found in read if isinstance(found, LogRecord)]


def flip(content: bytes, at: int, bits: int = 1) -> bytes:
    return content[:at] + bytes((content[at] ^ bits,)) + content[at + 1 :]


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("name", NAMES)
def test_every_batch_and_record_of_a_real_file_is_as_kafka_dump_log_prints_it(name, strict):
    content = (METADATA_FOLDER / name).read_bytes()
    assert read_as_dumped(content, strict=strict) == DUMPED[name]


@pytest.mark.parametrize("case", conformance_cases(FILE, "record_batch"))
def test_a_batch_of_the_vectors_is_read(case):
    expected = case["expected"]
    read = list(read_log(bytes.fromhex(case["hex"]), strict=True))
    assert [one.offset for one in read] == [one["offset"] for one in expected["records"]]
    assert {one.batch_offset for one in read} == {expected["base_offset"]}
    assert {one.epoch for one in read} == {expected["leader_epoch"]}
    assert {one.is_control for one in read} == {expected["control"]}
    assert {one.timestamp_ms for one in read} == {expected["timestamp_ms"]}
    told = [one.data for one in read]
    if expected["control"]:
        version, voters = expected["records"]
        assert told[0] == {"version": 0, "kRaftVersion": version["kraft_version"]}
        ids = [one["voter_id"] for one in voters["voters"]]
        assert [one["voterId"] for one in told[1]["voters"]] == ids
    else:
        assert [
            (one["partitionId"], one["isr"], one.get("leader", "unchanged")) for one in told
        ] == [(one["partition_id"], one["isr"], one["leader"]) for one in expected["records"]]


@pytest.mark.parametrize("case", conformance_cases(FILE, "record_batch_error"))
def test_a_broken_batch_of_the_vectors_is_named_and_strictly_refused(case):
    content = bytes.fromhex(case["hex"])
    kinds = {
        "CRC mismatch": DamageKind.WRONG_CRC,
        "batch is cut off": DamageKind.TRUNCATED_TAIL,
    }
    (damage,) = damages(content)
    assert (damage.kind, damage.position) == (kinds[case["expected"]], 0)
    with pytest.raises(RecordFormatError, match=damage.kind):
        list(read_log(content, strict=True))


@given(
    st.lists(st.lists(metadata_values(), min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from(Codec),
)
@examples(40)
def test_batches_of_every_codec_are_read_strictly(batches, codec):
    at, parts, kinds = 100, [], []
    for batch in batches:
        written = [encode_metadata_record(*record) for record in batch]
        parts.append(data_batch(at, written, codec=codec))
        kinds += [(at + index, record[0], record[1]) for index, record in enumerate(batch)]
        at += len(batch)
    read = list(read_log(b"".join(parts), strict=True, expected_offset=100))
    assert [(one.offset, one.type, one.version) for one in read] == kinds


def test_a_control_batch_may_hold_several_records():
    content = control_batch(
        5, ("LEADER_CHANGE", {"leaderId": 1}), ("KRAFT_VERSION", {"kRaftVersion": 1})
    )
    assert [(one.offset, one.type) for one in read_log(content)] == [
        (5, "LEADER_CHANGE"),
        (6, "KRAFT_VERSION"),
    ]


def test_a_record_says_where_its_batch_is():
    first, second = log_of(10, 2)
    last = list(read_log(first + second))[-1]
    assert (last.offset, last.batch_offset, last.position, last.epoch) == (13, 12, len(first), 7)


def test_nothing_is_in_an_empty_file():
    assert list(read_log(b"", strict=True)) == []


def record_batch(**changes):
    fields = {"key": None, "value": NO_OP, "timestamp": TIME} | changes
    placed = [PlacedRecord(0, TIME, None, NO_OP), PlacedRecord(1, **fields)]
    return encode_batch(placed, partition_leader_epoch=1)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(record_batch(timestamp=TIME + 5), "timestamp delta 5", id="time"),
        pytest.param(record_batch(headers=((b"a", b"b"),)), "1 headers", id="headers"),
        pytest.param(record_batch(key=b"k"), "a key of 1 bytes", id="key"),
        pytest.param(record_batch(key=b""), "a key of 0 bytes", id="empty key"),
        pytest.param(record_batch(value=None), "no value", id="null"),
        pytest.param(record_batch(value=b""), "no value", id="empty value"),
        pytest.param(
            encode_batch([PlacedRecord(0, TIME, b"\0\0\0\7", b"\0\0")], is_control=True),
            "type 7 is unknown",
            id="control type",
        ),
        pytest.param(
            encode_batch([PlacedRecord(0, TIME, None, b"\0\0")], is_control=True),
            "no key",
            id="control key",
        ),
        pytest.param(data_batch(0, [NO_OP + b"x"]), "left behind", id="trailing bytes"),
        pytest.param(data_batch(0, [b"\1\x63\0"]), "type 99 is unknown", id="type"),
    ],
)
def test_strict_reading_refuses_what_the_raft_reader_refuses(content, problem):
    with pytest.raises(RecordFormatError, match=problem):
        list(read_log(content, strict=True))
    assert damages(content) == []


def test_a_wrong_crc_costs_one_batch():
    batches = log_of(0, 4)
    content = b"".join([batches[0], flip(batches[1], 65), *batches[2:]])
    (damage,) = damages(content)
    assert (damage.kind, damage.position, damage.offset) == (
        DamageKind.WRONG_CRC,
        len(batches[0]),
        2,
    )
    assert "reading continues at byte" in damage.problem
    assert offsets(content) == [0, 1, 4, 5, 6, 7]


@pytest.mark.parametrize("at", [8, 9, 10, 11], ids=lambda at: f"byte {at}")
def test_a_wrong_length_costs_one_batch_because_the_next_one_is_searched(at):
    batches = log_of(0, 4)
    content = b"".join([batches[0], flip(batches[1], at, 0x40), *batches[2:]])
    assert len(damages(content)) == 1
    assert offsets(content) == [0, 1, 4, 5, 6, 7]


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("at", [0, 3, 6, 7], ids=lambda at: f"byte {at}")
def test_a_wrong_base_offset_which_no_crc_covers_costs_one_batch(index, at):
    batches = log_of(64, 4)
    batches[index] = flip(batches[index], at, 0x20)
    content = b"".join(batches)
    lost = {64 + 2 * index, 65 + 2 * index}
    assert [one.position for one in damages(content)] == [sum(map(len, batches[:index]))]
    assert offsets(content) == [offset for offset in range(64, 72) if offset not in lost]


def test_a_gap_between_offsets_is_no_damage():
    content = b"".join([*log_of(0, 2), *log_of(40, 2)])
    assert damages(content) == []
    assert offsets(content) == [0, 1, 2, 3, 40, 41, 42, 43]


def test_garbage_in_the_middle_is_passed_over():
    batches = log_of(0, 3)
    content = b"".join([batches[0], b"\2garbage\2" * 40, *batches[1:]])
    (damage,) = damages(content)
    assert damage.position == len(batches[0])
    assert offsets(content) == list(range(6))


@pytest.mark.parametrize(
    ("tail", "kind"),
    [
        (log_of(4, 1)[0][:40], DamageKind.TRUNCATED_TAIL),
        (log_of(4, 1)[0][:70], DamageKind.TRUNCATED_TAIL),
        (bytes(200), DamageKind.ZERO_TAIL),
        (b"\1" * 200, DamageKind.FOREIGN_MAGIC),
    ],
)
def test_what_is_behind_the_last_batch_is_named(tail, kind):
    whole = b"".join(log_of(0, 2))
    (damage,) = damages(whole + tail)
    assert (damage.kind, damage.position) == (kind, len(whole))
    assert offsets(whole + tail) == [0, 1, 2, 3]


def test_old_message_sets_are_named():
    old = flip(log_of(0, 1)[0], 16, 2 ^ 1)
    assert damages(old)[0].problem.startswith("the magic is 1, not 2")


@pytest.mark.parametrize(
    ("codec", "body"),
    [(Codec.GZIP, b"no gzip"), (Codec.SNAPPY, b"\xff" * 9), (5, NO_OP), (7, b"")],
    ids=["gzip", "snappy", "codec 5", "codec 7"],
)
def test_a_body_that_cannot_be_expanded_is_named(codec, body):
    header = BatchHeader.decode(log_of(8, 1)[0])._replace(attributes=int(codec), record_count=1)
    (damage,) = damages(seal(header, body))
    assert (damage.kind, damage.offset) == (DamageKind.UNDECODABLE_BATCH, 8)


def test_records_before_the_broken_one_of_a_batch_are_kept():
    good = data_batch(0, [NO_OP, NO_OP])
    header = BatchHeader.decode(good)._replace(record_count=3, last_offset_delta=2)
    content = seal(header, good[61:])
    assert offsets(content) == [0, 1]
    assert [one.kind for one in damages(content)] == [DamageKind.UNDECODABLE_BATCH]


def test_a_bomb_is_refused_before_it_is_expanded():
    content = data_batch(0, [bytes(LARGEST_BATCH_BYTES)], codec=Codec.ZSTD)
    assert len(content) < 10_000
    (damage,) = damages(content)
    assert f"beyond {50 * len(content)} bytes" in damage.problem


def test_a_few_bytes_are_never_a_million_records():
    header = BatchHeader.decode(data_batch(0, [NO_OP], codec=Codec.ZSTD))
    shortest = b"\x0c\x00\x00\x00\x01\x00\x00"
    body = compress(Codec.ZSTD, shortest * 1_000_000)
    content = seal(header._replace(record_count=1_000_000, last_offset_delta=999_999), body)
    assert len(content) < 5_000
    (damage,) = damages(content)
    assert damage.kind is DamageKind.UNDECODABLE_BATCH
    assert offsets(content) == []


def test_what_compresses_as_much_as_anything_healthy_is_read():
    content = data_batch(0, [NO_OP] * 200, codec=Codec.ZSTD)
    assert offsets(content) == list(range(200))


@pytest.mark.parametrize("base_offset", [2**62, 2**63 - 1], ids=["beyond any log", "the highest"])
def test_an_offset_that_no_log_has_is_damage_and_the_next_batch_is_read(base_offset):
    beyond = base_offset.to_bytes(8, "big") + data_batch(0, [NO_OP])[8:]
    content = beyond + data_batch(1, [NO_OP])
    assert [one.kind for one in damages(content)] == [DamageKind.BAD_HEADER]
    assert offsets(content) == [1]


def test_a_batch_that_no_leader_writes_is_not_even_read():
    large = data_batch(0, [bytes(LARGEST_BATCH_BYTES)])
    content = large + data_batch(1, [NO_OP])
    assert [one.kind for one in damages(content)] == [DamageKind.TOO_LARGE]
    assert offsets(content) == [1]


def test_headers_without_end_do_not_hold_the_reader_up():
    one = flip(log_of(0, 1)[0], 65)
    bombs = b"".join(one[:8] + (8_000_000).to_bytes(4, "big") + one[12:61] for _ in range(200_000))
    assert [found.kind for found in damages(bombs)][-1] in set(DamageKind)


@pytest.mark.parametrize(("byte", "bits"), [(12, 0x80), (15, 1), (15, 2), (15, 4)])
def test_a_lower_epoch_in_the_second_batch_does_not_cost_the_first(byte, bits):
    batches = log_of(1000, 5)
    broken = flip(b"".join(batches), len(batches[0]) + byte, bits)
    assert offsets(broken, expected_offset=1000) == [1000, 1001, *range(1004, 1010)]


@given(st.data())
@examples(150)
def test_a_flipped_bit_never_costs_more_than_its_batch_and_invents_nothing(data):
    batches = log_of(1000, 5)
    content = b"".join(batches)
    # The last batch begins with its base offset, which nothing after it could contradict.
    last = 8 * len(b"".join(batches[:-1]))
    at = data.draw(
        st.integers(0, 8 * len(content) - 1).filter(lambda at: not last <= at < last + 64)
    )
    hit, byte = divmod(at // 8, len(batches[0]))
    broken = flip(content, at // 8, 1 << at % 8)
    lost = {1000 + 2 * hit, 1001 + 2 * hit}
    whole = set(range(1000, 1010))
    found = offsets(broken, expected_offset=1000)
    assert found == sorted(found)
    assert whole - lost <= set(found) <= whole
    if set(found) == whole:
        # Only what neither the CRC nor the neighbours cover: the leader epoch.
        assert 12 <= byte < 16
    else:
        assert any(isinstance(one, LogDamage) for one in read_log(broken, expected_offset=1000))


@given(st.data())
@examples(60)
def test_any_bytes_are_read_without_an_exception(data):
    noise = data.draw(st.binary(max_size=400))
    real = b"".join(log_of(0, 2, each=1))
    cut = data.draw(st.integers(0, len(real)))
    for found in read_log(real[:cut] + noise + real[cut:]):
        assert isinstance(found, LogRecord | LogDamage)


def test_future_records_are_reported_with_their_place():
    content = data_batch(0, [NO_OP, b"\1\x63\0abc", NO_OP])
    read = list(read_log(content))
    assert [one.type for one in read] == ["NO_OP_RECORD", "UNKNOWN_RECORD", "NO_OP_RECORD"]
    assert json.loads(json.dumps(read[1].data)) == {"apiKey": 99, "sizeBytes": 3}


def test_the_bytes_of_a_batch_are_those_of_the_source():
    batches = log_of(0, 2)
    found = [
        one for one in scan_batches(BytesSource(b"".join(batches))) if isinstance(one, BatchAt)
    ]
    assert [bytes(one.content) for one in found] == batches
