"""The small files beside a metadata log."""

import contextlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.schema import ZERO_UUID
from jobs.wire.metadata import log_folder_files as files
from tests.jobs.wire.mutations import TEXT_EDGES, damaged
from tests.support import KRAFT_LOG, METADATA_FOLDER

DIRECTORY = "DFV_jw2OTNSJdDCXmgr-2A"


def encode_quorum_state(state: files.QuorumState) -> bytes:
    """Return the file's one line; version 1 drops the voters, version 0 the directory id."""
    lines: dict = {
        "leaderId": -1 if state.leader_id is None else state.leader_id,
        "leaderEpoch": state.leader_epoch,
        "votedId": -1 if state.voted_id is None else state.voted_id,
    }
    if state.data_version:
        lines["votedDirectoryId"] = state.voted_directory_id or ZERO_UUID
    else:
        lines = {"clusterId": state.cluster_id or "", **lines}
        lines["appliedOffset"] = state.applied_offset or 0
        lines["currentVoters"] = [{"voterId": voter} for voter in state.current_voters or ()]
    lines["data_version"] = state.data_version
    return json.dumps(lines, separators=(",", ":")).encode("utf-8")


def test_real_files_are_read():
    assert files.decode_quorum_state(
        (METADATA_FOLDER / "quorum-state").read_bytes()
    ) == files.QuorumState(data_version=1, leader_id=1, leader_epoch=1, voted_id=None)
    assert files.decode_meta_properties(
        (KRAFT_LOG / "meta.properties").read_bytes()
    ) == files.MetaProperties(1, "EYGMbBHDSb6oYKhfQ3x89Q", 1, DIRECTORY)
    assert files.decode_leader_epochs(
        (METADATA_FOLDER / "leader-epoch-checkpoint").read_bytes()
    ) == (files.EpochStart(1, 765),)
    assert files.decode_partition_metadata(
        (METADATA_FOLDER / "partition.metadata").read_bytes()
    ) == files.PartitionMetadata(0, "AAAAAAAAAAAAAAAAAAAAAQ")


V0 = files.QuorumState(0, 2, 9, 3, None, (1, 2, 3), "cluster", 0)
V1 = files.QuorumState(1, None, 9, 3, DIRECTORY)


@pytest.mark.parametrize("state", [V0, V1], ids=["version 0", "version 1"])
def test_a_quorum_state_is_read_as_it_is_written(state):
    assert files.decode_quorum_state(encode_quorum_state(state)) == state


def test_version_1_drops_the_voters_and_version_0_the_directory_id():
    mixed = files.QuorumState(1, 2, 9, 3, DIRECTORY, (1, 2, 3))
    assert files.decode_quorum_state(encode_quorum_state(mixed)).current_voters is None
    mixed = files.QuorumState(0, 2, 9, 3, DIRECTORY, (1, 2, 3))
    assert files.decode_quorum_state(encode_quorum_state(mixed)).voted_directory_id is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":2}', "data_version 2"),
        (b'{"leaderId":1,"leaderEpoch":1,"votedId":-1}', "data_version is None"),
        (b'{"leaderId":"1","leaderEpoch":1,"votedId":-1,"data_version":1}', "leaderId is '1'"),
        (b'{"leaderId":1', "no JSON"),
        (b"[1]", "no JSON object"),
        (b"", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"\xff", "not UTF-8"),
        (b"1" * (files.LARGEST_BYTES + 1), "more than"),
    ],
)
def test_what_is_no_quorum_state_is_refused(content, problem):
    with pytest.raises(RecordFormatError, match=problem):
        files.decode_quorum_state(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"broker.id=3\ncluster.id=c", files.MetaProperties(0, "c", 3, None)),
        (b"version=1\nnode.id=4", files.MetaProperties(1, None, 4, None)),
        (b"", files.MetaProperties(0, None, None, None)),
    ],
)
def test_meta_properties_of_both_versions(content, expected):
    assert files.decode_meta_properties(content) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# c\n! c\n\n a = b \r\nc:d\re f", {"a": "b ", "c": "d", "e": "f"}),
        ("a=b\\\n   c\nd", {"a": "bc", "d": ""}),
        ("a\\=b=c\\u0041\\n", {"a=b": "cA\n"}),
        ("a=1\na=2", {"a": "2"}),
        ("a\\\\=b", {"a\\": "b"}),
    ],
)
def test_java_properties(text, expected):
    assert files.decode_properties("x", text.encode()) == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no version and count"),
        (b"1\n0\n", "version 1"),
        (b"0\n2\n1 0\n", "says 2 epochs and has 1"),
        (b"0\n1\n1\n", "start offset"),
        (b"0\n1\n1 2 3\n", "start offset"),
        (b"0\nx\n", "count"),
        (b"0\n1\n5 \x1d00\n", "start offset"),
        (b"0\n1\n5 \x85100\n", "not UTF-8"),
        (b"0\n1\n5 \xc2\xa0100\n", "start offset"),
        (b"0\n1\n5 \x0b100\n", "start offset"),
        ("0\n1\n5 \u0663\n".encode(), "start offset"),
        (b"0\n1\n5 9223372036854775808\n", "start offset"),
    ],
)
def test_what_is_no_leader_epoch_checkpoint_is_refused(content, problem):
    with pytest.raises(RecordFormatError, match=problem):
        files.decode_leader_epochs(content)


def test_leader_epochs_are_read_in_their_order():
    found = files.decode_leader_epochs(b"0\n2\n1 0\n5 1200\n")
    assert found == (files.EpochStart(1, 0), files.EpochStart(5, 1200))


def test_a_partition_without_a_topic_id_is_refused():
    with pytest.raises(RecordFormatError, match="no topic_id"):
        files.decode_partition_metadata(b"version: 0\n")


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_file_is_read_or_refused(seed):
    chance = random.Random(seed)
    whole = [
        (
            files.decode_quorum_state,
            b'{"leaderId":1,"leaderEpoch":5,"votedId":-1,"data_version":1}',
        ),
        (files.decode_meta_properties, b"#x\nversion=1\ncluster.id=a\nnode.id=3\n"),
        (files.decode_leader_epochs, b"0\n2\n0 0\n5 100\n"),
        (files.decode_partition_metadata, b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"),
    ]
    for _ in range(500):
        decode, content = chance.choice(whole)
        with contextlib.suppress(RecordFormatError):
            decode(damaged(content, chance, edges=TEXT_EDGES))


@given(st.binary(max_size=80))
def test_no_bytes_raise_anything_else(content):
    for decode in (
        files.decode_quorum_state,
        files.decode_meta_properties,
        files.decode_leader_epochs,
        files.decode_partition_metadata,
    ):
        with contextlib.suppress(RecordFormatError):
            decode(content)
