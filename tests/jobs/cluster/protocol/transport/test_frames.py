"""Frames: what is received in any pieces, and requests that copy no batch."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.protocol.transport.apis import PRODUCE
from jobs.cluster.protocol.transport.frames import Chunks, FrameReader, FrameRefused, frame
from tests.jobs.cluster.protocol.batches import batch

LARGEST = 1 << 20


def receive(reader, content: bytes, pieces) -> None:
    """Put content into the reader in pieces of these sizes, again and again."""
    at = turn = 0
    while at < len(content):
        space = reader.space()
        assert len(space)
        count = min(pieces[turn % len(pieces)], len(space), len(content) - at)
        space[:count] = content[at : at + count]
        reader.received(count)
        at, turn = at + count, turn + 1


@given(
    st.lists(st.binary(min_size=4, max_size=300), max_size=20),
    st.lists(st.integers(1, 200), min_size=1, max_size=5),
)
def test_frames_are_the_same_in_whatever_pieces_they_come(contents, pieces):
    found = []
    reader = FrameReader(LARGEST, lambda answer: found.append(bytes(answer)))
    receive(reader, b"".join(struct.pack(">i", len(c)) + c for c in contents), pieces)
    assert found == contents


@pytest.mark.parametrize("size", [65_531, 65_532, 65_533, 65_536, 200_000, LARGEST])
def test_a_frame_around_the_size_of_the_scratch_buffer_arrives_whole(size):
    found = []
    reader = FrameReader(LARGEST, lambda answer: found.append(bytes(answer)))
    contents = [b"abcd", bytes(range(256)) * (size // 256 + 1), b"efgh"]
    contents[1] = contents[1][:size]
    receive(reader, b"".join(struct.pack(">i", len(c)) + c for c in contents), [1 << 20])
    assert found == contents


def test_a_frame_stays_as_it_is_when_later_ones_arrive():
    found = []
    reader = FrameReader(LARGEST, found.append)
    receive(reader, b"\0\0\0\x04aaaa" + b"\0\0\0\x04bbbb", [8])
    assert [bytes(answer) for answer in found] == [b"aaaa", b"bbbb"]


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 3, LARGEST + 1, 0x15030300, 0x48545450])
def test_a_size_that_no_answer_has_is_refused_before_memory_is_taken(size):
    reader = FrameReader(LARGEST, lambda _: None)
    with pytest.raises(FrameRefused):
        receive(reader, struct.pack(">i", size), [4])


def test_the_body_of_a_batch_is_sent_from_where_it_lies():
    one = batch(body=b"x" * 5000)
    chunks = Chunks()
    chunks.write(b"before")
    chunks.write(one)
    chunks.write(b"after")
    before, body, after = chunks.taken()
    assert (before, after) == (b"before" + one.header, b"after")
    assert body is one.body


def test_the_body_of_a_small_batch_is_joined_to_its_neighbours():
    one = batch(body=b"x" * 100)
    chunks = Chunks()
    chunks.write(one)
    assert chunks.taken() == [one.header + bytes(one.body)]


def test_a_frame_announces_its_size_and_names_its_client():
    call = PRODUCE.call_with([b"first", memoryview(b"second")], 12)
    sent = b"".join(frame(call, 7, "crosslog-ü".encode()))
    size, key, version, correlation_id, name = struct.unpack_from(">ihhih", sent)
    assert (size, key, version, correlation_id) == (len(sent) - 4, 0, 12, 7)
    assert sent[14 : 14 + name].decode() == "crosslog-ü"
    assert sent[14 + name :] == b"\0firstsecond"
