"""The metadata log is read from one controller: what it holds, and why it does not tell."""

import pytest

from jobs.cluster.errors import ClusterFault, ClusterIdChanged, NotAuthorized
from jobs.cluster.protocol.data.fetch import EpochEnd
from jobs.cluster.protocol.data.metadata_log import (
    TOPIC_ID,
    LogPosition,
    NotAController,
    NotLeading,
    SnapshotGone,
    SnapshotId,
    fetch_log,
    fetch_snapshot,
)
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.transport_faults import Server
from tests.jobs.cluster.protocol.fake_broker import FETCH
from tests.jobs.cluster.protocol.fake_controller import (
    FETCH_SNAPSHOT,
    controllers,
    log_answer,
    no_snapshot,
    piece,
)

AT = LogPosition(7, 3)


async def asked(given, position=AT, epoch=4, *, offered=(4, 18), cluster_id=None):
    """Ask a controller that answers what is given; returns its answer and its requests."""
    async with controllers() as (one,):
        one.offered[FETCH] = offered
        one.answers[FETCH] = given
        connection = await BrokerConnection.open(one.server, one.options())
        try:
            answer = await fetch_log(connection, position, epoch, cluster_id=cluster_id)
        finally:
            connection.close()
        return answer, one.of(FETCH)[0]


async def test_batches_and_how_far_they_are_committed_are_told():
    answer, _ = await asked(log_answer(b"batches", leader=(2, 4), high_watermark=9, start=5))
    assert (answer.records, answer.high_watermark, answer.log_start_offset) == (b"batches", 9, 5)
    assert (answer.leader_id, answer.leader_epoch) == (2, 4)
    assert (answer.snapshot, answer.diverging) == (None, None)


@pytest.mark.parametrize("version", [13, 14, 15, 16, 17, 18])
async def test_every_version_with_topic_ids_is_spoken(version):
    answer, request = await asked(lambda one: log_answer(b"x"), offered=(4, version))
    (partition,) = request.topics[0].partitions
    assert answer.records == b"x"
    assert request.topics[0].topic_id == TOPIC_ID
    assert (partition.fetch_offset, partition.current_leader_epoch) == (7, 4)
    assert partition.last_fetched_epoch == 3


async def test_a_controller_without_topic_ids_is_too_old():
    with pytest.raises(VersionNotOffered):
        await asked(log_answer(), offered=(0, 12))


async def test_the_request_leaves_no_trace_as_a_replica():
    _, request = await asked(log_answer())
    assert request.replica_state.replica_id == -1


async def test_the_registered_cluster_is_named_in_the_request():
    _, request = await asked(log_answer(), cluster_id="the-cluster")
    assert request.cluster_id == "the-cluster"


@pytest.mark.parametrize(
    ("position", "epoch", "sent"),
    [
        pytest.param(LogPosition(0, 0), 0, (0, 0), id="at the very first"),
        pytest.param(LogPosition(9), 5, (5, 5), id="where the epoch before is not known"),
        pytest.param(LogPosition(9, 5), 0, (5, 5), id="where the log is newer than the leader"),
    ],
)
async def test_epochs_are_never_refused_as_a_pair(position, epoch, sent):
    _, request = await asked(log_answer(), position, epoch)
    (partition,) = request.topics[0].partitions
    assert (partition.current_leader_epoch, partition.last_fetched_epoch) == sent


async def test_a_log_that_begins_later_names_its_snapshot():
    answer, _ = await asked(log_answer(start=90, snapshot_id=(100, 3)))
    assert (answer.snapshot, answer.log_start_offset) == (SnapshotId(100, 3), 90)


async def test_a_log_that_was_cut_tells_where_it_parts():
    answer, _ = await asked(log_answer(diverging=(2, 40)))
    assert answer.diverging == EpochEnd(2, 40)


async def test_an_empty_log_parts_at_nothing():
    answer, _ = await asked(log_answer(diverging=(0, 0)))
    assert answer.diverging == EpochEnd(0, 0)


