"""The slots of an engine, as its driver sees them: begun when needed, begun again when they die, dealt out.

A copy whose slot died ends with it; the flow's driver fences it, reads its positions and begins it again,
as after the loss of a Spark task. It gets the slot that it had, if that comes back soon.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.spark.channel.line import ChannelAddress, DriverChannel, Event, Line
from jobs.spark.channel.messages import Message
from jobs.spark.flow_driver.task_pool import MOVED, LostTask, TaskJob, TaskPool
from jobs.spark.slots import slot_task
from jobs.spark.slots.dealing import EVEN_EVERY_S, Copy, OwnSlots, SlotDeaths, choose_slot, even_out

logger = logging.getLogger(__name__)

# A slot that died is back within this time, or its copies are dealt to others.
BACK_WITHIN_S = 3.0
SILENCE_S = 15.0
DEAL_S = 1.0
_BEGUN = {"bytes": 0, "at_work": True}


class SlotJob:
    """A copy as its flow's driver sees it; `TaskJob`."""

    def __init__(
        self, number: int, copy: Copy, address: ChannelAddress, pool: SlotPool, since_s: float
    ) -> None:
        self.problem: str | None = None
        self.number = number
        self.copy = copy
        self.address = address
        self.slot: int | None = None
        self.since_s = since_s
        self.over = threading.Event()
        self._pool = pool

    def is_running(self) -> bool:
        """Return whether it copies, or waits for a slot."""
        return not self.over.is_set()

    def cancel(self) -> None:
        """End it; its slot commits what it can, and the driver does not wait for that."""
        self._pool.cancel(self)


@dataclass(slots=True)
class SlotUsage:
    """The last report of a slot, and its processor time as shares of one core since the one before."""

    host: str = ""
    pid: int | None = None
    rss_bytes: int = 0
    share: float = 0.0
    copies: dict[int, Message] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)
    restarts: int = 0
    lost_at_ms: int | None = None
    why_lost: str = ""
    _at_s: float = 0.0
    _cpu_s: float = 0.0

    def take(self, told: Message, now_s: float) -> None:
        """Take a report."""
        passed_s = now_s - self._at_s if self._at_s else 0.0
        copies = {int(number): row for number, row in told["copies"].items()}
        if passed_s > 0:
            self.share = max(told["cpu_s"] - self._cpu_s, 0.0) / passed_s
            before = {number: row["cpu_s"] for number, row in self.copies.items()}
            self.shares = {
                number: max(row["cpu_s"] - before.get(number, row["cpu_s"]), 0.0) / passed_s
                for number, row in copies.items()
            }
        self.host, self.pid, self.rss_bytes = told["host"], told["pid"], told["rss_bytes"]
        self.copies, self._at_s, self._cpu_s = copies, now_s, told["cpu_s"]

    def lost(self, why: str) -> None:
        """Forget the process that was there."""
        self.restarts += 1
        self.lost_at_ms, self.why_lost = time.time_ns() // 1_000_000, why
        self.pid, self.rss_bytes, self.share, self._at_s = None, 0, 0.0, 0.0
        self.copies, self.shares = {}, {}


