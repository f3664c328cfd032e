"""What `crosslog standby` prints: plans, outcomes, the status; as text or as one JSON document."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.fenced_standby import live_loops
from jobs.availability.acting.plans import Actor, Outcome, Plan
from jobs.availability.acting.standby.decisions import LoopTiming
from jobs.availability.acting.standby.promotions import HeldPromotion, PromotionStore, StoreState
from jobs.availability.acting.standby.standbys import Standby, StandbySnapshot, read_standbys
from jobs.cluster.errors import ClusterFault
from jobs.json_text import fault_of
from jobs.visible import print_lines

OK, NOT_DONE, BAD_INPUT = 0, 1, 2


class ActionPrinter:
    """Runs an actor as the options say, and prints what came of it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._as_json: bool = arguments.json
        self._is_real: bool = getattr(arguments, "yes", False)
        self._undo: dict[str, Any] | None = getattr(arguments, "undo", None)

    def run(self, actor: Actor, afterwards: Callable[[Outcome], Outcome] | None = None) -> int:
        """Make the dry run, or do it; `afterwards` goes on with what was done. Returns the exit code."""
        if self._undo is not None:
            return self._take_back(actor, self._undo)
        if not self._is_real:
            plan = actor.plan()
            self._print({"plan": plan.to_mapping()}, plan_lines(plan))
            return OK if plan.is_allowed else NOT_DONE
        outcome = actor.act()
        if afterwards is None or not outcome.undo:
            return self.outcome(outcome)
        if not self._as_json:
            print_lines(outcome_lines(outcome))
            sys.stdout.flush()
        return self.outcome(afterwards(outcome))

    def _take_back(self, actor: Actor, undo: dict[str, Any]) -> int:
        if not self._is_real:
            return self.say("With --yes it is taken back.", {"undo": undo})
        try:
            return self.outcome(actor.revert(undo))
        except (KeyError, TypeError, ValueError) as error:
            return self.say_no(f"This is not what was printed as `undo`: {fault_of(error)}.")

    def outcome(self, outcome: Outcome) -> int:
        """Print what was done; returns the exit code."""
        self._print({"outcome": outcome.to_mapping()}, outcome_lines(outcome))
        return OK if outcome.is_done else NOT_DONE

    def say(self, sentence: str, more: dict[str, Any]) -> int:
        """Print a sentence about something that is in order."""
        self._print({"sentence": sentence, **more}, iter([sentence]))
        return OK

    def say_no(self, sentence: str) -> int:
        """Print why nothing is done."""
        self._print({"refused": sentence}, iter([f"refused: {sentence}"]))
        return NOT_DONE

    def fault(self, fault: ClusterFault) -> int:
        """Print what the cluster said."""
        if self._as_json:
            told = {"code": fault.code, "message": str(fault), "hint": fault.hint}
            sys.stdout.write(json.dumps({"fault": told}) + "\n")
        sys.stderr.write(f"{fault}\n{fault.hint}\n")
        return NOT_DONE

    def _print(self, document: dict[str, Any], lines: Iterator[str]) -> None:
        print_lines([json.dumps(document)] if self._as_json else lines)


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield a dry run for a person."""
    yield f"dry run: {plan.subject} of {plan.cluster}"
    for number, one in enumerate(plan.requests, 1):
        yield f"{number}. {one.sentence}"
        yield f"   {one.request} to {one.to}"
        if one.command:
            yield f"   $ {one.command}" if ".sh" in one.command else f"   {one.command}"
    about = "" if plan.expected_ms is None else f" (about {plan.expected_ms / 1000:.1f} s)"
    yield f"expected: {plan.expected}{about}"
    yield from (f"! {warning}" for warning in plan.warnings)
    if plan.revert:
        yield f"back: {plan.revert}"
    yield from (f"refused: {reason}" for reason in plan.refusals)
    if plan.is_allowed:
        yield "With --yes it is done."


def outcome_lines(outcome: Outcome) -> Iterator[str]:
    """Yield what was done for a person."""
    yield from outcome.sent
    took = "" if outcome.took_ms is None else f" after {outcome.took_ms / 1000:.2f} s"
    yield f"{'done' if outcome.is_done else 'not done'}{took}: {outcome.sentence}"
    if outcome.undo:
        yield f"undo: {json.dumps(outcome.undo)}"


def promotion_mapping(promotion: HeldPromotion) -> dict[str, Any]:
    """Return a promotion as JSON values."""
    return asdict(promotion)


def show_status(connections: ClusterConnections, store: PromotionStore, *, as_json: bool) -> int:
    """Print standbys, promotions and loops; returns 1 when something is wrong with them."""
    snapshot = asyncio.run(_read(connections))
    state = store.read()
    now_ms = int(time.time() * 1000)
    problems = [*snapshot.problems, *_problems(snapshot, state, now_ms)]
    if as_json:
        document = {
            "standbys": [one.to_mapping() for one in snapshot.standbys],
            "promotions": [promotion_mapping(one) for one in state.promotions],
            "loops": [asdict(one) for one in state.signs],
            "lease": None if state.lease is None else asdict(state.lease),
            "is_stopped": state.is_stopped,
            "problems": problems,
        }
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        print_lines(_status_lines(snapshot, state, problems, now_ms))
    return NOT_DONE if problems else OK


async def _read(connections: ClusterConnections) -> StandbySnapshot:
    async with connections.cluster() as cluster, connections.leader(cluster) as controllers:
        return await read_standbys(cluster, controllers)


def _problems(snapshot: StandbySnapshot, state: StoreState, now_ms: int) -> Iterator[str]:
    alive = live_loops(state, now_ms, LoopTiming())
    if state.promotions and not alive:
        yield "Brokers are promoted, but no standby loop runs: they drop out within seconds."
    elif state.promotions and len(alive) == 1:
        yield "One standby loop runs: if it ends, promoted brokers drop out within 9 s. Start another."
    for one in state.promotions:
        broker = snapshot.brokers.get(one.broker_id)
        if broker is not None and broker.in_isr < broker.partitions and one.phase == "held":
            yield (
                f"Broker {one.broker_id} is promoted, and in the ISR of {broker.in_isr} of its "
                f"{broker.partitions} partitions."
            )
    yield from (f"Loop {one.loop_id}: {one.problem}" for one in state.signs if one.problem)


def _status_lines(
    snapshot: StandbySnapshot, state: StoreState, problems: list[str], now_ms: int
) -> Iterator[str]:
    if not snapshot.standbys:
        yield "No broker is set up as a standby (broker.heartbeat.interval.ms above the session timeout)."
    yield from (_standby_line(one) for one in snapshot.standbys)
    for one in state.promotions:
        ago_s = max(0, now_ms - one.begun_at_ms) // 1000
        yield f"promotion of broker {one.broker_id}: {one.phase}, for {ago_s} s, by {one.asked_by or '-'}"
    for sign in state.signs:
        role = " (decides)" if state.lease and state.lease.holder == sign.loop_id else ""
        yield f"loop {sign.loop_id}{role}: seen {max(0, now_ms - sign.at_ms) / 1000:.1f} s ago"
    if state.is_stopped:
        yield "the stop switch is on: nothing is promoted"
    yield from (f"! {problem}" for problem in problems)


def _standby_line(one: Standby) -> str:
    state = "fenced" if one.is_fenced else "unfenced"
    life = "runs" if one.is_alive else "down"
    lag = (
        "lag not known"
        if one.most_lag_records is None
        else f"{one.most_lag_records} records behind"
    )
    where = f"in the ISR of {one.in_isr} of {one.partitions} partitions"
    return f"broker {one.broker_id} ({one.rack or 'no rack'}): {state}, {life}, {where}, {lag}"
