"""Actor (a): a fenced standby broker, promoted into every ISR of its partitions, and demoted again.

`act` writes the promotion into the store, where the loops find it; they send the heartbeats. Measured on
Kafka 4.3.1: in the ISR 0.1 to 0.3 s after the first heartbeat, out of it 0.01 to 0.04 s after it was fenced.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobs.availability.acting.cluster_connections import (
    ClusterConnections,
    Stopwatch,
    settled,
    verify,
    wait_for,
)
from jobs.availability.acting.plans import Outcome, Plan, PlannedRequest, Verdict
from jobs.availability.acting.standby.decisions import LoopTiming
from jobs.availability.acting.standby.promotions import (
    HeldPromotion,
    Phase,
    PromotionStore,
    StoreState,
)
from jobs.availability.acting.standby.standbys import Standby, read_standbys
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.cluster.admin.partitions import describe_partitions
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.read_only import is_read_only, refuse_when_read_only

# A tick of the loop, the heartbeat, the leaders' wish for the larger ISR; measured 0.4 to 1.3 s in all.
EXPECTED_MS = 1_000
_RESTART_MS = 13_000
_MOST_LAG_RECORDS = 1_000
_TIMING = LoopTiming()
_NO_LOOP = "No standby loop runs: start `manage.py promote`, better two on different machines."


def _now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(frozen=True, slots=True)
class FencedStandby:
    """Promotes one standby broker; see `Actor`.

    `topics` are those that need it (empty: all); it is promoted for all its partitions anyway.
    `within_s`: how long `act` and `revert` wait for their effect.
    """

    connections: ClusterConnections
    broker_id: int
    store: PromotionStore
    asked_by: str = ""
    why: str = ""
    topics: tuple[str, ...] = ()
    within_s: float = 20.0
    now_ms: Callable[[], int] = _now_ms

    def plan(self) -> Plan:
        """See `Actor.plan`."""
        brokers = asyncio.run(self._brokers())
        return self.plan_from(brokers.get(self.broker_id), self.store.read())

    def act(self) -> Outcome:
        """See `Actor.act`; `undo` names the promotion. Raises `StoreAway` when the store does not answer."""
        return self._act()

    def verify(self) -> Verdict:
        """See `Actor.verify`."""
        return verify(self.connections, lambda cluster: self._look(cluster, is_in=True))

    def revert(self, undo: dict[str, Any]) -> Outcome:
        """See `Actor.revert`; demotes the broker and waits until no loop speaks for it any more."""
        return self._revert(str(undo.get("promotion_id", "")))

    @property
    def _subject(self) -> str:
        return f"broker {self.broker_id}"

    async def _brokers(self) -> dict[int, Standby]:
        async with (
            self.connections.cluster() as cluster,
            self.connections.leader(cluster) as controllers,
        ):
            return await read_standbys(cluster, controllers)

    def plan_from(self, broker: Standby | None, state: StoreState) -> Plan:
        """Return the plan that follows from what is known; pure."""
        evidence = broker.to_mapping() if broker is not None else {}
        return Plan(
            actor=ActorKind.FENCED_STANDBY,
            cluster=self.connections.alias,
            subject=self._subject,
            requests=self._requests(broker),
            expected=f"Broker {self.broker_id} joins the ISR of "
            f"{broker.partitions - broker.in_isr if broker else 0} partitions.",
            expected_ms=EXPECTED_MS,
            warnings=tuple(_warnings(broker)),
            refusals=tuple(self._refusals(broker, state)),
            revert=f"# revert this action: a standby loop then fences broker {self.broker_id}",
            evidence=evidence,
        )

    def _requests(self, broker: Standby | None) -> tuple[PlannedRequest, ...]:
        epoch = broker.broker_epoch if broker is not None else None
        return (
            PlannedRequest(
                request="BrokerHeartbeat",
                to="the active controller",
                sentence=f"Speak for broker {self.broker_id} every {_TIMING.beat_ms / 1000:g} s, "
                "from every standby loop, until it is demoted.",
                fields={"BrokerId": self.broker_id, "BrokerEpoch": epoch, "WantFence": False},
                command=f"# without crosslog: take broker.heartbeat.interval.ms out of the properties of "
                f"broker {self.broker_id} and restart it (about {_RESTART_MS // 1000} s)",
            ),
        )

    def _refusals(self, broker: Standby | None, state: StoreState) -> list[str]:
        """Return why it must not be done now."""
        if broker is None:
            return [f"There is no broker {self.broker_id} in {self.connections.alias}."]
        me = f"Broker {self.broker_id}"
        reasons = (
            (is_read_only(), "crosslog is read-only."),
            (state.is_stopped, "The stop switch for promotions is on."),
            (state.of_broker(self.broker_id) is not None, f"{me} is promoted, or being demoted."),
            (not self._is_looped(state), _NO_LOOP),
            (not broker.is_alive, f"{me} does not run, or does not read the metadata log."),
            (not broker.answers, f"{me} does not answer on its client listener."),
        )
        found = [sentence for is_so, sentence in reasons if is_so]
        if not broker.is_set_up:
            found.append(
                f"{me} is not set up as a standby (broker.heartbeat.interval.ms is "
                f"{broker.heartbeat_interval_ms}): it speaks for itself."
            )
        lag = broker.most_lag_records
        if lag is not None and lag > _MOST_LAG_RECORDS:
            found.append(f"{me} is {lag} records behind, more than {_MOST_LAG_RECORDS}.")
        return found

    def _is_looped(self, state: StoreState) -> bool:
        """Say whether a loop left a sign lately."""
        now_ms = self.now_ms()
        return any(now_ms - one.at_ms <= _TIMING.sign_ms for one in state.signs)

    def _act(self) -> Outcome:
        refuse_when_read_only(self.connections.alias, f"Promoting {self._subject}")
        plan = self.plan()
        if not plan.is_allowed:
            return self._refused(" ".join(plan.refusals))
        now_ms = self.now_ms()
        promotion = HeldPromotion(
            promotion_id=uuid.uuid4().hex,
            broker_id=self.broker_id,
            topics=self.topics,
            asked_by=self.asked_by,
            why=self.why,
            begun_at_ms=now_ms,
            changed_at_ms=now_ms,
        )
        watch = Stopwatch()
        if not self.store.begin(promotion):
            return self._refused("Somebody else was quicker, or the stop switch was turned on.")
        verdict = asyncio.run(self._wait(is_in=True))
        return Outcome(
            actor=ActorKind.FENCED_STANDBY,
            subject=self._subject,
            is_done=verdict.is_there,
            sentence=verdict.sentence,
            sent=(f"The promotion of {self._subject} was written to the store.",),
            took_ms=watch.ms if verdict.is_there else None,
            undo={"promotion_id": promotion.promotion_id, "broker_id": self.broker_id},
        )

    def _refused(self, why: str) -> Outcome:
        return Outcome(ActorKind.FENCED_STANDBY, self._subject, is_done=False, sentence=why)

    def _revert(self, promotion_id: str) -> Outcome:
        refuse_when_read_only(self.connections.alias, f"Demoting {self._subject}")
        watch = Stopwatch()
        sent = self._ask_for_demotion(promotion_id)
        verdict = asyncio.run(self._wait(is_in=False))
        took_ms = watch.ms
        is_over = self._wait_for_end(promotion_id)
        if verdict.is_there and not is_over:
            sentence = f"{verdict.sentence} It is fenced again until all loops have seen that."
        else:
            sentence = verdict.sentence
        return Outcome(
            ActorKind.FENCED_STANDBY,
            self._subject,
            is_done=verdict.is_there,
            sentence=sentence,
            sent=sent,
            took_ms=took_ms if verdict.is_there else None,
        )

    def _ask_for_demotion(self, promotion_id: str) -> tuple[str, ...]:
        for one in self.store.read().promotions:
            is_it = one.promotion_id == promotion_id or not promotion_id
            if one.broker_id == self.broker_id and is_it and one.phase is Phase.HELD:
                self.store.move(
                    one.promotion_id, one.generation, Phase.DEMOTING, self.now_ms(), why=self.why
                )
                return (f"The demotion of {self._subject} was written to the store.",)
        return ()

    def _wait_for_end(self, promotion_id: str) -> bool:
        """Wait until the promotion is over; a broker that is promoted once more is none of our business."""

        async def over() -> bool | None:
            # The console's database cannot be asked in the thread of an event loop.
            state = await asyncio.to_thread(self.store.read)
            known = state.of_broker(self.broker_id)
            is_over = known is None or (promotion_id and known.promotion_id != promotion_id)
            return True if is_over else None

        return bool(asyncio.run(wait_for(over, self.within_s, 0.2)))

    async def _wait(self, *, is_in: bool) -> Verdict:
        async with self.connections.cluster() as cluster:
            return await settled(lambda: self._look(cluster, is_in=is_in), self.within_s)

    async def _look(self, cluster: RawCluster, *, is_in: bool) -> Verdict:
        known = await describe_partitions(cluster)
        mine = [one for one in known.values() if self.broker_id in one.replicas]
        inside = [one for one in mine if self.broker_id in one.isr]
        missing = [str(one.where) for one in mine if one not in inside]
        evidence = {"partitions": len(mine), "in_isr": len(inside), "not_in_isr": missing[:20]}
        sentence = (
            f"Broker {self.broker_id} is in the ISR of {len(inside)} of its {len(mine)} partitions."
        )
        is_there = not missing if is_in else not inside
        return Verdict(is_there, sentence, evidence)


def _warnings(broker: Standby | None) -> list[str]:
    found = [
        "A broker is promoted as a whole: it joins the ISR of all its partitions.",
        "It stays only while a standby loop runs: if all of them end, it drops out within 9 s.",
        "From the moment it is in the ISR, acks=all waits for it, too.",
    ]
    if broker is not None and broker.partitions and broker.most_lag_records is None:
        found.append("How far it is behind is not known: no leader of its partitions answers.")
    return found
