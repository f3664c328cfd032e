"""Heartbeats reach the controller that leads, and each refusal has a name."""

import pytest
from kio.schema.broker_heartbeat.v1 import response as heartbeat
from kio.schema.errors import ErrorCode

from jobs.cluster.admin.broker_heartbeat import (
    BrokerNotRegistered,
    Heartbeat,
    HeartbeatAnswer,
    StaleBrokerEpoch,
    send_heartbeat,
)
from jobs.cluster.errors import NotAuthorized
from jobs.cluster.protocol.data.metadata_log import NotAController, NotLeading
from jobs.cluster.read_only import VARIABLE, ReadOnly
from tests.jobs.cluster.protocol.fake_broker import NOW
from tests.jobs.cluster.protocol.fake_controller import CONTROLLER, controllers, door_to

BROKER_HEARTBEAT = 63
OFFERED = CONTROLLER | {BROKER_HEARTBEAT: (0, 1)}
ALIVE = Heartbeat(4, 26, 900)


def answer(error="none", *, is_fenced=False):
    return heartbeat.BrokerHeartbeatResponse(
        throttle_time=NOW,
        error_code=ErrorCode[error],
        is_caught_up=True,
        is_fenced=is_fenced,
        should_shut_down=False,
    )


def offers(*made):
    for one in made:
        one.offered = dict(OFFERED)


async def test_epoch_offset_and_wish_are_those_of_the_heartbeat():
    async with controllers() as (one,), door_to(one) as door:
        offers(one)
        one.answers[BROKER_HEARTBEAT] = answer(is_fenced=True)
        found = await send_heartbeat(door, Heartbeat(4, 26, 900, want_fence=True))
        assert found == HeartbeatAnswer(True, True, False)
        (sent,) = one.of(BROKER_HEARTBEAT)
        assert (sent.broker_id, sent.broker_epoch, sent.current_metadata_offset) == (4, 26, 900)
        assert (sent.want_fence, sent.want_shut_down) == (True, False)


async def test_the_controller_that_leads_is_looked_for():
    async with controllers(3) as made, door_to(*made) as door:
        offers(*made)
        for one in made[:2]:
            one.answers[BROKER_HEARTBEAT] = answer("not_controller")
        made[2].answers[BROKER_HEARTBEAT] = answer()
        assert not (await send_heartbeat(door, ALIVE)).is_fenced
        # And asked first from then on.
        await send_heartbeat(door, ALIVE)
        assert sum(len(one.of(BROKER_HEARTBEAT)) for one in made[:2]) <= 2
        assert len(made[2].of(BROKER_HEARTBEAT)) == 2


async def test_while_nobody_leads_it_is_a_fault_that_passes():
    async with controllers(2) as made, door_to(*made) as door:
        offers(*made)
        for one in made:
            one.answers[BROKER_HEARTBEAT] = answer("not_controller")
        with pytest.raises(NotLeading) as told:
            await send_heartbeat(door, ALIVE)
        assert told.value.retriable


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        pytest.param("stale_broker_epoch", StaleBrokerEpoch, "restarted", id="old epoch"),
        pytest.param("broker_id_not_registered", BrokerNotRegistered, "Start", id="unknown"),
        pytest.param(
            "cluster_authorization_failed", NotAuthorized, "CLUSTER_ACTION", id="no right"
        ),
    ],
)
async def test_a_refusal_says_what_to_do(error, kind, words):
    async with controllers() as (one,), door_to(one) as door:
        offers(one)
        one.answers[BROKER_HEARTBEAT] = answer(error)
        with pytest.raises(kind) as told:
            await send_heartbeat(door, ALIVE)
        assert words in told.value.hint
        assert "broker 4" in str(told.value)


async def test_a_broker_takes_no_heartbeats():
    async with controllers() as (one,), door_to(one) as door:
        with pytest.raises(NotAController):
            await send_heartbeat(door, ALIVE)


async def test_nothing_is_sent_while_crosslog_is_read_only(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    async with controllers() as (one,), door_to(one) as door:
        offers(one)
        with pytest.raises(ReadOnly, match="broker 4"):
            await send_heartbeat(door, ALIVE)
        assert one.of(BROKER_HEARTBEAT) == []
