"""The index answers what folding from the beginning answers."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.quorum.change_making import state_of
from jobs.quorum.histories import partition_history, read_changes
from jobs.quorum.image import MetadataImage
from jobs.quorum.image_diff import diff_images
from jobs.quorum.image_index import ImageIndex
from jobs.quorum.index_writer import IndexWriter, write_index
from jobs.quorum.log_folder import read_folder
from jobs.quorum.moments import Moment, state_at
from jobs.wire.metadata_log import Gap, LogRecord
from tests.jobs.quorum.conformance import KRAFT_LOG, needs_kraft_log
from tests.jobs.quorum.log_records import (
    ORDERS,
    T0,
    Log,
    change,
    cluster,
    config,
    fence,
    remove_topic,
    snapshot,
    topic,
)
from tests.jobs.quorum.test_fold_properties import logs


@given(logs(), st.integers(1, 20), st.data())
@settings(max_examples=40, deadline=None)
def test_the_answer_is_that_of_folding_from_the_beginning(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[LogRecord],
    part_changes: int,
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("index")
    write_index(folder, records, part_changes=part_changes)
    index = ImageIndex(folder)
    offset = data.draw(st.integers(0, len(records)))
    then = index.state_at(Moment(offset=offset))
    folded = state_at(records, Moment(offset=offset)).image
    if then is None:
        assert folded.is_empty
        return
    assert list(diff_images(then.image(), folded)) == []


@given(logs(), st.integers(1, 20), st.integers(-50, 1500))
@settings(max_examples=40, deadline=None)
def test_a_time_is_answered_as_by_folding(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[LogRecord],
    part_changes: int,
    after_ms: int,
) -> None:
    folder = tmp_path_factory.mktemp("index")
    write_index(folder, records, part_changes=part_changes)
    moment = Moment(timestamp_ms=T0 + after_ms)
    then = ImageIndex(folder).state_at(moment)
    folded = state_at(records, moment).image
    if then is None:
        assert folded.is_empty
        return
    assert list(diff_images(then.image(), folded)) == []


@given(logs(), st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_a_partition_s_history_is_that_of_the_log(
    tmp_path_factory: pytest.TempPathFactory, records: list[LogRecord], part_changes: int
) -> None:
    folder = tmp_path_factory.mktemp("index")
    write_index(folder, records, part_changes=part_changes)
    found = list(ImageIndex(folder).partition_history("orders", 0))
    assert found == list(partition_history(read_changes(records), "orders", 0))


@needs_kraft_log
def test_a_real_log_is_answered_as_by_folding(tmp_path: Path) -> None:
    folder = read_folder(KRAFT_LOG)
    write_index(tmp_path, folder.records(), part_changes=50)
    index = ImageIndex(tmp_path)
    for offset in (764, 800, 931, 950, 1091, 1092, 1093):
        then = index.state_at(Moment(offset=offset))
        assert then is not None
        assert (
            list(diff_images(then.image(), state_at(folder.records(), Moment(offset=offset)).image))
            == []
        )
    assert index.state_at(Moment(offset=700)) is None
    last = index.state_at(Moment())
    assert last is not None
    assert last.counts()._asdict() == {
        "partitions": 160,
        "offline": 160,
        "under_replicated": 160,
        "reassigning": 0,
    }
    assert last.leader_counts() == {-1: 160}
    assert [one.partition for one in last.changes(0, 3, topic="t9")] == [0, 1, 2]
    assert {one.cause for one in last.changes()} == {"controlled_shutdown"}


def test_pages_and_counts_need_no_whole_image(tmp_path: Path) -> None:
    log = Log()
    cluster(log)
    log.batch(change(ORDERS, 0, isr=[2, 3], leader=2), fence(1, 10))
    write_index(tmp_path, log.records)
    then = ImageIndex(tmp_path).state_at(Moment())
    assert then is not None
    assert then.counts() == (2, 0, 1, 0)
    assert then.leader_counts() == {2: 2}
    (page,) = then.changes(0, 1)
    assert (page.cause, page.cause_broker, state_of(page).isr) == ("broker_fenced", 1, (2, 3))
    assert then.changes(topic="nope") == []
    assert sorted(then.tables("REGISTER_BROKER_RECORD").brokers) == [1, 2, 3]


def test_where_records_are_missing_the_index_knows_nothing(tmp_path: Path) -> None:
    log = Log()
    cluster(log)
    end = log.next_offset
    later = Log(first_offset=100)
    later.batch(config("a", "1"))
    items = [*log.records, Gap(end, 100), *snapshot(100, topic("orders", ORDERS)), *later.records]
    write_index(tmp_path, items)
    index = ImageIndex(tmp_path)
    found = [index.state_at(Moment(offset=at)) for at in (end - 1, end, 98, 99, 100)]
    assert [one is not None and one.is_unknown for one in found] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert [one and one.partition_count for one in found] == [2, 0, 0, 0, 0]


def test_a_growing_part_is_replaced_by_a_longer_one(tmp_path: Path) -> None:
    log = Log()
    cluster(log)
    log.batch(remove_topic(ORDERS))
    image = MetadataImage()
    writer = IndexWriter(tmp_path)
    index = ImageIndex(tmp_path)
    seen = []
    for one in read_changes(log.records, image):
        writer.add(one, image)
        writer.flush()
        then = index.state_at(Moment())
        assert then is not None
        seen.append(then.partition_count)
    assert len(list(tmp_path.iterdir())) == 1
    assert (max(seen), seen[-1]) == (2, 0)


def test_a_part_that_is_replaced_between_listing_and_opening_is_found_again(tmp_path: Path) -> None:
    log = Log()
    cluster(log)
    write_index(tmp_path, log.records[:3])
    index = ImageIndex(tmp_path)
    (short,) = tmp_path.iterdir()
    found = index._names()
    write_index(tmp_path, log.records)
    shutil.rmtree(short)
    assert index._part(found[0]).partitions.offsets.size == 2


def test_an_index_of_nothing_knows_nothing(tmp_path: Path) -> None:
    index = ImageIndex(tmp_path / "absent")
    assert index.state_at(Moment()) is None
    assert index.state_at(Moment(timestamp_ms=T0)) is None
    assert index.end_offset == 0
