"""`crosslog standby run`: a loop in the foreground; and what waits for an ISR to take something back."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.plans import Outcome
from jobs.availability.acting.relaxed_min_isr import RelaxMinIsr
from jobs.availability.acting.standby.loop import StandbyLoop
from jobs.availability.acting.standby.policy_decider import ActingRules, PolicyDecider
from jobs.availability.acting.standby.promotions import PromotionEvent
from jobs.availability.placements.placement import PromotionPolicy
from jobs.availability.promotion.advice import Mode, TopicPolicy
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.read_only import refuse_when_read_only
from jobs.commands.standby.output import OK

_LOOK_S = 1.0
_Adds = Callable[..., argparse.ArgumentParser]


def add_parser(orders: Any, add: _Adds) -> None:
    """Add the orders that run on or turn a switch."""
    running = add(
        orders,
        "run",
        run,
        "keep promoted standby brokers in the ISR until Ctrl-C; run two of them on different machines",
        acts=False,
    )
    running.add_argument("--id", metavar="NAME", help="the loop's name (host and process)")
    text = "promote by itself when this topic wants it (again: more topics); without: only what is asked for"
    running.add_argument("--act-for", metavar="TOPIC", action="append", default=[], help=text)
    running.add_argument(
        "--policy",
        choices=[one.value for one in PromotionPolicy],
        default=PromotionPolicy.UNDER_MIN_ISR.value,
        help="when, with --act-for (under-min-isr)",
    )
    text = "a standby broker that may be promoted by itself; needed with --act-for"
    running.add_argument("--broker", metavar="N", type=int, action="append", default=[], help=text)
    text = "demote when the sync replicas were back for so long (60)"
    running.add_argument("--hold-s", metavar="S", type=int, default=60, help=text)
    text = "do not promote the same broker again for so long after a demotion (60)"
    running.add_argument("--cooldown-s", metavar="S", type=int, default=60, help=text)
    running.add_argument("--for-s", metavar="S", type=float, help="end after so many seconds")
    stopping = "turn the stop switch on: nothing is promoted, what is promoted stays"
    add(orders, "stop", stop, stopping, acts=False)
    add(orders, "resume", resume, "turn the stop switch off", acts=False)


def run(arguments: argparse.Namespace) -> int:
    """Run a loop until SIGTERM or Ctrl-C; its promotions stay in the store for the others."""
    from jobs.commands.standby.command import connections_of, store_of

    connections = connections_of(arguments)
    refuse_when_read_only(connections.alias, "Sending heartbeats for standby brokers")
    stop_event = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop_event.set())
    if arguments.for_s is not None:
        timer = threading.Timer(arguments.for_s, stop_event.set)
        timer.daemon = True
        timer.start()
    name = arguments.id or f"{socket.gethostname()}-{os.getpid()}"
    StandbyLoop(
        connections,
        store_of(arguments),
        loop_id=name,
        decider=_decider(connections, arguments),
        heard=_teller(as_json=arguments.json),
    ).run(stop_event)
    return OK


def _decider(
    connections: ClusterConnections, arguments: argparse.Namespace
) -> PolicyDecider | None:
    """Return what decides by itself; None: only what people ask for is done. Raises `InvalidFields`."""
    if not arguments.act_for:
        return None
    if not arguments.broker:
        raise InvalidFields({"--broker": "Name the standby brokers that may be promoted."})
    if arguments.hold_s < 0 or arguments.cooldown_s < 0:
        raise InvalidFields({"--hold-s": "Seconds are not negative."})
    rules = ActingRules(
        topics=frozenset(arguments.act_for),
        brokers=frozenset(arguments.broker),
        policy=TopicPolicy(
            policy=PromotionPolicy(arguments.policy),
            mode=Mode.ACT,
            hold_ms=arguments.hold_s * 1000,
        ),
        cooldown_ms=arguments.cooldown_s * 1000,
    )
    return PolicyDecider(connections, rules, lambda: int(time.time() * 1000))


def stop(arguments: argparse.Namespace) -> int:
    """Turn the stop switch on."""
    return _turn(arguments, is_stopped=True)


def resume(arguments: argparse.Namespace) -> int:
    """Turn the stop switch off."""
    return _turn(arguments, is_stopped=False)


def puts_back(
    actor: RelaxMinIsr, arguments: argparse.Namespace
) -> Callable[[Outcome], Outcome] | None:
    """Return what puts min.insync.replicas back when every ISR was well for a while; None: nobody does."""
    if arguments.leave:
        return None

    def wait(outcome: Outcome) -> Outcome:
        since: float | None = None
        try:
            while since is None or time.monotonic() - since < arguments.hold_s:
                is_well = _is_recovered(actor, outcome)
                since = (since or time.monotonic()) if is_well else None
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            return replace(outcome, sentence=f"{outcome.sentence} It was left as it is.")
        return actor.revert(outcome.undo)

    return wait


def _is_recovered(actor: RelaxMinIsr, outcome: Outcome) -> bool:
    """Say whether every ISR is well; a cluster that does not answer now is not."""
    try:
        return actor.is_recovered(outcome.undo)
    except ClusterFault as fault:
        if not fault.retriable:
            raise
        return False


def _turn(arguments: argparse.Namespace, *, is_stopped: bool) -> int:
    from jobs.commands.standby.command import store_of

    store_of(arguments).stop(is_stopped=is_stopped)
    text = f"the stop switch is {'on' if is_stopped else 'off'}"
    sys.stdout.write((json.dumps({"is_stopped": is_stopped}) if arguments.json else text) + "\n")
    return OK


def _teller(*, as_json: bool) -> Callable[[PromotionEvent], None]:
    def tell(event: PromotionEvent) -> None:
        if as_json:
            line = json.dumps(asdict(event))
        else:
            line = (
                f"broker {event.broker_id}: {event.kind.replace('_', ' ')} {event.detail}".rstrip()
            )
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    return tell
