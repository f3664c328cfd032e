"""Drills: each promotion method is tried on a test topic, and measured.

A drill of a fenced standby broker promotes that broker for all partitions that it holds, for some
seconds: it has no other way. All other drills touch the drill's own topic only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jobs.availability.acting.cluster_connections import ClusterConnections, wait_for
from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.availability.acting.plans import Actor, Outcome
from jobs.availability.acting.reassign_to_spare import ReassignToSpare
from jobs.availability.acting.relaxed_min_isr import MIN_ISR, RelaxMinIsr
from jobs.availability.acting.standby.promotions import PromotionStore, StoreAway
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.cluster.admin.metadata_propagation import is_led_everywhere
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, delete_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut

_READY_S = 60.0
Heard = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DrillShape:
    """The topic of a drill: brokers of its one partition, the leader first, and whom it promotes.

    `why_not` says why there is no such drill on this cluster; empty: there is.
    """

    kind: ActorKind
    replicas: tuple[int, ...] = ()
    broker: int | None = None
    min_insync_replicas: int = 1
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class DrillMeasure:
    """How a drill went: times in ms from the first request to the effect, None where it was not seen."""

    kind: ActorKind
    is_good: bool
    sentence: str
    promote_ms: int | None = None
    revert_ms: int | None = None
    seen: Mapping[str, Any] = field(default_factory=dict)


def shape_of(
    kind: ActorKind,
    cluster: ClusterModel,
    standbys: Collection[int],
    broker: int | None = None,
) -> DrillShape:
    """Return the topic on which an actor can be tried, or why there is none. Pure.

    `standbys` are the brokers that are set up as such; `broker` is whom to promote, None: the first that
    fits.
    """
    normal = sorted(b for b, one in cluster.brokers.items() if one.is_alive and b not in standbys)
    if not normal:
        return DrillShape(kind, why_not="No live broker can lead the test topic.")
    if kind is ActorKind.HELD_BACK_REPLICA:
        why = (
            "A test topic has no replica to hold back: all are in sync at its creation, and those that are "
            "in sync are never throttled."
        )
        return DrillShape(kind, why_not=why)
    if kind is ActorKind.REASSIGN_TO_SPARE:
        return _spare(normal, broker)
    chosen = [b for b in sorted(standbys) if broker in {None, b}]
    if not chosen:
        return DrillShape(
            kind,
            why_not="This method needs a fenced standby broker; none is known in this cluster.",
        )
    if kind is ActorKind.RELAX_MIN_ISR:
        return DrillShape(kind, (normal[0], chosen[0]), chosen[0], min_insync_replicas=2)
    return DrillShape(kind, (*normal[:2], chosen[0]), chosen[0])


def drill(
    connection: Connection, store: PromotionStore, topic: str, shape: DrillShape, heard: Heard
) -> DrillMeasure:
    """Make the topic, promote, revert, and remove the topic again; `heard` gets a sentence for each step.

    What the cluster says no to is a measure that is not good. Raises only programming errors.
    """
    try:
        with _topic(connection, topic, shape, heard):
            return _measured(shape, _actor(connection, store, topic, shape), heard)
    except (ClusterFault, StoreAway) as fault:
        hint = getattr(fault, "hint", "")
        return DrillMeasure(shape.kind, is_good=False, sentence=f"{fault} {hint}".strip())


def remove_topics(connection: Connection, names: Collection[str]) -> None:
    """Remove what a drill left that died; raises `ClusterFault` for the first that stays."""
    with ClusterClient(connection) as client:
        for fault in delete_topics(client, names).values():
            if fault is not None:
                raise fault


@contextmanager
def _topic(connection: Connection, topic: str, shape: DrillShape, heard: Heard) -> Iterator[None]:
    configs = {MIN_ISR: str(shape.min_insync_replicas)}
    spec = NewTopicSpec(1, configs=configs, replicas=[shape.replicas])
    try:
        with ClusterClient(connection) as client:
            fault = create_topics(client, {topic: spec})[topic]
            if fault is not None:
                raise fault
        brokers = ", ".join(map(str, shape.replicas))
        heard(f"Topic {topic} created on brokers {brokers}.")
        asyncio.run(_ready(connection, topic))
        yield
    finally:
        remove_topics(connection, [topic])
        heard(f"Topic {topic} deleted.")


async def _ready(connection: Connection, topic: str) -> None:
    """Wait until all brokers know the topic and who leads it, because any of them may be asked for it.

    Raises `TimedOut`.
    """
    async with ClusterConnections(connection).cluster() as cluster:

        async def led() -> bool | None:
            try:
                return True if await is_led_everywhere(cluster, topic) else None
            except ClusterFault:
                return None

        if await wait_for(led, _READY_S, 0.1) is None:
            raise TimedOut(
                f"Not every broker knew topic {topic} and its leader within {_READY_S:g} s.",
                cluster=connection.alias,
            )


def _measured(shape: DrillShape, actor: Actor, heard: Heard) -> DrillMeasure:
    acted = actor.act()
    heard(f"Promote: {acted.sentence}{_took(acted)}")
    if not (acted.is_done or acted.sent or acted.undo):
        return DrillMeasure(shape.kind, is_good=False, sentence=acted.sentence)
    reverted = actor.revert(acted.undo)
    heard(f"Revert: {reverted.sentence}{_took(reverted)}")
    is_good = acted.is_done and reverted.is_done
    return DrillMeasure(
        shape.kind,
        is_good,
        "Promoted and reverted." if is_good else _worse(acted, reverted).sentence,
        acted.took_ms,
        reverted.took_ms,
        {"act": acted.to_mapping(), "revert": reverted.to_mapping()},
    )


def _worse(acted: Outcome, reverted: Outcome) -> Outcome:
    return acted if not acted.is_done else reverted


def _took(outcome: Outcome) -> str:
    return "" if outcome.took_ms is None else f" ({outcome.took_ms} ms)"


def _spare(normal: list[int], broker: int | None) -> DrillShape:
    kind = ActorKind.REASSIGN_TO_SPARE
    spares = [b for b in reversed(normal) if broker in {None, b}]
    leaders = [b for b in normal if b != (spares[0] if spares else None)]
    if not spares or not leaders:
        return DrillShape(
            kind, why_not="This method needs two live brokers: a leader, and one to copy to."
        )
    return DrillShape(kind, (leaders[0],), spares[0])


def _actor(connection: Connection, store: PromotionStore, topic: str, shape: DrillShape) -> Actor:
    doors, broker = ClusterConnections(connection), shape.broker
    if shape.kind is ActorKind.RELAX_MIN_ISR:
        return RelaxMinIsr(doors, topic, 1)
    if broker is None:
        raise LookupError(shape)
    if shape.kind is ActorKind.REASSIGN_TO_SPARE:
        return ReassignToSpare(doors, (TopicPartition(topic, 0),), broker, within_s=30.0)
    return FencedStandby(
        doors, broker, store, asked_by="drill", why=f"Drill on {topic}.", topics=(topic,)
    )
