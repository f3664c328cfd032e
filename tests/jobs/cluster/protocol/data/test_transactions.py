"""The requests to a transaction's coordinator: found, found again, asked until it says something final."""

import pytest
from kio.schema.add_partitions_to_txn.v3 import response as added
from kio.schema.end_txn.v5.response import EndTxnResponse
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.init_producer_id.v5.response import InitProducerIdResponse

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, NotAuthorized
from jobs.cluster.protocol.data.transactions import (
    ProducerIdentity,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
)
from jobs.cluster.protocol.errors import (
    CoordinatorMoved,
    OutcomeUnknown,
    ProducerFenced,
    TransactionFailed,
    Unavailable,
)
from jobs.cluster.protocol.transport.primitives import duration
from jobs.cluster.read_only import ReadOnly
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import NOW, Close
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

ME = ProducerIdentity(7, 3)
NAME = "crosslog-flow-1"


def coordinator(broker_id, error=ErrorCode.none):
    return FindCoordinatorResponse(
        throttle_time=NOW,
        error_code=error,
        error_message=None,
        node_id=broker_id,
        host="ignored",
        port=1,
    )


def initialized(error=ErrorCode.none, producer_id=7, epoch=3):
    return InitProducerIdResponse(
        throttle_time=NOW, error_code=error, producer_id=producer_id, producer_epoch=epoch
    )


def ended(error=ErrorCode.none, producer_id=-1, epoch=-1):
    return EndTxnResponse(
        throttle_time=NOW, error_code=error, producer_id=producer_id, producer_epoch=epoch
    )


def partitions(**errors):
    return added.AddPartitionsToTxnResponse(
        throttle_time=NOW,
        results_by_topic_v3_and_below=tuple(
            added.AddPartitionsToTxnTopicResult(
                name=name,
                results_by_partition=(
                    added.AddPartitionsToTxnPartitionResult(
                        partition_index=0, partition_error_code=error
                    ),
                ),
            )
            for name, error in errors.items()
        ),
    )


