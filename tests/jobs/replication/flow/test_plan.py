"""Where a partition starts, or why it does not: the rules of `jobs.replication.flow.plan`."""

import pytest

from jobs.cluster.descriptions import (
    OffsetRange,
    PartitionDescription,
    TopicDescription,
    TopicPartition,
)
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.plan import Known, RemotePlace, plan_flow
from jobs.replication.flow.spec import OnRecreated

WHERE = TopicPartition("orders", 0)


def topic(name="orders", topic_id="id-1", partitions=1):
    described = tuple(PartitionDescription(p, 1, (1,), (1,)) for p in range(partitions))
    return TopicDescription(name, topic_id, False, described)


PLACE = RemotePlace("east.orders", 1)


def plan(*topics, place=PLACE, ranges=None, **known):
    ranges = ranges if ranges is not None else {WHERE: OffsetRange(10, 100, 100)}
    return plan_flow(
        topics or (topic(),), {"orders": place} if place else {}, ranges, Known(**known)
    )


def only_refusal(found):
    assert found.starts == ()
    (refused,) = found.refused
    return refused


@pytest.mark.parametrize(
    ("known", "position"),
    [
        pytest.param({}, 10, id="without a position at the log start"),
        pytest.param({"positions": {WHERE: 42}}, 42, id="at the committed position"),
        pytest.param(
            {"positions": {WHERE: 3}},
            3,
            id="below the log start: the copier reports the gap",
        ),
        pytest.param({"positions": {WHERE: 100}}, 100, id="at the end"),
        pytest.param(
            {"positions": {WHERE: 42}, "topic_ids": {"orders": "id-1"}},
            42,
            id="same topic id",
        ),
        pytest.param(
            {
                "positions": {WHERE: 42},
                "topic_ids": {"orders": "id-0"},
                "reset_topics": frozenset({"orders"}),
            },
            10,
            id="re-created and accepted by a person",
        ),
        pytest.param(
            {
                "positions": {WHERE: 42},
                "topic_ids": {"orders": "id-0"},
                "on_recreated": OnRecreated.FROM_START,
            },
            10,
            id="re-created and accepted by the flow's setting",
        ),
    ],
)
def test_a_partition_starts(known, position):
    (start,) = plan(**known).starts
    assert (start.position, start.remote_topic) == (position, "east.orders")


def test_a_start_carries_where_the_remote_partition_ended_at_the_commit():
    (start,) = plan(positions={WHERE: 42}, remote_ends={WHERE: 40}).starts
    assert start.remote_end == 40


def test_a_recreated_topic_is_refused_and_says_both_ids():
    refused = only_refusal(plan(positions={WHERE: 42}, topic_ids={"orders": "id-0"}))
    assert refused.state is CopyState.FAILED
    assert "id-0 -> id-1" in refused.reason
    assert refused.position == 42


def test_the_old_id_of_a_recreated_topic_is_remembered_until_it_is_accepted():
    assert plan(topic_ids={"orders": "id-0"}).topic_ids == {"orders": "id-0"}
    accepted = plan(topic_ids={"orders": "id-0"}, reset_topics=frozenset({"orders"}))
    assert accepted.topic_ids == {"orders": "id-1"}


def test_a_position_beyond_the_end_is_refused_as_truncated():
    refused = only_refusal(plan(positions={WHERE: 101}))
    assert refused.state is CopyState.FAILED
    assert "truncated" in refused.reason


def test_only_the_partitions_without_a_place_are_refused_when_the_target_has_fewer():
    ranges = {TopicPartition("orders", p): OffsetRange(0, 5, 5) for p in range(2)}
    found = plan(topic(partitions=2), ranges=ranges)
    assert [s.partition for s in found.starts] == [0]
    assert "--partitions 2" in found.refused[0].reason


def test_a_topic_whose_remote_topic_has_a_problem_says_that_problem():
    refused = only_refusal(plan(place=RemotePlace("east.orders", 0, "Not allowed to create it.")))
    assert refused.reason == "Not allowed to create it."


def test_a_partition_whose_offsets_are_unknown_is_retried():
    refused = only_refusal(plan(ranges={WHERE: OffsetRange(error="no leader")}))
    assert refused.state is CopyState.RETRYING
    assert "no leader" in refused.reason


def test_a_copied_topic_that_is_gone_is_shown_as_stopped():
    gone = TopicPartition("old", 0)
    found = plan(positions={gone: 7}, topic_ids={"old": "id-9"})
    (refused,) = found.refused
    assert (refused.topic, refused.state, refused.position) == ("old", CopyState.STOPPED, 7)


def test_positions_of_another_flow_with_the_same_source_are_none_of_its_business():
    found = plan(positions={TopicPartition("foreign", 0): 7})
    assert found.refused == ()


def test_the_shape_changes_with_partitions_and_with_topic_ids():
    before = plan().shape()
    ranges = {TopicPartition("orders", p): OffsetRange(0, 5, 5) for p in range(2)}
    grown = plan(topic(partitions=2), place=RemotePlace("east.orders", 2), ranges=ranges).shape()
    recreated = plan(topic(topic_id="id-2")).shape()
    assert len({before, grown, recreated}) == 3


@pytest.mark.parametrize(
    ("is_retriable", "state"), [(True, CopyState.RETRYING), (False, CopyState.FAILED)]
)
def test_a_topic_that_the_target_refuses_for_good_failed_and_another_is_retried(
    is_retriable, state
):
    place = RemotePlace("east.orders", 0, "It could not be made.", is_retriable)
    assert only_refusal(plan(place=place)).state is state