class SlotPool:
    """All slots; `begin` and `SlotJob.cancel` may be called from any thread, the rest from one.

    `open_channel` makes the engine's channel to slots, `start_slot` the Spark job of one. `count` slots are
    shared; further ones belong to one copy each. `restarts` counts deaths.
    """

    def __init__(
        self,
        open_channel: Callable[[Callable[[Event], None]], DriverChannel],
        start_slot: Callable[[ChannelAddress, int], TaskJob],
        count: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._channel = open_channel(self._events.put)
        self._tasks = TaskPool(
            lambda number: start_slot(self._channel.address, number), BACK_WITHIN_S, SILENCE_S
        )
        self._count = count
        self._clock = clock
        self._lock = threading.RLock()
        self._numbers = itertools.count()
        self._jobs: dict[int, SlotJob] = {}
        self._homes: dict[Copy, int] = {}
        self._own: dict[Copy, int] = {}
        self._usage: dict[int, SlotUsage] = {}
        self._own_rule, self._deaths = OwnSlots(), SlotDeaths()
        self._suspects: list[str] = []
        self._deal_at = self._even_at = 0.0
        self.restarts = 0

    def begin(self, flow: str, task: int, address: ChannelAddress) -> SlotJob:
        """Copy as a task of a flow in some slot."""
        with self._lock:
            now_s = self._clock()
            job = SlotJob(next(self._numbers), (flow, task), address, self, now_s)
            self._jobs[job.number] = job
            self._place_waiting(now_s)
        return job

    def cancel(self, job: SlotJob) -> None:
        """End a job; see `SlotJob.cancel`."""
        with self._lock:
            self._tell_slot(job.slot, slot_task.end(job.number))
            self._finish(job, job.problem)

    def step(self) -> None:
        """Hear what slots say, begin lost ones again, and deal out what waits."""
        with self._lock:
            now_s = self._clock()
            while not self._events.empty():
                self._take(self._events.get(), now_s)
            for loss in self._tasks.check(now_s):
                self._lose(loss, now_s)
            self._place_waiting(now_s)
            if now_s >= self._deal_at:
                self._deal_at = now_s + DEAL_S
                self._balance(now_s)

    def take_suspects(self) -> list[str]:
        """Return the flows that are to be set apart; each once."""
        with self._lock:
            found, self._suspects = self._suspects, []
        return found

    def close(self) -> None:
        """Let all slots commit and end."""
        self._channel.stop_tasks()
        until = time.monotonic() + SILENCE_S
        while self._tasks.is_running() and time.monotonic() < until:
            time.sleep(0.05)
        self._channel.close()

    # --- what slots say ---------------------------------------------------------------------------

    def _take(self, event: Event, now_s: float) -> None:
        line, message = event.line, event.message
        if message is None:
            self._lose(self._tasks.task_disconnected(line, now_s), now_s)
        elif not message:
            self._lose(self._tasks.task_connected(line, now_s), now_s)
            self._tasks.tasks[line.task].has_assignment = True
        elif self._tasks.note_message(line, now_s):
            self._take_message(line, message, now_s)

    def _take_message(self, line: Line, message: Message, now_s: float) -> None:
        match message:
            case {"usage": told}:
                self._usage_of(line.task).take(told, now_s)
            case {"ended": {"copy": number, "problem": problem}} if number in self._jobs:
                self._finish(self._jobs[number], problem)

    def _lose(self, loss: LostTask | None, now_s: float) -> None:
        """End the jobs of a slot that died; their drivers begin others."""
        if loss is None or self._tasks.tasks[loss.number].is_retired:
            return
        usage = self._usage_of(loss.number)
        jobs = self._jobs_in(loss.number)
        # One that was not reported yet has just begun: it may be what ends every process at once.
        rows = [(job.copy[0], usage.copies.get(job.number, _BEGUN)) for job in jobs]
        at_work = {flow: int(row["bytes"]) for flow, row in rows if row["at_work"]}
        suspect = self._deaths.note(at_work, now_s)
        if suspect is not None:
            self._suspects.append(suspect)
        self.restarts += 1
        usage.lost(loss.why)
        logger.warning("slot lost slot=%d copies=%d: %s", loss.number, len(jobs), loss.why)
        for job in jobs:
            self._finish(job, f"slot {loss.number} is gone: {loss.why}")

    def _finish(self, job: SlotJob, problem: str | None) -> None:
        if self._jobs.pop(job.number, None) is not None:
            job.problem = problem or job.problem
            job.over.set()

    # --- which slot -------------------------------------------------------------------------------

    def _place_waiting(self, now_s: float) -> None:
        waiting = [job for job in self._jobs.values() if job.slot is None]
        if not waiting:
            return
        self._tasks.grow(min(self._count, len(self._jobs)), now_s)
        ready = set(self._tasks.ready())
        coming = ready.union(self._tasks.expected(now_s))
        placed, shares = self._placed(), self._shares()
        for job in waiting if ready else ():
            is_patient = now_s - job.since_s < BACK_WITHIN_S
            slot = self._slot_for(job, coming if is_patient else ready, placed, shares)
            if slot is not None and slot in ready:
                job.slot = self._homes[job.copy] = placed[job.copy] = slot
                flow, task = job.copy
                self._tell_slot(slot, slot_task.begin(job.number, flow, task, job.address))

    def _placed(self) -> dict[Copy, int]:
        return {job.copy: job.slot for job in self._jobs.values() if job.slot is not None}

    def _slot_for(
        self,
        job: SlotJob,
        coming: set[int],
        placed: Mapping[Copy, int],
        shares: Mapping[Copy, float],
    ) -> int | None:
        """Return the slot that a copy had, while that lives or will soon; else the one with least to do."""
        home = self._own.get(job.copy, self._homes.get(job.copy))
        shared = {slot for slot in coming if slot < self._count}
        if home in coming and (home in shared or job.copy in self._own):
            return home
        self._own.pop(job.copy, None)
        return choose_slot(job.copy, shared, placed, shares)

    def _balance(self, now_s: float) -> None:
        """Move at most one copy: to a slot of its own, back, or from a busy slot to an idle one."""
        self._retire_unused()
        shares = self._shares()
        placed = self._placed()
        if any(job.problem == MOVED for job in self._jobs.values()):
            return
        shared = {copy: slot for copy, slot in placed.items() if copy not in self._own}
        full = self._own_rule.leave_shared(shared, shares, now_s)
        calm = self._own_rule.return_to_shared(self._own, shares, now_s)
        slots = {slot for slot in self._tasks.ready() if slot < self._count}
        if calm is not None:
            del self._own[calm]
            self._move(calm, choose_slot(calm, slots, shared, shares))
        elif full is not None and len(self._own) < self._count:
            self._own[full] = self._free_slot(now_s)
            self._move(full, self._own[full])
        elif now_s >= self._even_at and (found := even_out(slots, shared, shares)) is not None:
            self._even_at = now_s + EVEN_EVERY_S
            self._move(*found)

    def _free_slot(self, now_s: float) -> int:
        """Return a slot beside those that are shared; the process of one that was retired is begun again."""
        for handle in self._tasks.tasks[self._count :]:
            if handle.is_retired and handle.job is None:
                handle.is_retired, handle.since_s, handle.retry_at_s = False, now_s, now_s
                return handle.number
        number = max(len(self._tasks.tasks), self._count)
        self._tasks.grow(number + 1, now_s)
        return number

    def _move(self, copy: Copy, slot: int | None) -> None:
        if slot is None:
            return
        logger.info("copy moves flow=%s task=%d slot=%d", *copy, slot)
        self._homes[copy] = slot
        for job in self._jobs.values():
            if job.copy == copy and job.slot is not None:
                job.problem = MOVED
                self._tell_slot(job.slot, slot_task.end(job.number))

    def _retire_unused(self) -> None:
        """End the processes of slots of their own that have no copy any more."""
        alive = {job.copy for job in self._jobs.values()}
        for copy in [copy for copy in self._own if copy not in alive]:
            del self._own[copy]
        for handle in self._tasks.tasks[self._count :]:
            is_used = handle.number in self._own.values() or self._jobs_in(handle.number)
            if not handle.is_retired and not is_used:
                handle.is_retired = True
                self._tell_slot(handle.number, {"stop": True})

    def _jobs_in(self, slot: int) -> list[SlotJob]:
        return [job for job in self._jobs.values() if job.slot == slot]

    def _tell_slot(self, slot: int | None, message: Message) -> None:
        line = None if slot is None else self._tasks.tasks[slot].line
        if line is not None:  # if it is gone, that is heard as an event
            line.send(message)

    # --- what is shown ----------------------------------------------------------------------------

    def _usage_of(self, slot: int) -> SlotUsage:
        return self._usage.setdefault(slot, SlotUsage())

    def _shares(self) -> dict[Copy, float]:
        """Return the share of a core that each copy takes."""
        return {
            job.copy: self._usage_of(job.slot).shares.get(job.number, 0.0)
            for job in self._jobs.values()
            if job.slot is not None
        }

    @property
    def in_flight_bytes(self) -> int:
        """What all copies hold in memory and have not written yet."""
        with self._lock:
            rows = [row for usage in self._usage.values() for row in usage.copies.values()]
            return sum(int(row["bytes"]) for row in rows)

    def usage(self, flow: str) -> dict[str, Any]:
        """Return `slots`, `cpu_percent` of one core and `memory_bytes` of a flow.

        Its memory is what it has in flight and an equal share of the rest of its slots' processes.
        """
        with self._lock:
            jobs = [j for j in self._jobs.values() if j.copy[0] == flow and j.slot is not None]
            shares, memory = self._shares(), 0
            for job in jobs:
                usage = self._usage_of(job.slot if job.slot is not None else 0)
                rows = usage.copies
                held = sum(int(row["bytes"]) for row in rows.values())
                own = int(rows.get(job.number, {}).get("bytes", 0))
                memory += own + max(usage.rss_bytes - held, 0) // max(len(rows), 1)
            return {
                "slots": sorted({job.slot for job in jobs if job.slot is not None}),
                "cpu_percent": round(100 * sum(shares[job.copy] for job in jobs), 1),
                "memory_bytes": memory,
            }

    def rows(self) -> list[dict[str, Any]]:
        """Return the slots, those that were retired left out; the columns are in `driver`."""
        with self._lock:
            return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        owners = {slot: copy[0] for copy, slot in self._own.items()}
        for handle in self._tasks.tasks:
            if handle.is_retired:
                continue
            usage = self._usage_of(handle.number)
            yield {
                "slot": handle.number,
                "state": "running"
                if handle.is_ready
                else "lost"
                if not handle.is_up
                else "starting",
                "pid": usage.pid,
                "host": usage.host,
                "rss_bytes": usage.rss_bytes,
                "cpu_percent": round(100 * usage.share, 1),
                "flows": sorted({job.copy[0] for job in self._jobs_in(handle.number)}),
                "own_flow": owners.get(handle.number),
                "restarts": usage.restarts,
                "lost_at_ms": usage.lost_at_ms,
                "why_lost": usage.why_lost,
            }
