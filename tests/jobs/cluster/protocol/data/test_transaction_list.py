"""Every transactional id of a flow is found, also while coordinators move; what is open is reported."""

import struct
from datetime import UTC, datetime

import pytest
from kio.schema.describe_transactions.v0 import response as describe_transactions
from kio.schema.describe_transactions.v0.response import DescribeTransactionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.list_transactions.v0.response import ListTransactionsResponse, TransactionState

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.transaction_list import (
    DescribedTransaction,
    decode_described,
    describe_transaction,
    list_transactions,
)
from jobs.cluster.protocol.errors import Denied, Unavailable
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.data.test_transactions import coordinator
from tests.jobs.cluster.protocol.fake_broker import NOW, topic
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of


def listed(*names, error=ErrorCode.none):
    return ListTransactionsResponse(
        throttle_time=NOW,
        error_code=error,
        transaction_states=tuple(
            TransactionState(transactional_id=name, producer_id=1, transaction_state="Empty")
            for name in names
        ),
    )


def coordinated_by(*brokers, leader, epoch=0):
    for broker in brokers:
        broker.topics = (topic("__transaction_state", {0: leader}, epoch=epoch),)


async def test_ids_of_all_brokers_with_the_prefix_are_found():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        coordinated_by(one, two, leader=1)
        one.answers[fake_broker.LIST_TRANSACTIONS] = listed("flow-1-b", "other")
        two.answers[fake_broker.LIST_TRANSACTIONS] = listed("flow-1-a", "flow-2-a")
        assert await list_transactions(cluster, "flow-1-") == ["flow-1-a", "flow-1-b"]


async def test_a_coordinator_that_moves_while_it_is_asked_for_is_asked_for_again():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        coordinated_by(one, two, leader=1)

        def moves_away(_):
            # The id moves from the second broker, which is queried later, to the first.
            coordinated_by(one, two, leader=1, epoch=1)
            one.answers[fake_broker.LIST_TRANSACTIONS] = listed("flow-1")
            return listed()

        one.answers[fake_broker.LIST_TRANSACTIONS] = moves_away
        two.answers[fake_broker.LIST_TRANSACTIONS] = listed()
        assert await list_transactions(cluster, "flow") == ["flow-1"]


async def test_coordinators_that_never_rest_are_given_up():
    async with brokers() as (one,), cluster_of(one) as cluster:
        epochs = iter(range(10**6))

        def moves(_):
            coordinated_by(one, leader=1, epoch=next(epochs))
            return listed()

        one.answers[fake_broker.LIST_TRANSACTIONS] = moves
        with pytest.raises(Unavailable):
            await list_transactions(cluster, "flow", budget_s=0.2)


async def test_a_broker_that_does_not_answer_leaves_no_hole():
    async with brokers(2) as (one, two), cluster_of(one) as cluster:
        coordinated_by(one, two, leader=1)
        one.answers[fake_broker.LIST_TRANSACTIONS] = listed("flow-1")
        two.answers[fake_broker.LIST_TRANSACTIONS] = fake_broker.Close
        with pytest.raises(ClusterFault):
            await list_transactions(cluster, "flow", budget_s=0.2)


async def test_a_broker_that_still_loads_is_asked_again():
    async with brokers() as (one,), cluster_of(one) as cluster:
        coordinated_by(one, leader=1)
        loading = [listed(error=ErrorCode.coordinator_load_in_progress)]
        one.answers[fake_broker.LIST_TRANSACTIONS] = lambda _: (
            loading.pop() if loading else listed("flow-1")
        )
        assert await list_transactions(cluster, "flow") == ["flow-1"]


async def test_a_cluster_without_transactions_has_none():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.answers[fake_broker.LIST_TRANSACTIONS] = listed()
        assert await list_transactions(cluster, "flow") == []


def described(state, *topics, error=ErrorCode.none):
    return DescribeTransactionsResponse(
        throttle_time=NOW,
        transaction_states=(
            describe_transactions.TransactionState(
                error_code=error,
                transactional_id="flow-1",
                transaction_state=state,
                transaction_timeout=NOW,
                transaction_start_time=datetime.fromtimestamp(0, UTC),
                producer_id=1,
                producer_epoch=1,
                topics=topics,
            ),
        ),
    )


WRITTEN = describe_transactions.TopicData(topic="orders", partitions=(0, 2))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(described("Ongoing", WRITTEN), ("Ongoing", {0, 2}), id="open"),
        pytest.param(described("CompleteAbort"), ("CompleteAbort", ()), id="ended"),
        pytest.param(
            described("PrepareCommit", WRITTEN), ("PrepareCommit", {0, 2}), id="decided-already"
        ),
        pytest.param(
            described("", error=ErrorCode.transactional_id_not_found),
            ("Empty", ()),
            id="never-used",
        ),
    ],
)
async def test_what_became_of_a_transaction_and_where_it_wrote_is_told(answer, told):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.answers[fake_broker.FIND_COORDINATOR] = coordinator(1)
        one.answers[fake_broker.DESCRIBE_TRANSACTIONS] = answer
        found = await describe_transaction(cluster, "flow-1")
    state, where = told
    assert found[:2] == (state, {TopicPartition("orders", number) for number in where})


@pytest.mark.parametrize(
    ("state", "is_open", "is_ending", "is_committed"),
    [
        ("Empty", False, False, None),
        ("Ongoing", True, False, None),
        ("PrepareCommit", False, True, True),
        ("PrepareAbort", False, True, False),
        ("PrepareEpochFence", False, True, False),
        ("CompleteCommit", False, False, True),
        ("CompleteAbort", False, False, False),
        ("Dead", False, False, None),
    ],
)
def test_a_state_says_how_far_a_transaction_has_come(state, is_open, is_ending, is_committed):
    found = DescribedTransaction(state, frozenset())
    assert (found.is_open, found.is_ending) == (is_open, is_ending)
    assert found.is_committed is is_committed


def test_a_transaction_that_has_not_begun_has_no_start_time():
    head = bytes.fromhex("00000007 00 00000000 02 0000 07") + b"flow-1" + b"\x06Empty"
    rest = struct.pack(">iqqh", 60_000, -1, 7, 1) + b"\x01\0\0"
    frame = memoryview(head + rest)
    told = DescribedTransaction("Empty", frozenset(), 7)
    assert decode_described(frame, 0) == ((0, told), len(frame))


async def test_who_may_not_see_a_transaction_is_told():
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.answers[fake_broker.FIND_COORDINATOR] = coordinator(1)
        denied = described("", error=ErrorCode.transactional_id_authorization_failed)
        one.answers[fake_broker.DESCRIBE_TRANSACTIONS] = denied
        with pytest.raises(Denied):
            await describe_transaction(cluster, "flow-1")
