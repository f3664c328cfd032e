"""A flow's tasks at work: their partitions and the requests to them, until the run ends.

One loop in one thread decides everything. What tasks say arrives in a queue, slow requests run beside it,
and the rules are elsewhere: `partition_assignment`, `task_pool`, `balancing`, `pause_rules`, `topology`.
"""

from __future__ import annotations

import logging
import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.contract import CopyLimits, CopyState, PartitionStart
from jobs.replication.flow.preflight import Preflight
from jobs.spark import processes
from jobs.spark.channel import messages
from jobs.spark.channel.line import DriverChannel, Event, Line
from jobs.spark.control import is_named
from jobs.spark.flow_driver.balancing import Balance
from jobs.spark.flow_driver.clusters import BackgroundCall, CallResult, Clusters
from jobs.spark.flow_driver.partition_assignment import AssignmentCommands, PartitionAssignment
from jobs.spark.flow_driver.pause_rules import PauseRules
from jobs.spark.flow_driver.progress_table import DENIED, where_of
from jobs.spark.flow_driver.recovery import RECOVERY, PositionsBehind, RunPatience
from jobs.spark.flow_driver.state import FlowState, progress_of, seen_ids
from jobs.spark.flow_driver.task_pool import MOVED, LostTask, TaskHandle, TaskJob, TaskPool
from jobs.spark.flow_driver.topology import compare

logger = logging.getLogger(__name__)

# Whatever is said wakes the loop; a stop and the end of a job are looked for this often.
POLL_INTERVAL_S = 0.5
STOP_POLL_S = 0.1
LOOK_INTERVAL_S = 1.0
RECOVERY_RETRY_DELAY_S = 2.0
STOP_TIMEOUT_S = 25.0
PARENT_LOST_WITHIN_S = 1.0
# What a Spark job ends with when the JVM's port is closed.
_NO_JVM = "Connection refused"
_SURVEY = "survey"


@dataclass(frozen=True, slots=True)
class DriverIntervals:
    """How often things are looked at, in seconds."""

    refresh_s: float = 10.0
    reconnect_timeout_s: float = 15.0
    balance: Balance = field(default_factory=Balance)


