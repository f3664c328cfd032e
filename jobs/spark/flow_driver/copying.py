"""A flow's tasks at work: who has which partition, and what is asked of them, until something ends it.

One loop in one thread decides everything. What tasks say arrives in a queue, what takes long is asked
beside it (`asking`), and the rules are elsewhere: `holdings`, `crew`, `dealing`, `holding_back`, `topology`.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.changes import Tuning
from jobs.replication.copy.contract import PartitionStart, PartitionState
from jobs.replication.flow.survey import Survey
from jobs.spark.channel import messages
from jobs.spark.channel.line import DriverChannel, Event
from jobs.spark.control import is_named
from jobs.spark.flow_driver.asking import Answer, Asking
from jobs.spark.flow_driver.clusters import Clusters
from jobs.spark.flow_driver.crew import Crew, Loss, Member, SparkJob
from jobs.spark.flow_driver.dealing import Balance, Rates
from jobs.spark.flow_driver.holding_back import HoldingBack
from jobs.spark.flow_driver.holdings import Holdings, Orders
from jobs.spark.flow_driver.recovery import PositionsBehind
from jobs.spark.flow_driver.state import FlowState, progress_of, seen_ids
from jobs.spark.flow_driver.topology import compare

logger = logging.getLogger(__name__)

LOOK_S = 0.2
CONTROL_S = 1.0
# Orders are thought over when something happened, and as often as this: that takes time with many partitions.
ORDERS_S = 1.0
PROGRESS_S = 1.0
RECOVER_AGAIN_S = 2.0
STOP_S = 25.0
_RECOVERY = "recovery-"
_SURVEY = "survey"


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often things are looked at, in seconds."""

    refresh_s: float = 10.0
    home_s: float = 15.0
    balance: Balance = field(default_factory=Balance)


