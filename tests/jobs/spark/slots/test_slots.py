"""The slots of an engine over real lines, with slots that only note what they are asked for."""

import threading

import pytest

from jobs.spark.channel.line import ChannelAddress, ChannelClient, DriverChannel
from jobs.spark.flow_driver.task_pool import MOVED
from jobs.spark.slots.dealing import FULL_S
from jobs.spark.slots.slots import BACK_WITHIN_S, SlotPool
from tests.support import Clock
from tests.waiting import eventually

FLOW_LINE = ChannelAddress("127.0.0.1", 1, "token")


class FakeSlot(ChannelClient):
    """A slot that copies nothing; a job of the pool as well."""

    def __init__(self, address, number):
        super().__init__(address, number)
        self.number = number
        self.problem = None
        self.copies = {}
        self._thread = threading.Thread(target=self.listen, daemon=True)
        self._thread.start()

    def take(self, message):
        if "begin" in message:
            self.copies[message["begin"]["copy"]] = message["begin"]["flow"]
        elif self.copies.pop(message["end"], None):
            self.say({"ended": {"copy": message["end"], "problem": None}})

    def is_running(self):
        return self._thread.is_alive()

    def cancel(self):
        self.close()

    def close(self):
        self.copies.clear()
        super().close()

    def use(self, cpu_s=0.0, at_work=True, size=0, pid=7):
        rows = {str(n): {"cpu_s": cpu_s, "bytes": size, "at_work": at_work} for n in self.copies}
        usage = {"host": "h", "pid": pid, "rss_bytes": 1000, "cpu_s": cpu_s, "copies": rows}
        self.say({"usage": usage})


class BrokenSlot:
    problem = "no process"

    def is_running(self):
        return False


class Engine:
    def __init__(self, count):
        self.clock = Clock(100.0)
        self.slots = []
        self.has_room = True
        self.pool = SlotPool(
            lambda on_event: DriverChannel("127.0.0.1", on_event), self._start, count, self.clock
        )

    def _start(self, address, number):
        if not self.has_room:
            return BrokenSlot()
        self.slots.append(FakeSlot(address, number))
        return self.slots[-1]

    def until(self, condition):
        def look():
            self.pool.step()
            return condition()

        eventually(look)

    def begin(self, *flows):
        jobs = [self.pool.begin(flow, 0, FLOW_LINE) for flow in flows]
        self.until(lambda: all(job.slot is not None for job in jobs))
        self.until(lambda: sum(len(slot.copies) for slot in self.slots) >= len(jobs))
        return jobs

    def report(self, seconds, cpu_s=0.0):
        """Let time pass in which each copy takes so much of the processor."""
        self.clock.now += seconds
        for slot in self.living():
            slot.use(cpu_s)
        self.until(lambda: all(row["pid"] for row in self.pool.rows() if row["state"] == "running"))

    def fill(self, job):
        """Let the slot of a copy report for long that this copy takes all of a core."""
        slot = self.slots[job.slot]
        for second in range(int(FULL_S) + 4):
            self.clock.now += 1.0
            rows = {
                str(n): {"cpu_s": float(second) * (n == job.number), "bytes": 0, "at_work": True}
                for n in slot.copies
            }
            usage = {
                "host": "h",
                "pid": second + 1,
                "rss_bytes": 1,
                "cpu_s": second,
                "copies": rows,
            }
            slot.say({"usage": usage})
            for other in self.living():
                if other is not slot:
                    other.use(pid=second + 1)
            self.until(
                lambda pid=second + 1: (
                    job.problem == MOVED or {row["pid"] for row in self.pool.rows()} == {pid}
                )
            )
            if job.problem == MOVED:
                return

    def living(self):
        return [slot for slot in self.slots if slot.is_running()]


@pytest.fixture
def engine():
    made = Engine(2)
    yield made
    for slot in made.slots:
        slot.close()
    made.pool.close()


def test_a_single_flow_begins_a_single_slot(engine):
    engine.begin("a")
    assert [slot.number for slot in engine.slots] == [0]


def test_flows_are_spread_over_the_slots(engine):
    jobs = engine.begin("a", "b", "c", "d")
    assert sorted(job.slot for job in jobs) == [0, 0, 1, 1]


def test_a_cancelled_copy_is_over_at_once_and_its_slot_ends_it(engine):
    first, second = engine.begin("a", "b")
    first.cancel()
    assert not first.is_running()
    eventually(lambda: "a" not in engine.slots[first.slot].copies.values())
    assert second.is_running()


