"""The next steps of a standby loop. Pure, the clock is passed in.

The rules that keep two loops from conflicting:
1. Heartbeats for one promotion may come from any number of loops: they are idempotent.
2. Only the holder of the lease fences, and ends a demotion.
3. A loop that cannot read the store continues from memory, but only keeps unfenced brokers: when it sees
   the broker fenced, it stops until it can read the store again.
4. A demotion ends when the broker has stayed fenced for longer than a heartbeat can be late, and every loop
   that shows signs of life has seen it.
5. No loop sends heartbeats for a broker that does not read the metadata log: a dead one would seem alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.availability.acting.standby.promotions import HeldPromotion, Phase, StoreState


@dataclass(frozen=True, slots=True)
class LoopTiming:
    """The waits of a loop.

    `tick_ms`: how often the store is read. `beat_ms`: between two heartbeats of one loop, far below the
    broker session of 9 s. `lease_ms`: how long a lease lasts. `memory_ms`: for how long a loop continues
    without the store. `late_ms`: how late a heartbeat of another loop may come. `sign_ms`: a loop without a
    sign for so long is not waited for. `store_ms`: a store that needs longer is away for this tick.
    """

    tick_ms: int = 250
    beat_ms: int = 2_000
    lease_ms: int = 6_000
    memory_ms: int = 3_600_000
    late_ms: int = 6_000
    sign_ms: int = 10_000
    store_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A broker as the loop sees it now.

    `fencings` grows whenever somebody fences it in this epoch. `is_ready`: it has answered on its client
    listener since it registered; before that it is still starting, and must not be unfenced by others.
    """

    broker_id: int
    broker_epoch: int
    metadata_offset: int
    is_fenced: bool
    fencings: int = 0
    is_alive: bool = True
    is_ready: bool = True


@dataclass(frozen=True, slots=True)
class SentHeartbeat:
    """The last thing that this loop said for a broker and that was taken."""

    at_ms: int
    broker_epoch: int
    want_fence: bool
    fencings: int = 0


@dataclass(frozen=True, slots=True)
class FencingHeartbeat:
    """A heartbeat to be sent."""

    broker_id: int
    promotion_id: str
    broker_epoch: int
    metadata_offset: int
    want_fence: bool


@dataclass(frozen=True, slots=True)
class TickFacts:
    """Everything that one decision rests on.

    `state` is the last that was read of the store, `read_at_ms` when; `is_fresh`: in this very tick.
    `has_lease`: this loop decides. `dropped` are promotions that it let go of. `fenced_since_ms`: since
    when each broker has been seen fenced without a break.
    """

    now_ms: int
    loop_id: str
    state: StoreState
    read_at_ms: int
    is_fresh: bool
    has_lease: bool
    brokers: Mapping[int, BrokerView]
    said: Mapping[int, SentHeartbeat] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    fenced_since_ms: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TickPlan:
    """What follows: heartbeats to send, demotions that are over, promotions let go of with the reason why."""

    beats: tuple[FencingHeartbeat, ...] = ()
    ended: tuple[HeldPromotion, ...] = ()
    let_go: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[int, str] = field(default_factory=dict)


def plan_tick(facts: TickFacts, timing: LoopTiming) -> TickPlan:
    """Return what a loop does now."""
    beats: list[FencingHeartbeat] = []
    ended: list[HeldPromotion] = []
    let_go: dict[str, str] = {}
    silent: dict[int, str] = {}
    for promotion in facts.state.promotions:
        if promotion.promotion_id in facts.dropped and not facts.is_fresh:
            continue
        why = _why_let_go(promotion, facts, timing)
        if why:
            let_go[promotion.promotion_id] = why
        elif promotion.phase is Phase.HELD:
            _hold(promotion, facts, timing, beats, silent)
        elif promotion.phase is Phase.DEMOTING and facts.is_fresh and facts.has_lease:
            _demote(promotion, facts, timing, beats, ended)
    return TickPlan(tuple(beats), tuple(ended), let_go, silent)


def _why_let_go(promotion: HeldPromotion, facts: TickFacts, timing: LoopTiming) -> str:
    """Return why a loop without its store stops sending heartbeats; empty: it continues."""
    if facts.is_fresh or promotion.phase is not Phase.HELD:
        return ""
    if facts.now_ms - facts.read_at_ms > timing.memory_ms:
        return f"The store has been away for more than {timing.memory_ms // 60_000} minutes."
    broker = facts.brokers.get(promotion.broker_id)
    said = facts.said.get(promotion.broker_id)
    if broker is None or said is None or said.broker_epoch != broker.broker_epoch:
        return ""
    was_fenced = broker.fencings > said.fencings
    if was_fenced and facts.now_ms - said.at_ms <= timing.late_ms:
        return "Somebody fenced the broker while the store is away: it is being demoted."
    return ""


def _hold(
    promotion: HeldPromotion,
    facts: TickFacts,
    timing: LoopTiming,
    beats: list[FencingHeartbeat],
    silent: dict[int, str],
) -> None:
    broker = facts.brokers.get(promotion.broker_id)
    why = _why_silent(broker, is_fresh=facts.is_fresh)
    if broker is None or why:
        silent[promotion.broker_id] = why
        return
    said = facts.said.get(promotion.broker_id)
    is_new = said is None or said.want_fence or said.broker_epoch != broker.broker_epoch
    wait_ms = 0 if is_new else timing.tick_ms if broker.is_fenced else timing.beat_ms
    since_ms = facts.now_ms - said.at_ms if said is not None else wait_ms
    # Half a tick early rather than a whole tick late; and a clock that went back delays nothing.
    if since_ms < 0 or since_ms >= wait_ms - timing.tick_ms // 2:
        beats.append(_beat(promotion, broker, want_fence=False))


def _why_silent(broker: BrokerView | None, *, is_fresh: bool) -> str:
    if broker is None:
        return "It is not registered."
    if not broker.is_alive:
        return "It does not read the metadata log: it is down, or cut off from the controllers."
    if not broker.is_ready:
        return "It has not answered on its client listener since it started."
    if not is_fresh and broker.is_fenced:
        return "It is fenced, and the store cannot be asked whether it is still to be promoted."
    return ""


def _demote(
    promotion: HeldPromotion,
    facts: TickFacts,
    timing: LoopTiming,
    beats: list[FencingHeartbeat],
    ended: list[HeldPromotion],
) -> None:
    broker = facts.brokers.get(promotion.broker_id)
    if broker is not None and not broker.is_fenced:
        beats.append(_beat(promotion, broker, want_fence=True))
        return
    since = facts.fenced_since_ms.get(promotion.broker_id)
    is_quiet = broker is None or (
        since is not None and facts.now_ms - max(since, promotion.changed_at_ms) >= timing.late_ms
    )
    if is_quiet and _all_have_seen(promotion, facts, timing):
        ended.append(promotion)


def _all_have_seen(promotion: HeldPromotion, facts: TickFacts, timing: LoopTiming) -> bool:
    """Say whether every loop that shows signs of life knows of the demotion."""
    return all(
        sign.seen.get(promotion.promotion_id, 0) >= promotion.generation
        for sign in facts.state.signs
        if sign.loop_id != facts.loop_id and facts.now_ms - sign.at_ms <= timing.sign_ms
    )


def _beat(promotion: HeldPromotion, broker: BrokerView, *, want_fence: bool) -> FencingHeartbeat:
    return FencingHeartbeat(
        broker.broker_id,
        promotion.promotion_id,
        broker.broker_epoch,
        max(broker.metadata_offset, broker.broker_epoch),
        want_fence,
    )
