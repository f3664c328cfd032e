"""The fold of any prefix and the rest is the fold of the whole; a snapshot and the tail are the log."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.history.changes import Anomaly, ChangeKind, PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.image.diff import Difference, diff_images
from jobs.quorum.image.image import MetadataImage
from jobs.quorum.image.point_in_time import LogPosition, state_at, state_of_folder
from jobs.quorum.log.folder import read_folder
from jobs.wire.metadata.log import Gap, LogRecord, read_log
from tests.examples import examples
from tests.jobs.quorum.image.image_records import image_records
from tests.jobs.quorum.log_records import (
    Log,
    Spec,
    abort,
    begin,
    change,
    config,
    end,
    feature,
    fence,
    no_op,
    partition,
    register,
    remove_topic,
    snapshot,
    topic,
    unfence,
    unregister,
    uuid,
)
from tests.support import KRAFT_LOG, METADATA_FOLDER

_brokers = st.integers(1, 4)
_ids = st.integers(1, 3).map(uuid)
_isr = st.lists(_brokers, max_size=3, unique=True)
_maybe = st.none() | _isr

_specs: st.SearchStrategy[Spec] = st.one_of(
    # An id has one name for ever; a name may come back, and in a bad log live twice.
    st.sampled_from(
        [topic("orders", uuid(1)), topic("orders", uuid(2)), topic("payments", uuid(3))]
    ),
    st.builds(remove_topic, _ids),
    st.builds(partition, _ids, st.integers(0, 1)),
    st.builds(
        change,
        _ids,
        st.integers(0, 1),
        isr=_maybe,
        leader=st.sampled_from([-2, -1, 1, 2, 3]),
        eligibleLeaderReplicas=_maybe,
        replicas=_maybe,
        addingReplicas=_maybe,
        leaderRecoveryState=st.sampled_from([-1, 0, 1]),
    ),
    st.builds(register, _brokers, st.integers(1, 3), st.integers(1, 2)),
    st.builds(fence, _brokers, st.integers(1, 3)),
    st.builds(unfence, _brokers, st.integers(1, 3)),
    st.builds(unregister, _brokers, st.integers(1, 3)),
    st.builds(config, st.sampled_from(["a", "b"]), st.sampled_from([None, "1", "2"])),
    st.builds(feature, st.sampled_from(["metadata.version", "kraft.version"]), st.integers(0, 3)),
    st.sampled_from([begin(), end(), abort(), no_op(), ("CLEAR_ELR_RECORD", {"topicName": ""})]),
    st.sampled_from([("UNKNOWN_RECORD", {"apiKey": 99}), ("PARTITION_RECORD", {})]),
)


@st.composite
def logs(draw: st.DrawFn) -> list[LogRecord]:
    log = Log()
    for batch in draw(st.lists(st.lists(_specs, min_size=1, max_size=6), max_size=12)):
        log.batch(*batch)
    return log.records


def fold(records: list[LogRecord], image: MetadataImage | None = None) -> MetadataImage:
    image = image or MetadataImage()
    for one in records:
        image.apply(one)
    return image


@given(logs(), st.data())
@examples(40)
def test_a_prefix_and_the_rest_are_the_whole(records: list[LogRecord], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(records)))
    assert fold(records[cut:], fold(records[:cut])) == fold(records)


@given(logs(), st.data())
@examples(40)
def test_a_snapshot_and_the_tail_are_the_log(records: list[LogRecord], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(records)))
    before = fold(records[:cut])
    if before.open_transaction is not None:
        # Kafka takes no snapshot inside a transaction.
        return
    specs = [(one.type, one.data) for one in image_records(before)]
    again = fold([*snapshot(cut, *specs), *records[cut:]])
    assert list(diff_images(again, fold(records))) == []


@given(logs())
@examples(40)
def test_the_last_change_of_a_partition_is_its_state(records: list[LogRecord]) -> None:
    image = MetadataImage()
    last: dict[tuple[str, int], PartitionChange] = {}
    for one in read_changes(records, image):
        if isinstance(one, PartitionChange):
            last[one.topic_id, one.partition] = one
    alive = {key: one for key, one in last.items() if not one.is_removed}
    assert {key: (one.isr, one.leader, one.partition_epoch) for key, one in alive.items()} == {
        (topic_id, number): (state.isr, state.leader, state.partition_epoch)
        for topic_id, partitions in image.partitions.items()
        for number, state in partitions.items()
    }


@given(logs(), st.data())
@examples(40)
def test_the_difference_of_two_moments_is_empty_only_for_the_same_state(
    records: list[LogRecord], data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, max(len(records), 1)))
    before = state_at(records, LogPosition(offset=offset)).image
    after = fold(records)
    found = list(diff_images(before, after))
    assert bool(found) == (before != after)
    back = {(*_key(one), str(one.after), str(one.before)) for one in diff_images(after, before)}
    assert back == {(*_key(one), str(one.before), str(one.after)) for one in found}


def _key(one: Difference) -> tuple[Any, ...]:
    """What a difference is about; a topic of these logs may change its name, which Kafka's never do."""
    is_partition = one.kind is ChangeKind.PARTITION
    return (one.kind, one.key[0], one.key[2]) if is_partition else (one.kind, *one.key)


_anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-3, 3) | st.text(max_size=3) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
_TYPES = [
    "REGISTER_BROKER_RECORD",
    "BROKER_REGISTRATION_CHANGE_RECORD",
    "TOPIC_RECORD",
    "PARTITION_RECORD",
    "PARTITION_CHANGE_RECORD",
    "CLIENT_QUOTA_RECORD",
    "DELEGATION_TOKEN_RECORD",
    "CLEAR_ELR_RECORD",
    "BEGIN_TRANSACTION_RECORD",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
]
_FIELDS = [
    "partitionId",
    "topicId",
    "name",
    "isr",
    "replicas",
    "leader",
    "brokerId",
    "entity",
    "endPoints",
]


@given(
    st.lists(
        st.tuples(st.sampled_from(_TYPES), st.dictionaries(st.sampled_from(_FIELDS), _anything))
    )
)
@examples(150)
def test_no_content_of_a_record_stops_the_fold(specs: list[tuple[str, dict[str, Any]]]) -> None:
    log = Log()
    for spec in specs:
        log.batch(spec)
    for one in read_changes([*log.records, Gap(log.next_offset, log.next_offset + 5)]):
        assert one.offset >= -1


@pytest.mark.parametrize("end_offset", [885, 1092])
def test_a_real_snapshot_is_the_fold_of_the_log_up_to_it(end_offset: int) -> None:
    folder = read_folder(KRAFT_LOG)
    from_log = state_at(folder.records(), LogPosition(offset=end_offset - 1)).image
    file = next(METADATA_FOLDER.glob(f"*{end_offset}-*.checkpoint"))
    from_snapshot = MetadataImage()
    for one in read_log(file.read_bytes()):
        assert isinstance(one, LogRecord)
        from_snapshot.apply(replace(one, offset=end_offset - 1))
    assert list(diff_images(from_log, from_snapshot)) == []
    assert from_log == from_snapshot
    assert (from_log.last_offset, from_log.last_epoch) == (
        from_snapshot.last_offset,
        from_snapshot.last_epoch,
    )


def test_a_real_log_is_folded_without_a_single_anomaly() -> None:
    found = list(read_changes(read_folder(KRAFT_LOG).records()))
    assert [one for one in found if isinstance(one, Anomaly)] == []


@pytest.mark.parametrize("offset", [764, 800, 930, 931, 1000, 1092, 5000])
def test_the_nearest_snapshot_leads_to_the_same_state(offset: int) -> None:
    folder = read_folder(KRAFT_LOG)
    near = state_of_folder(folder, LogPosition(offset=offset))
    far = state_at(folder.records(), LogPosition(offset=offset))
    assert near.image == far.image
    assert near.image.last_offset == far.image.last_offset
