"""A broker dies, crosslog promotes the standby and takes it back: every partition is as predicted."""

from collections.abc import Iterator

import pytest

from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.availability.what_if.outcome import Promoter
from jobs.availability.what_if.simulation import Loss, Return
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.live.availability.drills import Drill
from tests.live.availability.standby_cluster import STANDBY, StandbyCluster, looping
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.timeout(900)

TOPICS = {
    "needs-two": ([1, 2, STANDBY], {"min.insync.replicas": "2"}),
    "other-side": ([3, 2, STANDBY], {"min.insync.replicas": "2"}),
    "one-is-enough": ([2, STANDBY, 1], {"min.insync.replicas": "1"}),
    "not-on-the-standby": ([1, 3], {"min.insync.replicas": "2"}),
}


@pytest.fixture
def drill(world: StandbyCluster) -> Iterator[Drill]:
    drill = Drill(world.cluster, TOPICS, STANDBY, policy="under-min-isr", acted_on=True)
    drill.make_topics()
    yield drill
    drill.wait_until_whole()


@pytest.mark.campaign("drills")
def test_the_whole_standby_comes_into_the_isr_and_leaves_it_when_the_broker_is_back(
    drill: Drill, world: StandbyCluster
) -> None:
    store = MemoryStore()
    predicted = drill.predict(Loss(frozenset({1})))
    outcomes = {one.topic: one for one in predicted.overall}
    assert (outcomes["needs-two"].promoter, outcomes["needs-two"].promoted) == (
        Promoter.CROSSLOG,
        (STANDBY,),
    )
    # It comes into the ISR of all that it holds, also where nobody asked for it.
    assert outcomes["other-side"].after.isr == (3, 2, STANDBY)
    drill.kill(1)
    with looping(world.doors, store):
        actor = FencedStandby(world.doors, STANDBY, store, asked_by="drill", within_s=20 * PATIENCE)
        # Whoever answers late for a moment is not promoted.
        eventually(lambda: actor.plan().is_allowed, 30)
        done = actor.act()
        assert done.is_done, done.sentence
        drill.assert_came_true(predicted)

        predicted = drill.predict(Return(frozenset({1})))
        drill.bring_back(1)
        back = actor.revert(done.undo)
        assert back.is_done, back.sentence
        drill.assert_came_true(predicted)
