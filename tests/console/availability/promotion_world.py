"""A cluster on paper whose partition misses a sync replica, and what acts on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from console.availability.acting.models import HeldPromotion, StandbySign
from console.availability.advice.models import (
    ObserverEvent,
    PromotionRound,
)
from console.availability.drills.models import Drill, DrillResult, DrillState
from console.availability.promotion.catalogue import told_actors
from console.availability.promotion.models import (
    ActionState,
    Actor,
    Mode,
    PromotionAction,
    PromotionPolicy,
)
from console.availability.what_if.cluster_models import cluster_model
from console.clusters.models import Broker, Cluster, CollectionRound, Noun, Partition, Topic
from console.findings.models import Finding
from jobs.availability.acting.plans import Outcome, Plan, PlannedRequest, Verdict
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.advice import ReplicaStanding
from jobs.availability.promotion.live_state import LivePartition, LiveState
from tests.console.making import make_cluster

STANDBY = 3


class Clock:
    """A clock that advances on demand."""

    def __init__(self, now: datetime | None = None) -> None:
        self.now = now or timezone.now()

    def __call__(self) -> datetime:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def ms(self) -> int:
        return int(self.now.timestamp() * 1000)


def make_short(alias: str = "east", isr: tuple[int, ...] = (1,)) -> Cluster:
    """Make a cluster of brokers 1, 2 and standby 3, and a topic of which 1 alone is in sync."""
    cluster = Cluster.objects.filter(alias=alias).first() or make_cluster(alias)
    now = timezone.now()
    for noun in Noun.values:
        CollectionRound.objects.get_or_create(
            cluster=cluster, noun=noun, defaults={"succeeded_at": now, "finished_at": now}
        )
    for number in (1, 2, STANDBY):
        Broker.objects.get_or_create(
            cluster=cluster,
            broker_id=number,
            defaults={
                "host": f"b{number}",
                "port": 9092,
                "rack": f"dc-{number}",
                "is_live": number != 2,
                "changed_at": now,
            },
        )
    topic, _ = Topic.objects.get_or_create(
        cluster=cluster,
        name="orders",
        defaults={
            "partition_count": 1,
            "replication_factor": 3,
            "min_insync_replicas": 2,
            "configs": {"min.insync.replicas": "2"},
            "configs_read_at": now,
            "changed_at": now,
        },
    )
    Partition.objects.update_or_create(
        cluster=cluster,
        topic=topic,
        partition=0,
        defaults={
            "leader": 1,
            "replicas": [1, 2, STANDBY],
            "isr": list(isr),
            "isr_count": len(isr),
            "changed_at": now,
        },
    )
    return cluster


def make_policy(cluster: Cluster, **fields: Any) -> PromotionPolicy:
    now = timezone.now()
    values = {
        "pattern": "orders",
        "actor": Actor.FENCED_STANDBY,
        "allowed_brokers": [STANDBY],
        "cooldown_s": 10,
        "hold_s": 5,
        "created_at": now,
        "changed_at": now,
    } | fields
    if values.get("mode") == Mode.ACT:
        values.setdefault("opted_in_at", now)
    return PromotionPolicy.objects.create(cluster=cluster, **values)


def make_action(cluster: Cluster, **fields: Any) -> PromotionAction:
    now = timezone.now()
    values = {
        "subject": f"broker {STANDBY}",
        "actor": Actor.FENCED_STANDBY,
        "topic": "orders",
        "partition": 0,
        "broker": STANDBY,
        "because": ["orders-0"],
        "code": "under_min_isr",
        "why": "The ISR has 1 of the 2 members that under-min-isr wants.",
        "data_at_risk": "Nothing that was acked is at risk.",
        "how_to_demote": "Fence broker 3 again.",
        "expected_ms": 140,
        "evidence": {"leader": 1, "isr": [1], "leader_epoch": 5, "high_watermark": 100},
        "advised_at": now,
        "seen_at": now,
    } | fields
    return PromotionAction.objects.create(cluster=cluster, **values)


def make_drill(cluster: Cluster, **fields: Any) -> Drill:
    now = timezone.now()
    values = {
        "state": DrillState.SUCCEEDED,
        "actors": [Actor.FENCED_STANDBY.value],
        "topic": "crosslog-drill-0a1b2c3d",
        "created_at": now,
        "finished_at": now,
        "topic_removed_at": now,
        "good_count": 1,
        "log": [[now.isoformat(), "Fenced standby broker: begun."]],
    } | fields
    row = Drill.objects.create(cluster=cluster, **values)
    DrillResult.objects.create(
        drill=row,
        subject="Fenced standby broker",
        actor=Actor.FENCED_STANDBY,
        is_good=True,
        promote_ms=412,
        revert_ms=38,
        expected_ms=140,
        message="Promoted and reverted.",
        at=now,
    )
    return row


def watched(cluster: Cluster, at: datetime | None = None) -> None:
    """Say that a program looks after a cluster."""
    PromotionRound.objects.update_or_create(
        cluster=cluster,
        defaults={"promoter": "here:1", "promoter_seen_at": at or timezone.now()},
    )


def fill_promotion(cluster: Cluster) -> PromotionAction:
    """Fill every page of promotions of a cluster; the cluster has rows of its own."""
    now = timezone.now()
    policy = make_policy(cluster)
    action = make_action(cluster, policy=policy)
    make_action(
        cluster,
        subject="payments-2",
        topic="payments",
        partition=2,
        actor=Actor.RELAX_MIN_ISR,
        broker=None,
        state=ActionState.REVERTED,
        ended_at=now,
        outcome={"sentence": "It was set back.", "took_ms": 900},
    )
    make_drill(cluster)
    watched(cluster)
    HeldPromotion.objects.create(
        cluster=cluster,
        promotion_id="p-1",
        broker=STANDBY,
        begun_at_ms=int(now.timestamp() * 1000),
        asked_by="policy",
        why="The ISR was too small.",
    )
    StandbySign.objects.create(cluster=cluster, loop_id="here:1", at_ms=int(now.timestamp() * 1000))
    ObserverEvent.objects.create(
        cluster=cluster,
        at=now,
        kind="promoted",
        topic="orders",
        partition=0,
        broker=STANDBY,
        sentence="Observer 3 joined the ISR of orders-0.",
    )
    Finding.objects.create(
        kind="observers",
        cluster=cluster,
        code="promotion_wanted",
        severity="critical",
        rank=4,
        topic="orders",
        partition=0,
        brokers=[2],
        trouble="under_min_isr",
        cause="unknown",
        subject="orders-0",
        sentence="The ISR has 1 of the 2 members that under-min-isr wants.",
        todo="Promote broker 3.",
        opened_at=now,
        last_seen_at=now,
    )
    return action


def fill_promotion_pages(cluster: Cluster) -> None:
    """Fill the pages as they look during an incident: a dry run that waits, all ways with their prices."""
    action = fill_promotion(cluster)
    plan = PaperActor(PaperDoor(Clock()), STANDBY, ActorKind.FENCED_STANDBY).plan()
    PromotionAction.objects.filter(pk=action.pk).update(
        state=ActionState.PLANNED,
        planned_at=timezone.now(),
        plan=plan.to_mapping() | {"warnings": ["A broker is promoted as a whole."]},
        warnings=["Every write waits for it from then on."],
        candidates=[
            {
                "broker_id": STANDBY,
                "rack": "dc-c",
                "standing": {"lag_records": 0},
                "why": "level",
                "why_not": "",
            }
        ],
    )
    PromotionRound.objects.filter(cluster=cluster).update(
        succeeded_at=timezone.now(),
        judged_count=30,
        observers_in_isr=1,
        actors=told_actors(cluster, cluster_model(cluster)),
        actors_at=timezone.now(),
    )


@dataclass
class PaperActor:
    """An actor whose effect is a change of its door's paper."""

    door: PaperDoor
    broker: int | None
    kind: ActorKind

    def plan(self) -> Plan:
        self.door.asked.append("plan")
        request = PlannedRequest("BrokerHeartbeat", "the active controller", "Speak for it.")
        return Plan(
            self.kind, "east", f"broker {self.broker}", (request,), "It joins the ISR.",
            refusals=tuple(self.door.refusals),
        )  # fmt: skip

    def act(self) -> Outcome:
        self.door.asked.append("act")
        if self.door.fault is not None:
            raise self.door.fault
        if not self.door.works:
            return Outcome(
                self.kind, "broker", is_done=False, sentence="It did not join.", sent=("x",)
            )
        self.door.isr = (*self.door.isr, self.broker or 0)
        return Outcome(
            self.kind, "broker", is_done=True, sentence="It joined.", sent=("written",), took_ms=412,
            undo={"promotion_id": uuid4().hex},
        )  # fmt: skip

    def verify(self) -> Verdict:
        self.door.asked.append("verify")
        return Verdict(self.broker in self.door.isr, "Looked.")

    def revert(self, undo: dict[str, Any]) -> Outcome:
        self.door.asked.append("revert")
        self.door.isr = tuple(one for one in self.door.isr if one != self.broker)
        return Outcome(self.kind, "broker", is_done=True, sentence="It left.", took_ms=38)


@dataclass
class PaperDoor:
    """A cluster of one partition, orders-0, that says what a test wants."""

    clock: Clock
    isr: tuple[int, ...] = (1,)
    leader: int | None = 1
    leader_epoch: int = 5
    high_watermark: int = 100
    lag: int = 0
    alive: frozenset[int] = frozenset({1, STANDBY})
    works: bool = True
    refusals: tuple[str, ...] = ()
    fault: Exception | None = None
    look_fault: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def look(self, cluster, topics, is_interesting):
        self.asked.append("look")
        if self.look_fault is not None:
            raise self.look_fault
        found = LivePartition(
            self.leader, self.isr, (1, 2, STANDBY), (), self.leader_epoch, None, self.high_watermark,
            self.high_watermark, {STANDBY: ReplicaStanding(self.lag)},
        )  # fmt: skip
        return LiveState(self.clock.ms, {("orders", 0): found}, self.alive, True)

    def actor(self, action):
        return PaperActor(self, action.broker, ActorKind(action.actor))

    @property
    def acts(self) -> list[str]:
        """Requests that change something."""
        return [word for word in self.asked if word in {"act", "revert"}]
