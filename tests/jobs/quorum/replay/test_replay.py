"""The compiled replay tells the same history of partitions as the fold of single records."""

import pyarrow.parquet as pq
import pytest
from hypothesis import given

from jobs.quorum.history.changes import Cause, PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.folder import read_folder
from jobs.quorum.replay.arrow import write_history
from jobs.quorum.replay.folder import FolderReplay
from jobs.quorum.replay.framing import Framing
from jobs.quorum.replay.replay import Replay
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.columns import read_columns
from jobs.wire.metadata.log import read_log
from jobs.wire.metadata.records import encode_metadata_record
from tests.examples import examples
from tests.jobs.quorum.metadata_stories import stories, uuid
from tests.support import METADATA_FOLDER

ORDERS = uuid(7)


def replayed(log, shard=0, shards=1, **options):
    replay, framing, found = Replay(shard, shards), Framing(), []
    for columns in read_columns(log, **options):
        found += replay.feed(framing.frame(columns)).changes()
    return found + list(replay.finish().changes())


def folded(items):
    return [one for one in read_changes(items) if isinstance(one, PartitionChange)]


def batch(offset, *values):
    records = [PlacedRecord(offset + at, 1000 + offset, None, one) for at, one in enumerate(values)]
    return encode_batch(records, partition_leader_epoch=1)


def created():
    state = {
        "partitionId": 0,
        "topicId": ORDERS,
        "replicas": [1, 2, 3],
        "isr": [1, 2, 3],
        "leader": 1,
    }
    return (
        encode_metadata_record("TOPIC_RECORD", 0, {"name": "orders", "topicId": ORDERS}),
        encode_metadata_record(
            "PARTITION_RECORD", 1, state | {"leaderEpoch": 0, "partitionEpoch": 0}
        ),
    )


def changed(isr):
    told = {"partitionId": 0, "topicId": ORDERS, "isr": isr}
    return encode_metadata_record("PARTITION_CHANGE_RECORD", 1, told)


def segment(folder, offset, *batches):
    folder.mkdir(exist_ok=True)
    (folder / f"{offset:020}.log").write_bytes(b"".join(batches))


@examples(200)
@given(stories())
def test_both_ways_tell_the_same_history(log):
    assert replayed(log) == folded(read_log(log))


def test_an_id_that_gets_another_name_leaves_the_old_one():
    """Kafka never writes this; both ways must still agree on what it means."""
    renamed = encode_metadata_record("TOPIC_RECORD", 0, {"name": "payments", "topicId": ORDERS})
    clear = encode_metadata_record("CLEAR_ELR_RECORD", 0, {"topicName": "orders"})
    shrunk = {"partitionId": 0, "topicId": ORDERS, "isr": [1], "eligibleLeaderReplicas": [2]}
    elr = encode_metadata_record("PARTITION_CHANGE_RECORD", 2, shrunk)
    log = batch(0, *created()) + batch(2, elr) + batch(3, renamed) + batch(4, clear)
    assert [one.offset for one in replayed(log)] == [1, 2]
    assert replayed(log) == folded(read_log(log))


@pytest.mark.parametrize(
    ("batches", "cause"),
    [
        pytest.param("T/P", Cause.PARTITIONS_ADDED, id="a border"),
        pytest.param("T/be P", Cause.PARTITIONS_ADDED, id="a transaction that begins a batch"),
        pytest.param("T/ba P", Cause.PARTITIONS_ADDED, id="one that is aborted"),
        pytest.param("Tb/ea P", Cause.PARTITIONS_ADDED, id="one that ends a batch"),
        pytest.param("Tb/n/e P", Cause.PARTITIONS_ADDED, id="one over three batches"),
        pytest.param("T b e P", Cause.TOPIC_CREATED, id="one inside a batch"),
        pytest.param("b T/P e", Cause.TOPIC_CREATED, id="a border inside a transaction"),
        pytest.param("T b/P e", Cause.PARTITIONS_ADDED, id="a border behind the topic"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"room_bytes": 1}], ids=["at once", "in pieces"])
def test_a_border_of_batches_ends_the_creation_of_a_topic_when_it_is_read(batches, cause, options):
    topic, partition = created()
    values = {
        "T": topic, "P": partition, "b": encode_metadata_record("BEGIN_TRANSACTION_RECORD", 0, {}),
        "e": encode_metadata_record("END_TRANSACTION_RECORD", 0, {}),
        "a": encode_metadata_record("ABORT_TRANSACTION_RECORD", 0, {}),
        "n": encode_metadata_record("NO_OP_RECORD", 0, {}),
    }  # fmt: skip
    log, offset = b"", 0
    for one in batches.replace(" ", "").split("/"):
        log += batch(offset, *(values[letter] for letter in one))
        offset += len(one)
    assert [one.cause for one in replayed(log, **options)] == [cause]
    assert replayed(log, **options) == folded(read_log(log))


@examples(50)
@given(stories())
def test_the_history_does_not_depend_on_the_pieces_it_is_read_in(log):
    assert replayed(log, room_bytes=1) == replayed(log)


@examples(50)
@given(stories())
def test_shards_tell_every_partition_once_and_whole(log):
    parts = [replayed(log, shard, 3) for shard in range(3)]
    places = [{(one.topic_id, one.partition) for one in part} for part in parts]
    assert sum(map(len, places)) == len(set.union(*places))
    whole = sorted(one.offset for one in replayed(log))
    assert sorted(one.offset for part in parts for one in part) == whole


def test_a_real_folder_replays_as_it_folds():
    folder = read_folder(METADATA_FOLDER)
    found = FolderReplay(folder)
    told = [one for history in found.histories() for one in history.changes()]
    known = [one for one in told if one.cause is Cause.SNAPSHOT]
    assert told[len(known) :] == [
        one for one in folded(folder.records()) if one.cause is not Cause.SNAPSHOT
    ]
    assert known
    assert not found.replay.gaps


def test_behind_a_gap_nothing_is_reported_of_partitions(tmp_path):
    log = tmp_path / "__cluster_metadata-0"
    segment(log, 0, batch(0, *created()))
    segment(log, 9, batch(9, changed([1])))
    found = FolderReplay(read_folder(log))
    told = [one for history in found.histories() for one in history.changes()]
    assert [one.cause for one in told] == [Cause.TOPIC_CREATED]
    assert found.replay.gaps == [(2, 9)]


def test_a_transaction_that_has_not_ended_has_changed_nothing():
    begin = encode_metadata_record("BEGIN_TRANSACTION_RECORD", 0, {})
    log = batch(0, *created()) + batch(2, begin, changed([1]))
    assert [one.offset for one in replayed(log)] == [1]


def test_a_history_becomes_a_parquet_file_with_words_and_lists(tmp_path):
    log = tmp_path / "__cluster_metadata-0"
    segment(log, 0, batch(0, *created()), batch(2, changed([1, 2])))
    rows = write_history(tmp_path / "part-0.parquet", FolderReplay(read_folder(log)).histories())
    found = pq.read_table(tmp_path / "part-0.parquet").to_pylist()
    assert rows == len(found) == 2
    last = found[1]
    assert (last["topic"], last["topic_id"], last["cause"]) == ("orders", ORDERS, "isr_shrink")
    assert (last["isr"], last["previous_isr"], last["cause_broker"]) == ([1, 2], [1, 2, 3], 3)
    assert found[0]["previous_isr"] is None
