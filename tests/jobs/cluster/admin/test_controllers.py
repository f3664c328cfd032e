"""The leader of the quorum is found and followed, however often it dies, and without spinning."""

import pytest

from jobs.cluster.admin.quorum import QuorumEndpoint, QuorumNode
from jobs.cluster.errors import ClusterFault, NotAuthorized
from jobs.cluster.protocol.data.metadata_log import (
    LogPosition,
    NotAController,
    NotLeading,
    fetch_log,
)
from tests.jobs.cluster.protocol.fake_broker import FETCH, PATIENT, QUICK, Close, Hang
from tests.jobs.cluster.protocol.fake_controller import controllers, door_to, log_answer


async def read(door):
    return await door.ask(
        lambda connection: fetch_log(connection, LogPosition(0, 0), door.leader_epoch)
    )


def leads(one, epoch):
    """Let a controller serve all that know its epoch, and tell it to everybody else."""

    def answer(asked):
        known = asked.message.topics[0].partitions[0].current_leader_epoch
        if known == epoch:
            return log_answer(b"served", leader=(one.broker_id, epoch))
        error = "fenced_leader_epoch" if known < epoch else "unknown_leader_epoch"
        return log_answer(error=error, leader=(one.broker_id, epoch), at=("127.0.0.1", one.port))

    one.answers[FETCH] = answer


def follows(one, leader, epoch, *, is_told=True):
    at = ("127.0.0.1", leader.port) if is_told else None
    one.answers[FETCH] = log_answer(
        error="not_leader_or_follower", leader=(leader.broker_id, epoch), at=at
    )


async def test_the_leader_that_a_follower_names_is_asked():
    async with controllers(2) as (one, two), door_to(one) as door:
        follows(one, two, 5)
        leads(two, 5)
        assert (await read(door)).records == b"served"
        assert (door.leader_id, door.leader_epoch) == (2, 5)


async def test_a_leader_once_found_is_asked_first():
    async with controllers(2) as (one, two), door_to(one) as door:
        follows(one, two, 5)
        leads(two, 5)
        await read(door)
        await read(door)
        assert len(one.of(FETCH)) == 1


async def test_a_leader_without_an_address_is_looked_for_among_all():
    async with controllers(3) as made, door_to(*made) as door:
        for one in made[:2]:
            follows(one, made[2], 5, is_told=False)
        leads(made[2], 5)
        assert (await read(door)).records == b"served"


async def test_a_controller_that_refuses_the_old_epoch_is_asked_again_with_the_new_one():
    async with controllers() as (one,), door_to(one) as door:
        leads(one, 9)
        assert (await read(door)).records == b"served"
        assert len(one.of(FETCH)) == 2


async def test_a_dead_leader_that_everybody_still_names_is_not_asked_without_end():
    async with controllers(3) as made, door_to(*made[:2], timing=PATIENT) as door:
        await made[2].stop()
        for one in made[:2]:
            follows(one, made[2], 5)
        with pytest.raises(ClusterFault) as told:
            await read(door)
        assert told.value.retriable
        assert sum(len(one.of(FETCH)) for one in made[:2]) <= 4


async def test_the_new_leader_is_found_when_the_old_one_died():
    async with controllers(3) as made, door_to(*made, timing=PATIENT) as door:
        leads(made[0], 5)
        await read(door)
        await made[0].stop()
        follows(made[1], made[2], 6)
        leads(made[2], 6)
        assert (await read(door)).records == b"served"
        assert door.leader_id == 3


async def test_a_leader_that_hangs_is_left_for_the_next():
    async with controllers(2) as (one, two), door_to(one, two, timing=QUICK) as door:
        leads(one, 5)
        await read(door)
        one.answers[FETCH] = Hang
        leads(two, 6)
        assert (await read(door)).records == b"served"


async def test_a_removed_leader_that_names_itself_is_asked_once():
    async with controllers() as (one,), door_to(one) as door:
        follows(one, one, 5)
        with pytest.raises(NotLeading):
            await read(door)
        # Once for its epoch, which was news, and once with it.
        assert len(one.of(FETCH)) == 2


async def test_a_leader_of_the_past_is_not_believed():
    async with controllers(2) as (one, two), door_to(one, two) as door:
        leads(one, 6)
        await read(door)
        one.answers[FETCH] = Close
        follows(two, one, 3)
        with pytest.raises(ClusterFault):
            await read(door)
        assert door.leader_epoch == 6


async def test_brokers_are_told_apart_from_controllers():
    async with controllers(2) as (one, two), door_to(one) as door:
        one.answers[FETCH] = log_answer(error="unknown_topic_id")
        with pytest.raises(NotAController):
            await read(door)
        leads(two, 1)
        endpoints = (QuorumEndpoint("CONTROLLER", "127.0.0.1", two.port),)
        door.learn([QuorumNode(2, endpoints)])
        assert (await read(door)).records == b"served"


async def test_a_controller_that_moved_is_asked_where_it_listens_now():
    async with controllers(2) as (one, two), door_to(one) as door:
        follows(one, two, 5)
        leads(two, 5)
        door.learn([QuorumNode(2, (QuorumEndpoint("CONTROLLER", "127.0.0.1", 9),))])
        assert (await read(door)).records == b"served"


async def test_a_missing_right_is_not_asked_for_everywhere():
    async with controllers(2) as (one, two), door_to(one, two) as door:
        for each in (one, two):
            each.answers[FETCH] = log_answer(whole="cluster_authorization_failed")
        with pytest.raises(NotAuthorized):
            await read(door)
        assert len(one.of(FETCH)) + len(two.of(FETCH)) == 1
