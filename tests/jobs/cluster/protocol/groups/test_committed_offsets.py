"""Committed offsets over connections of our own: coordinators that move, old brokers, refusals."""

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3 import response as finds_one
from kio.schema.offset_fetch.v7 import response as fetches_one
from kio.schema.offset_fetch.v8 import response as fetches

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault, NotAuthorized, TimedOut
from jobs.cluster.protocol.groups.committed_offsets import GROUPS_PER_REQUEST, read_offsets
from tests.jobs.cluster.protocol.fake_broker import (
    FIND_COORDINATOR,
    NOW,
    OFFSET_FETCH,
    PATIENT,
    Close,
    Hang,
)
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.cluster.protocol.groups.coordinating import coordinators

WHERE = TopicPartition("orders", 3)
GROUPS = [f"group-{number}" for number in range(4)]


def offsets(committed=7, error=ErrorCode.none, of_partition=ErrorCode.none, text=""):
    """Answer for all requested groups: an offset of one partition each."""

    def answer(asked):
        partition = fetches.OffsetFetchResponsePartitions(
            partition_index=3, committed_offset=committed, metadata=text, error_code=of_partition
        )
        topics = (fetches.OffsetFetchResponseTopics(name="orders", partitions=(partition,)),)
        return fetches.OffsetFetchResponse(
            throttle_time=NOW,
            groups=tuple(
                fetches.OffsetFetchResponseGroup(
                    group_id=group.group_id, topics=() if error else topics, error_code=error
                )
                for group in asked.message.groups
            ),
        )

    return answer


def in_turn(*answers):
    """Answer one after the other, the last one for ever."""
    left = list(answers)

    def answer(asked):
        found = left.pop(0) if len(left) > 1 else left[0]
        return found(asked) if callable(found) and not isinstance(found, type) else found

    return answer


async def read(*servers, groups=GROUPS, budget_s=60.0, timing=PATIENT):
    async with cluster_of(*servers, timing=timing) as cluster:
        return await read_offsets(cluster, groups, budget_s=budget_s)


def by_parity(group: str) -> int:
    return int(group[-1]) % 2 + 1


async def test_each_coordinator_is_asked_once_for_all_of_its_groups():
    async with brokers(2) as (one, other):
        for broker in (one, other):
            broker.answers |= {FIND_COORDINATOR: coordinators(by_parity), OFFSET_FETCH: offsets()}
        found = await read(one, other)
    assert found == {key: {WHERE: CommittedOffset(7)} for key in GROUPS}
    asked = [[group.group_id for group in b.of(OFFSET_FETCH)[0].groups] for b in (one, other)]
    assert asked == [["group-0", "group-2"], ["group-1", "group-3"]]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(offsets(error=ErrorCode.not_coordinator), id="it is elsewhere"),
        pytest.param(offsets(error=ErrorCode.coordinator_load_in_progress), id="it loads"),
        pytest.param(offsets(error=ErrorCode.coordinator_not_available), id="it is not ready"),
        pytest.param(Close, id="it dies"),
    ],
)
async def test_a_coordinator_that_moves_is_followed(first):
    async with brokers() as (one,):
        one.answers |= {
            FIND_COORDINATOR: coordinators(lambda _: 1),
            OFFSET_FETCH: in_turn(first, offsets()),
        }
        found = await read(one)
    assert found == {key: {WHERE: CommittedOffset(7)} for key in GROUPS}


async def test_a_coordinator_that_hangs_costs_its_own_groups_only():
    async with brokers(2) as (one, other):
        for broker in (one, other):
            broker.answers[FIND_COORDINATOR] = coordinators(by_parity)
        one.answers[OFFSET_FETCH], other.answers[OFFSET_FETCH] = offsets(), Hang
        found = await read(one, other, budget_s=5.0)
    assert found["group-0"] == found["group-2"] == {WHERE: CommittedOffset(7)}
    assert isinstance(found["group-1"], TimedOut)