def in_turn(*answers):
    """Answer each request with the next answer, the last one for ever."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


async def asked(question, key, *answers, found=(1,), features=2):
    """Ask broker 1, which answers in turn; `found` are the coordinators it names in turn."""
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        one.features = two.features = {"transaction.version": features}
        named = in_turn(*(coordinator(n) if isinstance(n, int) else n for n in found))
        for broker in (one, two):
            broker.answers[fake_broker.FIND_COORDINATOR] = named
            broker.answers[key] = in_turn(*answers)
        return await question(cluster), one, two


def start(cluster, **settings):
    return init_producer_id(cluster, NAME, **({"budget_s": 5} | settings))


def commit(cluster, **settings):
    return end_txn(cluster, NAME, ME, **({"commit": True, "budget_s": 5} | settings))


def add(cluster):
    both = [TopicPartition("a", 0), TopicPartition("b", 0)]
    return add_partitions_to_txn(cluster, NAME, ME, both, budget_s=5)


async def test_a_producer_gets_its_identity_from_its_coordinator():
    identity, one, two = await asked(start, fake_broker.INIT_PRODUCER_ID, initialized(), found=(2,))
    assert identity == ME
    assert not one.of(fake_broker.INIT_PRODUCER_ID)
    (request,) = two.of(fake_broker.INIT_PRODUCER_ID)
    assert request.transactional_id == NAME
    assert request.transaction_timeout == duration(60_000)


async def test_a_producer_without_transactions_gets_its_identity_from_anybody():
    identity, one, two = await asked(
        lambda cluster: init_producer_id(cluster, None),
        fake_broker.INIT_PRODUCER_ID,
        initialized(producer_id=9, epoch=0),
    )
    assert identity == ProducerIdentity(9, 0)
    assert not one.of(fake_broker.FIND_COORDINATOR) + two.of(fake_broker.FIND_COORDINATOR)


async def test_a_broker_that_has_no_producer_ids_yet_is_asked_again():
    identity, *_ = await asked(
        lambda cluster: init_producer_id(cluster, None),
        fake_broker.INIT_PRODUCER_ID,
        *[initialized(ErrorCode.coordinator_load_in_progress)] * 3,
        initialized(),
    )
    assert identity == ME


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.concurrent_transactions,
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.not_coordinator,
    ],
    ids=lambda error: error.name,
)
async def test_a_coordinator_that_is_not_ready_is_asked_again(error):
    identity, *_ = await asked(
        start, fake_broker.INIT_PRODUCER_ID, initialized(error), initialized(error), initialized()
    )
    assert identity == ME


async def test_a_coordinator_that_moved_is_looked_up_again():
    refused = initialized(ErrorCode.not_coordinator)
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        one.answers[fake_broker.INIT_PRODUCER_ID] = refused
        two.answers[fake_broker.INIT_PRODUCER_ID] = initialized()
        named = in_turn(coordinator(1), coordinator(2))
        one.answers[fake_broker.FIND_COORDINATOR] = named
        two.answers[fake_broker.FIND_COORDINATOR] = named
        assert await start(cluster) == ME


async def test_a_coordinator_that_is_only_busy_is_not_looked_up_again():
    busy = ended(ErrorCode.concurrent_transactions)
    _, one, two = await asked(
        commit, fake_broker.END_TXN, busy, busy, ended(producer_id=7, epoch=4)
    )
    assert len(one.of(fake_broker.FIND_COORDINATOR) + two.of(fake_broker.FIND_COORDINATOR)) == 1


async def test_a_coordinator_that_is_not_there_yet_is_waited_for():
    nobody = coordinator(-1, ErrorCode.coordinator_not_available)
    identity, *_ = await asked(
        start, fake_broker.INIT_PRODUCER_ID, initialized(), found=(nobody, nobody, 1)
    )
    assert identity == ME


async def test_a_coordinator_that_stays_away_is_given_up_with_the_reason():
    nobody = coordinator(-1, ErrorCode.coordinator_not_available)
    with pytest.raises(CoordinatorMoved, match=NAME):
        await asked(
            lambda cluster: start(cluster, budget_s=0.1),
            fake_broker.INIT_PRODUCER_ID,
            initialized(),
            found=(nobody,),
        )


async def test_what_waiting_does_not_mend_is_raised_at_once():
    denied = initialized(ErrorCode.transactional_id_authorization_failed)
    with pytest.raises(NotAuthorized):
        await asked(start, fake_broker.INIT_PRODUCER_ID, denied)


async def test_protocol_2_returns_the_identity_of_the_next_transaction():
    identity, one, _ = await asked(commit, fake_broker.END_TXN, ended(producer_id=7, epoch=4))
    assert identity == ProducerIdentity(7, 4)
    assert one.versions_of(fake_broker.END_TXN) == [5]
    assert one.of(fake_broker.END_TXN)[0].committed


async def test_protocol_1_keeps_the_identity():
    identity, one, _ = await asked(commit, fake_broker.END_TXN, ended(), features=1)
    assert identity == ME
    assert one.versions_of(fake_broker.END_TXN) == [4]


async def test_a_transaction_is_aborted():
    _, one, _ = await asked(
        lambda cluster: commit(cluster, commit=False),
        fake_broker.END_TXN,
        ended(producer_id=7, epoch=4),
    )
    assert not one.of(fake_broker.END_TXN)[0].committed


@pytest.mark.parametrize("error", [ErrorCode.invalid_producer_epoch, ErrorCode.producer_fenced])
async def test_a_zombie_is_told_that_it_is_one(error):
    with pytest.raises(ProducerFenced, match=NAME):
        await asked(commit, fake_broker.END_TXN, ended(error))


async def test_ending_what_was_never_begun_is_named():
    with pytest.raises(TransactionFailed):
        await asked(commit, fake_broker.END_TXN, ended(ErrorCode.invalid_txn_state))


async def test_a_commit_whose_answer_was_lost_is_asked_again():
    identity, one, _ = await asked(
        commit, fake_broker.END_TXN, Close, ended(producer_id=7, epoch=4)
    )
    assert identity == ProducerIdentity(7, 4)
    assert len(one.of(fake_broker.END_TXN)) == 2


async def test_a_commit_that_nobody_answers_for_has_an_unknown_outcome():
    with pytest.raises(OutcomeUnknown) as caught:
        await asked(lambda cluster: commit(cluster, budget_s=0.1), fake_broker.END_TXN, Close)
    assert not caught.value.retriable


async def test_a_commit_that_never_reached_anybody_was_not_done():
    nobody = coordinator(-1, ErrorCode.coordinator_not_available)
    with pytest.raises(ClusterFault) as caught:
        await asked(
            lambda cluster: commit(cluster, budget_s=0.1),
            fake_broker.END_TXN,
            ended(),
            found=(nobody,),
        )
    assert type(caught.value) is CoordinatorMoved


async def test_a_commit_that_the_coordinator_refuses_for_now_was_not_done():
    busy = ended(ErrorCode.concurrent_transactions)
    with pytest.raises(Unavailable):
        await asked(lambda cluster: commit(cluster, budget_s=0.1), fake_broker.END_TXN, busy)


async def test_partitions_are_added_to_a_transaction():
    good = partitions(a=ErrorCode.none, b=ErrorCode.none)
    _, one, _ = await asked(add, fake_broker.ADD_PARTITIONS_TO_TXN, good)
    (request,) = one.of(fake_broker.ADD_PARTITIONS_TO_TXN)
    assert [topic.name for topic in request.v3_and_below_topics] == ["a", "b"]


async def test_the_partition_that_is_why_none_was_added_is_named():
    refused = partitions(
        a=ErrorCode.operation_not_attempted, b=ErrorCode.topic_authorization_failed
    )
    with pytest.raises(NotAuthorized, match="b-0"):
        await asked(add, fake_broker.ADD_PARTITIONS_TO_TXN, refused)


async def test_adding_waits_for_the_transaction_before():
    busy = partitions(a=ErrorCode.concurrent_transactions, b=ErrorCode.operation_not_attempted)
    good = partitions(a=ErrorCode.none, b=ErrorCode.none)
    _, one, _ = await asked(add, fake_broker.ADD_PARTITIONS_TO_TXN, busy, good)
    assert len(one.of(fake_broker.ADD_PARTITIONS_TO_TXN)) == 2


@pytest.mark.parametrize("question", [start, commit, add])
async def test_nothing_is_done_while_crosslog_is_read_only(monkeypatch, question):
    monkeypatch.setenv("CROSSLOG_READ_ONLY", "1")
    async with brokers() as (one,), cluster_of(one) as cluster:
        with pytest.raises(ReadOnly):
            await question(cluster)
        assert not one.asked