class FlowDriverLoop:
    """From one beginning of the tasks to their end: because of a stop, or because all must begin again.

    `patience.refused` is the fault that no new beginning would end.
    """

    def __init__(
        self,
        state: FlowState,
        clusters: Clusters,
        start_job: Callable[[DriverChannel, int], TaskJob],
        make_channel: Callable[[Callable[[Event], None]], DriverChannel],
        intervals: DriverIntervals,
    ) -> None:
        self._state = state
        self._parent = os.getppid()
        self._progress = state.progress
        self._clusters = clusters
        self._intervals = intervals
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._channel = make_channel(self._events.put)
        self._task_pool = TaskPool(
            lambda number: start_job(self._channel, number), intervals.reconnect_timeout_s
        )
        self._assignment = PartitionAssignment()
        self._pause_rules = PauseRules()
        self._background_call = BackgroundCall(state.flow.name, lambda: self._events.put(None))
        self._refresh_at = time.monotonic() + intervals.refresh_s
        self._control_at = self._orders_at = self._progress_at = self._recover_at = 0.0
        self._applied: tuple[object, ...] = ()
        self._sent: tuple[object, ...] = ()
        self._restart_token = state.control.control.restart_token
        self._problem: str | None = None
        self.patience = RunPatience(state)
        assert state.survey is not None  # noqa: S101  the beginning comes first
        for start in state.survey.plan.starts:
            if start.where not in state.given_up:
                self._assignment.add(start)

    def run(self, should_stop: Callable[[], bool]) -> str | None:
        """Copy until a stop or until all is done; returns why the tasks must restart, if so."""
        try:
            while not (self._problem or self.patience.refused or should_stop()):
                if self._state.is_done:
                    break
                self._step()
            self._stop()
        finally:
            self._channel.close()
        return self._problem

    def _step(self) -> None:
        self._hear(POLL_INTERVAL_S)
        now_s = time.monotonic()
        for loss in self._task_pool.check(now_s):
            self._lose(loss)
        self._take_answer()
        if now_s >= self._control_at:
            self._control_at = now_s + LOOK_INTERVAL_S
            self._apply_control()
        self._ask(now_s)
        if now_s >= self._orders_at:
            self._orders_at = now_s + LOOK_INTERVAL_S
            self._balance(now_s)
            self._send_commands(now_s)
        self._show(now_s)

    # --- what tasks say ---------------------------------------------------------------------------

    def _hear(self, wait_s: float) -> None:
        """Take what was said; waits a little when nothing was."""
        try:
            self._take(self._events.get(timeout=wait_s))
            while True:
                self._take(self._events.get_nowait())
        except queue.Empty:
            return

    def _take(self, event: Event | None) -> None:
        if event is None:  # an answer is there
            return
        now_s, line, message = time.monotonic(), event.line, event.message
        if not message:
            self._orders_at = 0.0
        if message is None:
            self._lose(self._task_pool.task_disconnected(line, now_s))
        elif not message:
            self._lose(self._task_pool.task_connected(line, now_s))
        else:
            self._take_message(line, message)

    def _take_message(self, line: Line, message: messages.Message) -> None:
        task, now_s = line.task, time.monotonic()
        if not self._task_pool.note_message(line, now_s):
            return
        match message:
            case {"partitions": rows}:
                own = [r for r in rows if self._assignment.owner(where_of(r)) == task]
                self._progress.update(own, now_s)
                if any(row["records"] for row in own):
                    self.patience.task_copied(task)
            case {"fault": _}:
                self.patience.task_faults[task] = messages.fault_in(message)
            case {"released": _}:
                self._orders_at = 0.0
                for one in messages.starts_in(message["released"]):
                    if self._assignment.revoked(task, one):
                        logger.info("released task=%d %s at=%d", task, one.where, one.position)

    def _lose(self, loss: LostTask | None) -> None:
        """A task is gone: what it had waits until it is known where it got to."""
        if loss is None:
            return
        if _NO_JVM in loss.why:
            # Spark's JVM was killed, and its tasks with it: that is one crash, which the supervisor tells.
            processes.end_if_orphaned(self._parent, PARENT_LOST_WITHIN_S)
        state = self._state
        state.lose(loss.number, loss.why, is_moved=loss.why == MOVED)
        logger.warning("task lost flow=%s task=%d: %s", state.flow.name, loss.number, loss.why)
        lost = self._assignment.lost(loss.number)
        self._task_pool.tasks[loss.number].is_lost = bool(lost)
        given_up = self.patience.why_given_up(loss.number)
        for where in lost:
            kind = CopyState.FAILED if given_up else CopyState.RETRYING
            self._progress.mark_open(where, kind, given_up or state.message)
            if DENIED in loss.why:
                self._progress.deny(where, loss.why, time.monotonic())
        for where in self._progress.closed(lost):  # it would only fail again
            state.given_up.add(where)
            self._assignment.forget(where)

    # --- requests to the clusters ---------------------------------------------------------------

    def _ask(self, now_s: float) -> None:
        """Ask one thing at a time: where lost partitions are first, then what has changed."""
        if self._background_call.is_busy:
            return
        lost = [handle.number for handle in self._task_pool.tasks if handle.is_lost]
        if lost and now_s >= self._recover_at:
            self._recover(lost[0])
        elif now_s >= self._refresh_at:
            self._refresh_at = now_s + self._intervals.refresh_s
            known = (dict(self._state.topic_ids), self._state.reset_topics)
            self._background_call.start(_SURVEY, lambda: self._clusters.survey(*known))

    def _recover(self, task: int) -> None:
        lost = self._assignment.lost_by(task)
        starts = [self._assignment.start_of(where) for where in lost]
        told = self._progress.positions(lost)
        self._background_call.start(
            f"{RECOVERY}{task}", lambda: self._clusters.recover(task, starts, told)
        )

    def _take_answer(self) -> None:
        answer = self._background_call.result()
        if answer is None:
            return
        self._orders_at = 0.0
        if isinstance(answer.error, PositionsBehind):
            self._problem = str(answer.error)
        elif isinstance(answer.error, ClusterFault):
            # The tasks retry by themselves; only what a person sees changes here.
            self._state.message = f"{answer.error} {answer.error.hint}"
            self._recover_at = time.monotonic() + RECOVERY_RETRY_DELAY_S
            self.patience.judge(answer.name, answer.error)
        elif answer.error is not None:
            raise answer.error
        elif isinstance(answer.value, Preflight):
            self.patience.judge(answer.name, None)
            self._see(answer.value)
        else:
            self._take_recovery(answer)

    def _take_recovery(self, answer: CallResult) -> None:
        self.patience.judge(answer.name, None)
        task = int(answer.name.removeprefix(RECOVERY))
        self._assignment.recovered(cast("list[PartitionStart]", answer.value))
        self._task_pool.tasks[task].is_lost = bool(self._assignment.lost_by(task))

    def _see(self, survey: Preflight) -> None:
        """Follow what has changed on the source or the target."""
        state = self._state
        found = compare(self._assignment.partitions, state.topic_ids, survey.plan, seen_ids(survey))
        if found.again:
            state.recreated = {start.topic for start in found.again}
            topic = found.again[0].topic
            self._problem = f"Topic {topic} was re-created and is replicated from its beginning."
            return  # the id is compared again after the restart, while no task copies
        state.see(survey)
        if state.ends is not None:
            state.end_here(survey)
        for start in found.new:
            if start.where not in state.given_up:
                self._assignment.add(start)
                self._progress.add(messages.values_of(progress_of(start)))
        for row in found.ended:
            self._assignment.forget(TopicPartition(row.topic, row.partition))
        for row in [*found.ended, *found.refused]:
            self._progress.add(messages.values_of(row))
        for where in found.unknown:
            self._assignment.forget(where)
            self._progress.forget(where)

    # --- requests to the tasks ------------------------------------------------------------------

    def _apply_control(self) -> None:
        """Do what people ask for, and hold back what is to wait."""
        state = self._state
        state.control.look()
        control = state.control.control
        if state.take_settings():
            self._take_settings()
        if control.restart_token != self._restart_token:
            self._restart_token = control.restart_token
            self._restart(control.restart)
        now = datetime.now(UTC)
        lags_seen = self._progress.version if control.windows else now.minute
        applied = (control, now.minute, lags_seen, self._assignment.version)
        if applied == self._applied:
            return
        self._applied, self._orders_at = applied, 0.0
        partitions = self._assignment.partitions
        held = self._pause_rules.reasons(partitions, self._progress.lags(), control, now)
        for where in partitions:
            was_resting = self._assignment.is_paused(where)
            self._assignment.set_paused(where, hold=where in held)
            if self._assignment.is_paused(where):
                self._progress.mark(where, CopyState.PAUSED, held[where])
            elif was_resting:
                self._progress.mark(where, CopyState.STARTING)

    def _take_settings(self) -> None:
        """Work with changed settings: the next survey, which is due now, selects and makes topics by them."""
        state = self._state
        logger.info("settings changed flow=%s %s", state.flow.name, sorted(state.taken))
        self._clusters.flow = state.flow
        state.topic_sync.request_sync()
        state.on_settings()
        self._refresh_at = 0.0

    def _restart(self, names: frozenset[str]) -> None:
        """Let partitions go and take them on again, also those that failed; ask what is new about them."""
        survey = self._state.survey
        assert survey is not None  # noqa: S101  the beginning comes first
        for where in self._assignment.partitions:
            if is_named(where, names):
                self._assignment.restart(where)
        for start in survey.plan.starts:
            if start.where in self._state.given_up and is_named(start.where, names):
                self._state.given_up.discard(start.where)
                self._assignment.add(start)
        self._refresh_at = 0.0

    def _balance(self, now_s: float) -> None:
        owners, rates = self._assignment.owners(), self._progress.rates(now_s)
        due = self._intervals.balance.due(owners, rates, self._task_pool.ready(), now_s)
        for where, task in due.items():
            logger.info("move %s to task=%d", where, task)
            self._state.moves += 1
            self._assignment.move(where, task)

    def _send_commands(self, now_s: float) -> None:
        """Have enough tasks, tell them what they are for, and which partitions to let go and take on."""
        if self._sent == self._depends_on(now_s):
            return
        flow = self._state.flow
        self._task_pool.grow(min(flow.tasks, self._assignment.wanted), now_s)
        for handle in self._task_pool.tasks:
            if handle.line is not None and not handle.has_assignment and not handle.is_lost:
                handle.line.send(messages.assignment(flow))
                handle.has_assignment = True
        ready = self._task_pool.ready()
        expected, rates = self._task_pool.expected(now_s), self._progress.rates(now_s)
        commands = self._assignment.next_commands(ready, expected, rates)
        self._send_limits(ready)  # shares of the limit depend on who has partitions now
        self._tell(commands)
        self._sent = self._depends_on(now_s)

    def _depends_on(self, now_s: float) -> tuple[object, ...]:
        """Return what decides what is to be said to the tasks."""
        pool, state, version = self._task_pool, self._state, self._assignment.version
        tasks = [(m.line, m.has_assignment, m.is_lost) for m in pool.tasks]
        return state.flow, state.control.control, version, tasks, pool.expected(now_s)

    def _send_limits(self, ready: list[int]) -> None:
        limit = self._state.limit_bytes_per_s()
        busy = max(len(set(self._assignment.owners().values())), 1)
        priorities = self._state.control.control.priorities
        tuning = CopyLimits(None if limit is None else limit / busy, dict(priorities))
        for number in ready:
            handle = self._task_pool.tasks[number]
            if handle.limits != tuning:
                handle.limits = tuning
                _send(handle, messages.tuning(tuning))

    def _tell(self, commands: AssignmentCommands) -> None:
        for number, partitions in commands.remove.items():
            _send(self._task_pool.tasks[number], messages.remove(partitions))
        for number, starts in commands.add.items():
            for start in starts:
                self._progress.add(messages.values_of(progress_of(start)))
            _send(self._task_pool.tasks[number], messages.add(starts))

    # --- the rest ---------------------------------------------------------------------------------

    def _stop(self) -> None:
        """Let every task flush and commit, and hear how far they got."""
        self._channel.stop_tasks()
        for handle in self._task_pool.tasks:
            if handle.job is not None and handle.line is None:
                handle.job.cancel()  # it waits for a free core, or is about to begin
        give_up_at = time.monotonic() + STOP_TIMEOUT_S
        while self._task_pool.is_running() and time.monotonic() < give_up_at:
            self._hear_reports(STOP_POLL_S)
            self._show(time.monotonic())
        self._hear_reports(0.0)
        for handle in self._task_pool.tasks:
            if handle.job is not None and handle.job.is_running():
                handle.job.cancel()

    def _hear_reports(self, wait_s: float) -> None:
        """Take only reports: that tasks leave now is no loss."""
        try:
            while True:
                event = self._events.get(timeout=wait_s) if wait_s else self._events.get_nowait()
                if event and event.message:
                    self._take_message(event.line, event.message)
        except queue.Empty:
            return

    def _show(self, now_s: float) -> None:
        if now_s < self._progress_at:
            return
        self._progress_at = now_s + LOOK_INTERVAL_S
        tasks = [m.row() for m in self._task_pool.tasks]
        self._state.show(tasks, self._assignment.owners(), now_s)


def _send(handle: TaskHandle, message: messages.Message) -> None:
    if handle.line is not None:  # if it is gone, that is heard as an event
        handle.line.send(message)
