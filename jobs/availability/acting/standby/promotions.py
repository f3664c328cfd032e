"""Promotions of fenced standby brokers as they are kept, and where: the contract of all stores.

A promoted standby broker stays in the ISR only while somebody sends heartbeats for it. Any number of loops
may do that for the same promotion; one of them, the holder of the lease, decides. What they share is a
store: the console's database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class Phase(StrEnum):
    """The life of a promotion.

    HELD: heartbeats are sent. DEMOTING: the broker is fenced again and again, until every loop has seen
    the demotion. ENDED: no loop sends anything.
    """

    HELD = "held"
    DEMOTING = "demoting"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class HeldPromotion:
    """A standby broker that is promoted, or is being promoted.

    `generation` begins at 1 and grows by one with every change, so that loops can say which one they have
    seen. `topics` are those that need it; empty: the whole broker. A fenced standby is
    promoted as a whole anyway. `asked_by` is a person or "policy". Times are ms since 1970. `ended_at_ms`
    is None until the phase is ENDED.
    """

    promotion_id: str
    broker_id: int
    phase: Phase = Phase.HELD
    generation: int = 1
    topics: tuple[str, ...] = ()
    asked_by: str = ""
    why: str = ""
    begun_at_ms: int = 0
    changed_at_ms: int = 0
    ended_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to decide until a moment (ms since 1970). `token` grows when another holder takes over."""

    holder: str
    token: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class LoopHeartbeat:
    """What a loop says of itself in every round: it is alive, and what it has seen of each promotion.

    `problem` is empty without a problem, else one sentence for users.
    """

    loop_id: str
    at_ms: int
    seen: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PromotionEvent:
    """Something that a loop sent or saw, for the audit. `kind` is a word: see `EventKind`."""

    at_ms: int
    loop_id: str
    broker_id: int
    kind: str
    detail: str = ""
    promotion_id: str = ""


class EventKind(StrEnum):
    """The words of events."""

    FIRST_HEARTBEAT = "first_heartbeat"
    UNFENCED = "unfenced"
    FENCED = "fenced"
    HEARTBEAT_FAILED = "heartbeat_failed"
    NOT_ALIVE = "not_alive"
    FENCE_SENT = "fence_sent"
    ENDED = "ended"
    GONE_ON_FROM_MEMORY = "gone_on_from_memory"
    DROPPED_FROM_MEMORY = "dropped_from_memory"


@dataclass(frozen=True, slots=True)
class StoreState:
    """Everything that a loop needs of a store, read at once.

    `promotions` are those that are not ENDED, at most one per broker. `signs` are one per loop, also of
    loops that died. `is_stopped` is the stop switch: no promotion begins while it is on, those that are
    held are kept.
    """

    promotions: tuple[HeldPromotion, ...] = ()
    signs: tuple[LoopHeartbeat, ...] = ()
    lease: Lease | None = None
    is_stopped: bool = False

    def of_broker(self, broker_id: int) -> HeldPromotion | None:
        """Return the promotion of a broker; None: it has none."""
        return next((one for one in self.promotions if one.broker_id == broker_id), None)


class StoreAway(Exception):
    """The store does not answer; loops continue from memory for a while."""


class PromotionStore(Protocol):
    """Where the promotions of one cluster are kept; all methods are atomic and raise `StoreAway`.

    The tests of `tests/jobs/availability/acting/store_contract.py` hold for every store.
    """

    def read(self) -> StoreState:
        """Return what is there now."""

    def take_lease(self, holder: str, now_ms: int, lasts_ms: int) -> Lease | None:
        """Take or renew the lease; None while somebody else has it.

        A lease that ran out may be taken by anybody, with a higher token; its holder renews with the same
        one.
        """

    def release_lease(self, lease: Lease) -> None:
        """Give a lease back; does nothing when somebody else has it by now."""

    def begin(self, promotion: HeldPromotion, lease: Lease | None = None) -> bool:
        """Keep a new promotion; False, and nothing is kept, when it may not begin.

        It may not while its broker has one that is not ENDED, while the stop switch is on, or when `lease`
        is not the one that holds now (same holder and token). A person's order comes without a lease.
        """

    def move(
        self,
        promotion_id: str,
        generation: int,
        phase: Phase,
        now_ms: int,
        *,
        why: str = "",
        lease: Lease | None = None,
    ) -> bool:
        """Move a promotion on (HELD -> DEMOTING -> ENDED); False, and nothing changes, when it was gone.

        It must have this `generation`, which then grows by one. `why` replaces the reason unless it is empty.
        With a `lease`, it must be the one that holds now. A step backwards raises ValueError.
        """

    def sign(self, sign: LoopHeartbeat) -> None:
        """Keep the newest sign of a loop; signs older than an hour may be forgotten."""

    def record(self, event: PromotionEvent) -> None:
        """Keep an event for the audit."""


def may_move(before: Phase, after: Phase) -> bool:
    """Say whether a promotion may go from one phase to another; stores raise ValueError where not."""
    order = (Phase.HELD, Phase.DEMOTING, Phase.ENDED)
    return order.index(after) > order.index(before)
