"""Everything breaks at random around one engine of flows; in the end each flow's sides hold the same.

A few flows for half a minute, or as many and as long as `make campaign chaos FLOWS=8 SECONDS=600` says.
"""

import logging
import os
import random
import signal
import threading

import pytest

from jobs.lab.cluster import Cluster
from jobs.spark.engine import door
from tests.campaigns import flows_of_campaign, seconds_of_campaign, seed_of_campaign
from tests.live.batches.chaos import Writing, happenings, is_settled, rage
from tests.live.spark.hosted import HostedFlow, hosted, kill_engine
from tests.live.topics import ends_of
from tests.waiting import PATIENCE, eventually, pause

logger = logging.getLogger(__name__)

CHAOS_S = seconds_of_campaign(20)
SEED = seed_of_campaign()
FLOWS = flows_of_campaign(3)
PARTITIONS = 2
RECOVERY_S = 200
pytestmark = pytest.mark.timeout(1500 + CHAOS_S)


class Engine:
    """The flows of an engine; one whose run has ended is started again, as the console does it."""

    is_fenced = False  # its copiers are fenced by the drivers of their flows

    def __init__(self, flows: list[HostedFlow]) -> None:
        self.flows = flows
        self.runs = len(flows)
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def kill(self, chance: random.Random) -> None:
        """Kill a slot at any moment of its work."""
        if slots := self._slots():
            pause(chance.random(), "it is killed at any moment of its work")
            self._signal(chance.choice(slots), signal.SIGKILL)

    def hang(self, chance: random.Random) -> None:
        """Let a slot hang, shorter or longer than the engine waits for it."""
        if slots := self._slots():
            pid = chance.choice(slots)
            self._signal(pid, signal.SIGSTOP)
            pause(1 + 20 * chance.random(), "a slot hangs for so long")
            self._signal(pid, signal.SIGCONT)

    def restart(self) -> None:
        """Let one flow stop; its run is followed by another one."""
        door.request_stop(random.Random(self.runs).choice(self.flows).folder)

    def kill_whole(self, _chance: random.Random) -> None:
        """Kill all processes of the engine."""
        if self._slots():
            kill_engine(self.flows[0].engine)

    def stop(self) -> None:
        """Start no run again, and stop all flows."""
        self._stop.set()
        self._keeper.join(120)
        for one in self.flows:
            one.stop()

    def _slots(self) -> list[int]:
        """The pids of the slots, as soon as there are any; [] where they do not come."""
        try:
            return eventually(
                lambda: [pid for one in self.flows for pid in one.slots], 20 / PATIENCE
            )
        except AssertionError:
            return []

    def _signal(self, pid: int, number: int) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            logger.warning("slot %s has ended before", pid)

    def _keep(self) -> None:
        while not self._stop.wait(0.5):
            for one in self.flows:
                if not one.is_alive:
                    self.runs += 1
                    one.start()


def test_whatever_breaks_all_flows_hold_the_same_as_their_sources_in_the_end(small_lab, tmp_path):
    source_lab, target_lab = small_lab("storm"), small_lab("haven", nodes=3)
    source, target = source_lab.cluster("storm"), target_lab.cluster("haven")
    runs = (tmp_path / "runs").resolve()
    flows = [HostedFlow(source, target, runs) for _ in range(FLOWS)]
    rest_s = 0.05 * FLOWS
    writers = [
        Writing(source.connection, one.topic, PARTITIONS, SEED + number, rest_s)
        for number, one in enumerate(flows)
    ]
    with hosted(flows):
        engine = Engine(flows)
        for writer in writers:
            writer.start()
        possible = happenings(source_lab, source, target, engine)
        possible |= {"hang a slot": engine.hang, "kill the engine": engine.kill_whole}
        happened = rage(possible, CHAOS_S, SEED)
        for writer in writers:
            writer.stop()
        eventually(lambda: all(is_caught_up(source, one) for one in flows), RECOVERY_S, every=0.5)
        engine.stop()
    written = sum(writer.count for writer in writers)
    logger.warning("seed %s: %s, %s records, %s runs", SEED, happened, written, engine.runs)
    for one in flows:
        one.assert_equal()


def is_caught_up(source: Cluster, flow: HostedFlow) -> bool:
    if not is_settled(source, flow.topic, PARTITIONS):
        return False
    rows = flow.rows()
    ends = ends_of(source, flow.topic)
    return all(p in rows and rows[p]["position"] >= end for p, end in ends.items())
