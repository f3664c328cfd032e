"""What members of a classic group tell together, and that the others are read beside a bad one."""

from dataclasses import replace

import pytest

from jobs.streams.application import Role, TaskId
from jobs.streams.assembly import application_of
from jobs.streams.from_classic import members_of
from tests.jobs.streams.written import (
    assignment,
    assignment_info,
    group,
    member,
    observation,
    process,
    subscription,
    subscription_info,
    two_processes,
)


def tasks(*numbers):
    return tuple(TaskId("0", number) for number in numbers)


def test_processes_threads_and_tasks_are_seen():
    found = application_of(observation(two_processes()))
    assert [one.process_id for one in found.processes] == [process(1), process(2)]
    assert [one.endpoint for one in found.processes] == ["h1:1", "h2:2"]
    assert found.processes[0].tasks(Role.ACTIVE) == tasks(0, 2)
    assert found.processes[0].tasks(Role.STANDBY) == tasks(1, 3)
    assert found.subtopologies["0"].partitions == 4
    assert found.subtopologies["0"].is_stateful
    assert found.cautions == ()


def test_a_task_that_nobody_has_is_there_without_anybody():
    of = two_processes()
    found = application_of(observation(replace(of, members=of.members[:1])))
    assert found.placements[TaskId("0", 1)][0].role is Role.STANDBY
    only = application_of(observation(replace(two_processes(copies=False), members=of.members[:0])))
    assert only.placements == {}
    alone = two_processes(copies=False)
    lost = application_of(observation(replace(alone, members=alone.members[:1])))
    assert lost.placements[TaskId("0", 3)] == ()


BAD = {
    "no user data": subscription(b""),
    "half of it": subscription(subscription_info(2, "h2:2"))[:40],
    "a later subscription": subscription(subscription_info(2, version=12)),
    "anything": b"\x00\x03\xff\xff\xff\xff",
}


@pytest.mark.parametrize("metadata", BAD.values(), ids=BAD.keys())
def test_a_member_that_cannot_be_read_loses_nobody_else(metadata):
    of = two_processes()
    bad = replace(of.members[1], metadata=metadata)
    found = application_of(observation(replace(of, members=(of.members[0], bad))))
    by_id = {one.process_id: one.endpoint for one in found.processes}
    assert by_id == {process(1): "h1:1", process(2): None}, "known by its client id"
    assert len(found.cautions) == 1
    assert bad.member_id in found.cautions[0]


def test_every_truncation_of_a_member_loses_only_this_member():
    of = two_processes()
    for name in ("metadata", "assignment"):
        whole = getattr(of.members[1], name)
        for size in range(1, len(whole)):
            bad = replace(of.members[1], **{name: whole[:size]})
            seen = members_of(replace(of, members=(of.members[0], bad)), {})
            assert seen.threads[0].problem is None
            assert seen.threads[1].problem is not None
            assert seen.threads[0].now.active == tasks(0, 2)


def test_tasks_that_are_not_as_many_as_partitions_are_refused():
    info = assignment_info([(0, 0)])
    bad = member(1, subscription(subscription_info(1)), assignment([("a", 0), ("a", 1)], info))
    assert "1 tasks for 2 partitions" in members_of(group(bad), {}).threads[0].problem


def test_a_group_that_only_looks_like_streams_has_members_without_tasks():
    found = application_of(observation(group(member(1, subscription(b""), assignment([], b"")))))
    assert found.tasks == {}
    assert found.routes is None


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Empty", "Dead"])
def test_a_group_that_is_not_stable_keeps_the_tasks_from_before(state):
    of = two_processes()
    members = tuple(replace(one, metadata=b"") for one in of.members)
    found = application_of(observation(replace(of, state=state, protocol="", members=members)))
    assert found.state == state
    assert [one.tasks(Role.ACTIVE) for one in found.processes] == [tasks(0, 2), tasks(1, 3)]
    assert found.cautions == ()


def test_new_members_without_anything_are_there():
    found = application_of(observation(group(member(7, b"", b""), state="PreparingRebalance")))
    assert [one.process_id for one in found.processes] == [process(7)]


@pytest.mark.parametrize(
    ("next_ms", "warm"),
    [
        pytest.param(2**63 - 1, (), id="none is planned"),
        pytest.param(0, (), id="one at once, to hand over"),
        pytest.param(1_800_000_600_000, tasks(0), id="a probing one"),
    ],
)
def test_a_standby_more_than_usual_is_a_warm_up_while_a_probing_rebalance_is_planned(next_ms, warm):
    of = two_processes(next_ms=next_ms)
    place = [((0, 0), [("orders", 0)])]
    extra = assignment_info([], place, {"h1:1": [("orders", 0)]}, None, next_ms)
    third = member(3, subscription(subscription_info(3, "h3:3")), assignment([], extra))
    seen = members_of(replace(of, members=(*of.members, third)), {})
    assert seen.threads[2].now.warm_up == warm
    assert seen.threads[2].now.standby == (() if warm else tasks(0))
    assert seen.threads[1].now.warm_up == (), "it was further when it joined, or is as far"


def test_members_that_carry_different_routings_are_told():
    of = two_processes()
    old = assignment([("orders", 1), ("orders", 3)], assignment_info([(0, 1), (0, 3)]))
    members = (of.members[0], of.members[0], replace(of.members[1], assignment=old))
    found = members_of(replace(of, members=members), {})
    assert "2 different routings" in found.cautions[0]
    assert [one.endpoint for one in found.routes] == ["h1:1", "h2:2"]


def test_the_earliest_planned_rebalance_of_all_members_holds():
    assert members_of(two_processes(), {}).next_rebalance_ms is None
    assert members_of(two_processes(next_ms=0), {}).next_rebalance_ms == 0
