"""Records of `__transaction_state`: made here, and by a real broker of Kafka 2.8.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.topics.transaction_state import (
    VALUE_SCHEMA,
    decode_transaction_key,
    decode_transaction_value,
    partition_of,
)
from tests.examples import examples
from tests.jobs.wire.metadata_values import structs
from tests.jobs.wire.topics.written_records import encode_transaction_record

WRITER = bytes.fromhex("000000157772697465722d6368616f732d6639386232323335")
HEAD = "00000000000000001770000000004e20"
ONGOING = (
    f"{HEAD}0100000001000e6368616f732d6639386232323335000000020000000000000005"
    "000001a22085b1e8000001a22085b1e8"
)


def read(key, value):
    name = decode_transaction_key(key)
    return name, None if value is None else decode_transaction_value(name, value)


KEY, _ = encode_transaction_record("flow-1", None)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(
            f"{HEAD}00ffffffff000001a22085b195ffffffffffffffff",
            (0, None, 1_795_841_962_389, -1),
            id="Empty",
        ),
        pytest.param(
            ONGOING,
            (
                1,
                [{"topic": "chaos-f98b2235", "partitionIds": [0, 5]}],
                1_795_841_962_472,
                1_795_841_962_472,
            ),
            id="Ongoing",
        ),
        pytest.param(
            f"{HEAD}0400000000000001a22085b304000001a22085b1e8",
            (4, [], 1_795_841_962_756, 1_795_841_962_472),
            id="CompleteCommit",
        ),
    ],
)
def test_a_record_of_a_real_broker_says_what_kafkas_own_decoder_says(value, told):
    status, partitions, updated_ms, started_ms = told
    assert read(WRITER, bytes.fromhex(value)) == (
        "writer-chaos-f98b2235",
        {
            "producerId": 6000,
            "producerEpoch": 0,
            "transactionTimeoutMs": 20_000,
            "transactionStatus": status,
            "transactionPartitions": partitions,
            "transactionLastUpdateTimestampMs": updated_ms,
            "transactionStartTimestampMs": started_ms,
        },
    )


@pytest.mark.parametrize("version", range(VALUE_SCHEMA.latest + 1))
@examples(60)
@given(data=st.data())
def test_what_was_written_is_read_again(version, data):
    told = data.draw(structs(VALUE_SCHEMA.fields, version))
    told["transactionStatus"] %= 8
    name = data.draw(st.text(max_size=20))
    written = encode_transaction_record(name, told, version)
    assert read(*written) == (name, told)


def test_a_null_value_is_the_end_of_an_id():
    assert read(KEY, None) == ("flow-1", None)


@examples(200)
@given(key=st.binary(max_size=40) | st.just(KEY), value=st.none() | st.binary(max_size=80))
def test_other_bytes_are_refused_and_nothing_else_happens(key, value):
    try:
        read(key, value)
    except RecordFormatError:
        return


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        pytest.param(None, None, "TransactionLogKey: it has no version", id="without a key"),
        pytest.param(b"\0\1\0\0", None, "version 1 is unknown", id="key of a later version"),
        pytest.param(KEY, b"\0\2", "version 2 is unknown", id="value of a later version"),
        pytest.param(
            KEY,
            encode_transaction_record("flow-1", {"transactionStatus": 8})[1],
            "the state 8 of flow-1 is unknown",
            id="state of a later version",
        ),
    ],
)
def test_what_is_not_known_is_named(key, value, said):
    with pytest.raises(RecordFormatError, match=said):
        read(key, value)


@pytest.mark.parametrize(
    ("name", "hashed"),
    [
        # Utils.abs("...".hashCode()) of Kafka 2.8.2.
        pytest.param("", 0, id="no letter"),
        pytest.param("flow-1", 1_271_631_022, id="below zero"),
        pytest.param("crosslog.east.orders.0", 620_706_610, id="of a flow"),
        pytest.param("polygenelubricants", 0, id="the lowest number"),
        pytest.param("\N{GRINNING FACE}é", 54_960_102, id="letters of two units"),
    ],
)
def test_an_id_is_kept_where_kafka_keeps_it(name, hashed):
    assert partition_of(name, 2**31 - 1) == hashed