@pytest.mark.parametrize(
    "error", ["not_leader_or_follower", "fenced_leader_epoch", "unknown_leader_epoch"]
)
async def test_a_controller_that_does_not_lead_names_the_leader(error):
    with pytest.raises(NotLeading) as told:
        await asked(log_answer(error=error, leader=(3, 8), at=("c3", 9093)))
    assert (told.value.leader_id, told.value.leader_epoch) == (3, 8)
    assert told.value.leader == Server("c3", 9093, 3)
    assert told.value.retriable


async def test_a_controller_that_knows_no_leader_still_tells_the_epoch():
    with pytest.raises(NotLeading) as told:
        await asked(log_answer(error="not_leader_or_follower", leader=(-1, 8)))
    assert (told.value.leader_id, told.value.leader_epoch, told.value.leader) == (None, 8, None)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        pytest.param(log_answer(whole="inconsistent_cluster_id"), ClusterIdChanged, id="104"),
        pytest.param(log_answer(whole="cluster_authorization_failed"), NotAuthorized, id="31"),
        pytest.param(log_answer(error="cluster_authorization_failed"), NotAuthorized, id="part"),
        pytest.param(log_answer(error="unknown_topic_id"), NotAController, id="a broker"),
        pytest.param(log_answer(error="unknown_topic_or_partition"), NotAController, id="old one"),
        pytest.param(log_answer(whole="invalid_request"), ClusterFault, id="42"),
    ],
)
async def test_what_waiting_does_not_mend_is_named(answer, fault):
    with pytest.raises(fault) as told:
        await asked(answer)
    assert not told.value.retriable


async def test_the_missing_right_is_told_with_what_is_lost():
    with pytest.raises(NotAuthorized) as told:
        await asked(log_answer(whole="cluster_authorization_failed"))
    assert "CLUSTER_ACTION" in told.value.hint


async def test_an_error_without_a_name_may_pass():
    with pytest.raises(ClusterFault) as told:
        await asked(log_answer(whole="unknown_server_error"))
    assert told.value.retriable


async def snapshot_asked(given, *, offered=(0, 1), position=0):
    async with controllers() as (one,):
        one.answers[FETCH_SNAPSHOT] = given
        one.offered[FETCH_SNAPSHOT] = offered
        if offered is None:
            del one.offered[FETCH_SNAPSHOT]
        connection = await BrokerConnection.open(one.server, one.options())
        try:
            found = await fetch_snapshot(
                connection, SnapshotId(100, 3), 4, position, cluster_id="the-cluster"
            )
        finally:
            connection.close()
        return found, one.of(FETCH_SNAPSHOT)[0]


@pytest.mark.parametrize("version", [0, 1])
async def test_a_snapshot_comes_in_pieces(version):
    found, request = await snapshot_asked(
        piece((100, 3), b"0123456789", 4, 3), offered=(0, version), position=4
    )
    (wanted,) = request.topics[0].partitions
    assert found == (10, 4, b"456")
    assert (wanted.snapshot_id.end_offset, wanted.snapshot_id.epoch) == (100, 3)
    assert (wanted.current_leader_epoch, wanted.position) == (4, 4)
    assert (request.replica_id, request.cluster_id) == (-1, "the-cluster")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(no_snapshot(), id="the controller stumbled"),
        pytest.param(no_snapshot("snapshot_not_found"), id="not found"),
        pytest.param(no_snapshot("none"), id="nothing in it"),
        pytest.param(piece((100, 3), b"01", 1), id="another position"),
    ],
)
async def test_a_snapshot_that_cannot_be_had_sends_back_to_the_log(answer):
    with pytest.raises(SnapshotGone):
        await snapshot_asked(answer)


async def test_a_snapshot_is_never_asked_of_a_broker():
    with pytest.raises(NotAController):
        await snapshot_asked(no_snapshot(), offered=None)
