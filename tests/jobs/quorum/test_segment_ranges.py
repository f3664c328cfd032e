"""Segments are cut at the borders of batches, and their ranges together are the whole."""

import pytest
from hypothesis import given, settings

from jobs.quorum.segment_ranges import partition_records, ranges_of, read_range
from jobs.wire.metadata_log import LogRecord, read_log
from tests.jobs.quorum.metadata_stories import stories

PARTITIONS = {"PARTITION_RECORD", "PARTITION_CHANGE_RECORD"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / f"{0:020}.log"


@settings(max_examples=40, deadline=None)
@given(stories())
def test_ranges_together_are_the_whole(path, log):
    path.write_bytes(log)
    ranges = ranges_of(path, 0, range_bytes=150)
    assert [one.begin for one in ranges] == [0, *(one.end for one in ranges[:-1])]
    assert ranges[-1].end == len(log)
    found = [
        row
        for one in ranges
        for columns in read_range(one)
        for row in partition_records(columns).to_pylist()
    ]
    told = [one for one in read_log(log) if isinstance(one, LogRecord) and one.type in PARTITIONS]
    assert [row["offset"] for row in found] == [one.offset for one in told]
    assert [row["topic_id"] for row in found] == [one.data["topicId"] for one in told]
    assert [row["isr"] for row in found] == [one.data.get("isr") for one in told]
    leaders = [None if one.data.get("leader", -2) == -2 else one.data["leader"] for one in told]
    assert [row["leader"] for row in found] == leaders


def test_what_is_out_of_the_ordinary_stays_in_the_last_range(path):
    path.write_bytes(b"\0" * 100)
    (one,) = ranges_of(path, 7)
    assert (one.begin, one.end, one.offset) == (0, 100, 7)


def test_an_empty_segment_has_no_ranges(path):
    path.write_bytes(b"")
    assert ranges_of(path, 0) == []