class Copying:
    """From one beginning of the tasks to their end: because of a stop, or because all must begin anew."""

    def __init__(
        self,
        state: FlowState,
        clusters: Clusters,
        start_job: Callable[[DriverChannel, int], SparkJob],
        make_channel: Callable[[Callable[[Event], None]], DriverChannel],
        rhythm: Rhythm,
    ) -> None:
        self._state = state
        self._board = state.board
        self._clusters = clusters
        self._rhythm = rhythm
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._channel = make_channel(self._events.put)
        self._crew = Crew(lambda number: start_job(self._channel, number), rhythm.home_s)
        self._holdings = Holdings()
        self._holding_back = HoldingBack()
        self._asking = Asking()
        self._refresh_at = time.monotonic() + rhythm.refresh_s
        self._control_at = self._orders_at = self._progress_at = self._recover_at = 0.0
        self._restart_token = state.control.control.restart_token
        self._problem: str | None = None
        assert state.survey is not None  # noqa: S101  the beginning comes first
        for start in state.survey.plan.starts:
            if start.where not in state.given_up:
                self._holdings.want(start)

    def run(self, should_stop: Callable[[], bool]) -> str | None:
        """Copy until told to stop or until all is done; returns why the tasks must begin anew, if so."""
        try:
            while not (should_stop() or self._state.is_done or self._problem):
                self._turn()
            self._stop()
        finally:
            self._channel.close()
        return self._problem

    def _turn(self) -> None:
        self._hear(LOOK_S)
        now_s = time.monotonic()
        for loss in self._crew.look(now_s):
            self._lose(loss)
        self._take_answer()
        if now_s >= self._control_at:
            self._control_at = now_s + CONTROL_S
            self._obey_control()
            self._orders_at = 0.0
        self._ask(now_s)
        if now_s >= self._orders_at:
            self._orders_at = now_s + ORDERS_S
            rates = self._board.rates(now_s)
            self._balance(rates, now_s)
            self._give_orders(rates, now_s)
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

    def _take(self, event: Event) -> None:
        now_s = time.monotonic()
        line, message = event.line, event.message
        if not message:
            self._orders_at = 0.0
        if message is None:
            self._lose(self._crew.left(line, now_s))
        elif not message:
            self._lose(self._crew.came(line, now_s))
        elif self._crew.heard(line, now_s):
            self._take_message(line.task, message)

    def _take_message(self, task: int, message: messages.Message) -> None:
        match message:
            case {"partitions": rows}:
                own = [r for r in rows if self._holdings.owner(_where(r)) == task]
                self._board.update(own, time.monotonic())
            case {"released": _}:
                self._orders_at = 0.0
                for one in messages.released_in(message):
                    if self._holdings.released(task, one):
                        logger.info(
                            "released task=%d %s position=%d", task, one.where, one.position
                        )

    def _lose(self, loss: Loss | None) -> None:
        """A task is gone: what it had waits until it is known where it got to."""
        if loss is None:
            return
        state = self._state
        state.restart(f"Task {loss.number} ended unexpectedly and is started again: {loss.why}")
        logger.warning("task lost flow=%s task=%d: %s", state.flow.name, loss.number, loss.why)
        lost = self._holdings.lost(loss.number)
        self._crew.members[loss.number].is_lost = bool(lost)
        for where in lost:
            self._board.mark_open(where, PartitionState.RETRYING, state.message)
        for where in self._board.closed(lost):  # it would only fail again
            state.given_up.add(where)
            self._holdings.forget(where)

    # --- what is asked of the clusters ------------------------------------------------------------

    def _ask(self, now_s: float) -> None:
        """Ask one thing at a time: where lost partitions are first, then what has changed."""
        if self._asking.is_busy:
            return
        lost = [member.number for member in self._crew.members if member.is_lost]
        if lost and now_s >= self._recover_at:
            self._recover(lost[0])
        elif now_s >= self._refresh_at:
            self._refresh_at = now_s + self._rhythm.refresh_s
            known = (dict(self._state.topic_ids), self._state.reset_topics)
            self._asking.ask(_SURVEY, lambda: self._clusters.survey(*known))

    def _recover(self, task: int) -> None:
        lost = self._holdings.lost_by(task)
        starts = [self._holdings.start_of(where) for where in lost]
        told = self._board.positions(lost)
        self._asking.ask(f"{_RECOVERY}{task}", lambda: self._clusters.recover(task, starts, told))

    def _take_answer(self) -> None:
        answer = self._asking.take()
        if answer is None:
            return
        self._orders_at = 0.0
        if isinstance(answer.error, PositionsBehind):
            self._problem = str(answer.error)
        elif isinstance(answer.error, ClusterFault):
            # The tasks retry by themselves; only what a person sees changes here.
            self._state.message = f"{answer.error} {answer.error.hint}"
            self._recover_at = time.monotonic() + RECOVER_AGAIN_S
        elif answer.error is not None:
            raise answer.error
        elif isinstance(answer.value, Survey):
            self._see(answer.value)
        else:
            self._take_recovery(answer)

    def _take_recovery(self, answer: Answer) -> None:
        task = int(answer.name.removeprefix(_RECOVERY))
        self._holdings.recovered(cast("list[PartitionStart]", answer.value))
        self._crew.members[task].is_lost = bool(self._holdings.lost_by(task))

    def _see(self, survey: Survey) -> None:
        """Follow what has changed on the source or the target."""
        state = self._state
        found = compare(self._holdings.partitions, state.topic_ids, survey.plan, seen_ids(survey))
        if found.again:
            state.anew = {start.topic for start in found.again}
            self._problem = f"Topic {found.again[0].topic} was created again and is copied anew."
            return  # that it has another id is to be found out once more, with nobody copying
        state.see(survey)
        if state.ends is not None:
            state.end_here(survey)
        for start in found.new:
            if start.where not in state.given_up:
                self._holdings.want(start)
                self._board.take_on(asdict(progress_of(start)))
        for row in found.ended:
            self._holdings.forget(_where(asdict(row)))
        for row in [*found.ended, *found.refused]:
            self._board.take_on(asdict(row))
        for where in found.unknown:
            self._holdings.forget(where)
            self._board.forget(where)

    # --- what is asked of the tasks ---------------------------------------------------------------

    def _obey_control(self) -> None:
        """Do what people ask for, and hold back what is to wait."""
        state = self._state
        state.control.look()
        control = state.control.control
        if state.take_settings():
            self._take_settings()
        if control.restart_token != self._restart_token:
            self._restart_token = control.restart_token
            self._restart(control.restart)
        partitions = self._holdings.partitions
        held = self._holding_back.reasons(
            partitions, self._board.lags(), control, datetime.now(UTC)
        )
        for where in partitions:
            was_resting = self._holdings.is_resting(where)
            self._holdings.hold_back(where, hold=where in held)
            if self._holdings.is_resting(where):
                self._board.mark(where, PartitionState.PAUSED, held[where])
            elif was_resting:
                self._board.mark(where, PartitionState.STARTING)

    def _take_settings(self) -> None:
        """Work with changed settings: the next survey, which is due now, selects and makes topics by them."""
        state = self._state
        logger.info("settings changed flow=%s %s", state.flow.name, sorted(state.taken))
        self._clusters.flow = state.flow
        state.following.follow_soon()
        state.on_settings()
        self._refresh_at = 0.0

    def _restart(self, names: frozenset[str]) -> None:
        """Let partitions go and take them on again, also those that failed; ask what is new about them."""
        survey = self._state.survey
        assert survey is not None  # noqa: S101  the beginning comes first
        for where in self._holdings.partitions:
            if is_named(where, names):
                self._holdings.restart(where)
        for start in survey.plan.starts:
            if start.where in self._state.given_up and is_named(start.where, names):
                self._state.given_up.discard(start.where)
                self._holdings.want(start)
        self._refresh_at = 0.0

    def _balance(self, rates: Rates, now_s: float) -> None:
        due = self._rhythm.balance.due(self._holdings.owners(), rates, self._crew.ready(), now_s)
        for where, task in due.items():
            logger.info("move %s to task=%d", where, task)
            self._state.moves += 1
            self._holdings.move(where, task)

    def _give_orders(self, rates: Rates, now_s: float) -> None:
        """Have enough tasks, tell them what they are for, and which partitions to let go and take on."""
        flow = self._state.flow
        self._crew.grow(min(flow.tasks, self._holdings.wanted), now_s)
        for member in self._crew.members:
            if member.line is not None and not member.is_greeted and not member.is_lost:
                member.line.send(messages.assignment(flow))
                member.is_greeted = True
        ready = self._crew.ready()
        orders = self._holdings.orders(ready, self._crew.expected(now_s), rates)
        self._tune(ready)  # shares of the limit depend on who has partitions now
        self._tell(orders)

    def _tune(self, ready: list[int]) -> None:
        limit = self._state.limit_bytes_per_s()
        busy = max(len(set(self._holdings.owners().values())), 1)
        priorities = self._state.control.control.priorities
        tuning = Tuning(None if limit is None else limit / busy, dict(priorities))
        for number in ready:
            member = self._crew.members[number]
            if member.tuning != tuning:
                member.tuning = tuning
                _send(member, messages.tuning(tuning))

    def _tell(self, orders: Orders) -> None:
        for number, partitions in orders.remove.items():
            _send(self._crew.members[number], messages.remove(partitions))
        for number, starts in orders.add.items():
            for start in starts:
                self._board.take_on(asdict(progress_of(start)))
            _send(self._crew.members[number], messages.add(starts))

    # --- the rest ---------------------------------------------------------------------------------

    def _stop(self) -> None:
        """Let every task flush and commit, and hear how far they got."""
        self._channel.stop_tasks()
        for member in self._crew.members:
            if member.job is not None and member.line is None:
                member.job.cancel()  # it waits for a free core, or is about to begin
        give_up_at = time.monotonic() + STOP_S
        while self._crew.is_at_work() and time.monotonic() < give_up_at:
            self._hear_reports(LOOK_S)
            self._show(time.monotonic())
        self._hear_reports(0.0)
        for member in self._crew.members:
            if member.job is not None and member.job.is_running():
                member.job.cancel()

    def _hear_reports(self, wait_s: float) -> None:
        """Take only reports: that tasks leave now is no loss."""
        try:
            while True:
                event = self._events.get(timeout=wait_s) if wait_s else self._events.get_nowait()
                if event.message and self._crew.heard(event.line, time.monotonic()):
                    self._take_message(event.line.task, event.message)
        except queue.Empty:
            return

    def _show(self, now_s: float) -> None:
        if now_s < self._progress_at:
            return
        self._progress_at = now_s + PROGRESS_S
        tasks = [{"task": m.number, "state": m.state} for m in self._crew.members]
        self._state.show(tasks, self._holdings.owners())


def _where(row: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def _send(member: Member, message: messages.Message) -> None:
    if member.line is not None:  # if it is gone, that is heard as an event
        member.line.send(message)