@pytest.mark.slow
async def test_what_was_read_stays_read_when_nobody_says_any_more_who_coordinates():
    def mixed(asked):
        moved = offsets(error=ErrorCode.not_coordinator)(asked)
        first = offsets()(asked).groups[0]
        return fetches.OffsetFetchResponse(throttle_time=NOW, groups=(first, *moved.groups[1:]))

    async with brokers() as (one,):
        one.answers |= {
            FIND_COORDINATOR: in_turn(coordinators(lambda _: 1), Close),
            OFFSET_FETCH: mixed,
        }
        found = await read(one, groups=["a", "b"], budget_s=20.0)
    assert found["a"] == {WHERE: CommittedOffset(7)}
    assert isinstance(found["b"], ClusterFault)


async def test_a_group_that_may_not_be_read_is_refused_at_once_and_by_its_name():
    async with brokers() as (one,):
        one.answers |= {
            FIND_COORDINATOR: coordinators(lambda _: 1),
            OFFSET_FETCH: offsets(error=ErrorCode.group_authorization_failed),
        }
        found = await read(one, groups=["secret"])
    assert isinstance(found["secret"], NotAuthorized)
    assert "group secret" in found["secret"].message
    assert len(one.of(OFFSET_FETCH)) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(offsets(-1), CommittedOffset(None), id="none committed"),
        pytest.param(offsets(7, text="a\x00"), CommittedOffset(7, "a"), id="the end of a C string"),
        pytest.param(offsets(7, text=None), CommittedOffset(7), id="no metadata"),
    ],
)
async def test_what_stands_beside_an_offset(answer, expected):
    async with brokers() as (one,):
        one.answers |= {FIND_COORDINATOR: coordinators(lambda _: 1), OFFSET_FETCH: answer}
        found = await read(one, groups=["a"])
    assert found == {"a": {WHERE: expected}}


async def test_a_partition_that_is_refused_says_why():
    async with brokers() as (one,):
        refused = offsets(7, of_partition=ErrorCode.topic_authorization_failed)
        one.answers |= {FIND_COORDINATOR: coordinators(lambda _: 1), OFFSET_FETCH: refused}
        found = await read(one, groups=["a"])
    assert found["a"][WHERE].offset is None
    assert "TOPIC_AUTHORIZATION_FAILED" in found["a"][WHERE].error


async def test_many_groups_are_asked_for_in_several_requests():
    groups = [f"g{number:03}" for number in range(GROUPS_PER_REQUEST + 1)]
    async with brokers() as (one,):
        one.answers |= {FIND_COORDINATOR: coordinators(lambda _: 1), OFFSET_FETCH: offsets()}
        found = await read(one, groups=groups)
    assert list(found) == groups
    assert [len(asked.groups) for asked in one.of(OFFSET_FETCH)] == [GROUPS_PER_REQUEST, 1]


async def test_brokers_before_kafka_3_are_asked_for_one_group_after_the_other():
    def finds_coordinator(asked):
        return finds_one.FindCoordinatorResponse(
            throttle_time=NOW, error_code=ErrorCode.none, error_message=None, node_id=1,
            host="127.0.0.1", port=1,
        )  # fmt: skip

    def fetched(asked):
        partition = fetches_one.OffsetFetchResponsePartition(
            partition_index=3, committed_offset=7, metadata="", error_code=ErrorCode.none
        )
        topics = (fetches_one.OffsetFetchResponseTopic(name="orders", partitions=(partition,)),)
        return fetches_one.OffsetFetchResponse(throttle_time=NOW, topics=topics)

    async with brokers() as (one,):
        one.offered |= {FIND_COORDINATOR: (0, 3), OFFSET_FETCH: (0, 7)}
        one.answers |= {FIND_COORDINATOR: finds_coordinator, OFFSET_FETCH: fetched}
        found = await read(one, groups=["a", "b"])
    assert found == {key: {WHERE: CommittedOffset(7)} for key in "ab"}
    assert one.versions_of(OFFSET_FETCH) == [7, 7]


async def test_without_groups_nobody_is_asked():
    async with brokers() as (one,):
        assert await read(one, groups=[]) == {}
        assert one.asked == []
