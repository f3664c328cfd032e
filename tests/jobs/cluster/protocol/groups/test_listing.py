"""All groups of a cluster: every broker tells its own."""

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.list_groups.v5 import response as lists

from jobs.cluster.errors import NotAuthorized, TimedOut
from jobs.cluster.group_members import ListedGroup
from jobs.cluster.protocol.groups.listing import GroupsListed, list_all_groups
from tests.jobs.cluster.protocol.fake_broker import NOW, PATIENT, Hang
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

LIST_GROUPS = 16


def listed(*groups: ListedGroup, error=ErrorCode.none) -> lists.ListGroupsResponse:
    return lists.ListGroupsResponse(
        throttle_time=NOW,
        error_code=error,
        groups=tuple(
            lists.ListedGroup(
                group_id=one.group_id, protocol_type=one.protocol_type, group_state=one.state,
                group_type=one.type,
            )
            for one in groups
        ),
    )  # fmt: skip


A = ListedGroup("a", "consumer", "Stable", "classic")
B = ListedGroup("b", "streams", "NotReady", "streams")


async def listing(*answers, highest=5, budget_s=60.0) -> GroupsListed:
    async with brokers(len(answers)) as made:
        for broker, answer in zip(made, answers, strict=True):
            broker.offered[LIST_GROUPS] = (0, highest)
            broker.answers[LIST_GROUPS] = answer
        async with cluster_of(*made, timing=PATIENT) as cluster:
            return await list_all_groups(cluster, budget_s)


async def test_the_groups_of_all_brokers_are_told_sorted():
    assert await listing(listed(B), listed(A)) == GroupsListed((A, B), ())


@pytest.mark.parametrize(
    ("highest", "state"),
    [pytest.param(4, "Stable", id="no type"), pytest.param(3, "", id="no state either")],
)
async def test_older_brokers_tell_less(highest, state):
    found = await listing(listed(A), highest=highest)
    assert found.groups == (ListedGroup("a", "consumer", state, ""),)


async def test_a_broker_that_hangs_loses_its_own_groups_only():
    found = await listing(listed(A), Hang, budget_s=5.0)
    assert found.groups == (A,)
    assert [type(fault) for fault in found.faults] == [TimedOut]
    assert "broker 2" in found.faults[0].message


async def test_a_coordinator_that_loads_its_groups_is_asked_again():
    answers = [listed(error=ErrorCode.coordinator_load_in_progress), listed(A)]
    assert (await listing(lambda _: answers.pop(0))).groups == (A,)


async def test_a_broker_that_refuses_is_a_fault():
    found = await listing(listed(error=ErrorCode.cluster_authorization_failed))
    assert isinstance(found.faults[0], NotAuthorized)