def test_a_copy_that_broke_ends_alone_with_its_problem(engine):
    first, second, third = engine.begin("a", "b", "c")
    assert first.slot == third.slot
    engine.slots[first.slot].say({"ended": {"copy": first.number, "problem": "broken"}})
    engine.until(lambda: not first.is_running())
    assert first.problem == "broken"
    assert (second.is_running(), third.is_running()) == (True, True)


def test_a_dead_slot_ends_its_copies_and_no_others(engine):
    first, second = engine.begin("a", "b")
    engine.slots[first.slot].close()
    engine.until(lambda: not first.is_running())
    assert first.problem.startswith(f"slot {first.slot} is gone: ")
    assert (second.is_running(), engine.pool.restarts) == (True, 1)


def test_a_copy_waits_for_the_slot_that_it_had(engine):
    first, _ = engine.begin("a", "b")
    home = first.slot
    engine.slots[home].close()
    engine.until(lambda: not first.is_running())
    again = engine.pool.begin("a", 0, FLOW_LINE)
    engine.clock.now += BACK_WITHIN_S / 2
    engine.until(lambda: again.slot is not None)
    assert again.slot == home


def test_a_slot_that_does_not_come_back_leaves_its_copies_to_others(engine):
    first, second = engine.begin("a", "b")
    engine.has_room = False
    engine.slots[first.slot].close()
    engine.until(lambda: not first.is_running())
    again = engine.pool.begin("a", 0, FLOW_LINE)
    engine.clock.now += BACK_WITHIN_S + 1
    engine.until(lambda: again.slot is not None)
    assert again.slot == second.slot


def test_a_flow_that_fills_a_slot_moves_to_a_slot_of_its_own(engine):
    first, other, third = engine.begin("a", "b", "c")
    assert first.slot == third.slot
    engine.fill(first)
    engine.until(lambda: not first.is_running())
    assert first.problem == MOVED
    again = engine.pool.begin("a", 0, FLOW_LINE)
    engine.until(lambda: again.slot is not None)
    assert again.slot == 2
    assert {row["slot"]: row["own_flow"] for row in engine.pool.rows()} == {
        0: None,
        1: None,
        2: "a",
    }
    assert (other.is_running(), third.is_running(), engine.pool.restarts) == (True, True, 0)


def test_a_slot_of_its_own_ends_with_its_copy(engine):
    first, *_ = engine.begin("a", "b", "c")
    engine.fill(first)
    engine.until(lambda: not first.is_running())
    again = engine.pool.begin("a", 0, FLOW_LINE)
    engine.until(lambda: again.slot == 2)
    again.cancel()
    engine.clock.now += 10
    engine.until(lambda: not engine.slots[2].is_running())
    assert [row["slot"] for row in engine.pool.rows()] == [0, 1]
    assert engine.pool.restarts == 0


@pytest.mark.parametrize("reports", [True, False], ids=["after a report", "before any report"])
def test_a_flow_that_copied_at_two_deaths_is_named_once(engine, reports):
    for _ in range(2):
        [job] = engine.begin("a")
        if reports:
            engine.report(1.0)
        engine.living()[-1].close()
        engine.until(lambda job=job: not job.is_running())
        engine.clock.now += BACK_WITHIN_S
    assert engine.pool.take_suspects() == ["a"]
    assert engine.pool.take_suspects() == []


def test_a_flow_takes_what_it_has_in_flight_and_its_share_of_the_process(engine):
    first, *_ = engine.begin("a", "b", "c")
    slot = engine.slots[first.slot]
    slot.use(cpu_s=1.0, size=100)
    engine.until(lambda: engine.pool.usage("a")["memory_bytes"])
    engine.clock.now += 2.0
    slot.use(cpu_s=1.5, size=100)
    engine.until(lambda: engine.pool.usage("a")["cpu_percent"])
    assert engine.pool.usage("a") == {"slots": [0], "cpu_percent": 25.0, "memory_bytes": 500}
    assert engine.pool.in_flight_bytes == 200


def test_a_flow_that_waits_for_a_slot_takes_nothing(engine):
    engine.pool.begin("a", 0, FLOW_LINE)
    assert engine.pool.usage("a") == {"slots": [], "cpu_percent": 0.0, "memory_bytes": 0}
