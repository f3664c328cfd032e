"""A followed metadata log and polled clusters that tests of availability share."""

from __future__ import annotations

from datetime import datetime, timedelta

from console.availability.collection.rollup_writer import RollupWriter
from console.availability.collection.status_rows import PartitionId, PartitionUpdate
from console.availability.collection.status_writer import StatusWriter
from console.availability.status.broker_models import BrokerStatus, Source
from console.availability.status.models import AvailabilityRound, UncleanElection
from console.clusters.models import Broker, Cluster, CollectionRound, Noun, Partition, Topic
from console.quorum.models import Kind, MetadataChange, MetadataLog, MetadataSubject
from console.quorum.models import Source as LogSource
from jobs.availability.status.min_isr import MinIsrOrigin
from jobs.availability.status.partition_seen import PartitionSeen
from tests.console.making import NOW, make_cluster

RACKS = {1: "dc-a", 2: "dc-b", 3: "dc-c"}
SOURCES = {
    "topic": "DYNAMIC_TOPIC_CONFIG",
    "static": "STATIC_BROKER_CONFIG",
    "kafka": "DEFAULT_CONFIG",
}


class Story:
    """A metadata log that a test writes, change by change; seconds are before now."""

    def __init__(self, cluster: Cluster | None = None, now: datetime = NOW) -> None:
        self.cluster = cluster or make_cluster("east")
        self.now = now
        self.offset = 0
        self.log = MetadataLog.objects.create(
            cluster=self.cluster, name=self.cluster.alias, created_at=now, source=LogSource.FETCH,
            start_offset=0, next_offset=1, heard_at=now, last_at=now,
        )  # fmt: skip
        self.states: dict[str, dict] = {}

    def at(self, seconds: float) -> datetime:
        return self.now - timedelta(seconds=seconds)

    def heard(self, now: datetime) -> None:
        """Let time pass: the follower is heard of."""
        self.now = now
        MetadataLog.objects.filter(pk=self.log.pk).update(heard_at=now)

    def brokers(self, seconds: float = 4000, racks: dict[int, str] | None = None) -> None:
        for number in racks or RACKS:
            self.broker(number, seconds, rack=(racks or RACKS)[number])

    def broker(self, number: int, seconds: float, **state) -> MetadataChange:
        known = {"is_fenced": False, "rack": RACKS.get(number), "incarnation_id": f"life-{number}"}
        fields = {"broker": number, "name": f"broker {number}"}
        return self._change(Kind.BROKER, str(number), seconds, fields, known | state)

    def topic(self, name: str = "orders", partitions: int = 1, seconds: float = 3600, **state):
        """A topic on brokers 1, 2 and 3, all in sync."""
        for number in range(partitions):
            self.partition(name, number, seconds, 1, 2, 3, cause="topic_created", **state)

    def partition(
        self, topic: str, number: int, seconds: float, *isr: int, **fields
    ) -> MetadataChange:
        """What a partition became: the first of the ISR leads unless it is said."""
        change = {n: fields.pop(n) for n in ("cause", "broker", "is_unclean", "is_removed", "is_dated")
                  if n in fields}  # fmt: skip
        key = f"{topic}-id:{number}"
        before = self.states.get(key, {"partition_epoch": 0, "leader_epoch": 0})
        state = {
            "leader": isr[0] if isr else -1,
            "leader_epoch": before["leader_epoch"] + 1,
            "partition_epoch": before["partition_epoch"] + 1,
            "isr": list(isr),
            "elr": [],
            "replicas": [1, 2, 3],
        } | fields
        self.states[key] = state
        named = {"topic": topic, "topic_id": f"{topic}-id", "partition": number}
        return self._change(
            Kind.PARTITION, key, seconds, named | {"name": f"{topic}-{number}"}, state, **change
        )

    def setting(self, topic: str, value: str | None, seconds: float) -> MetadataChange:
        """min.insync.replicas of a topic, or of the cluster ("")."""
        key = f"{'TOPIC' if topic else 'BROKER'}:{topic}:min.insync.replicas"
        fields = {"topic": topic, "name": key}
        return self._change(
            Kind.CONFIG, key, seconds, fields, {"value": value}, is_removed=value is None
        )

    def _change(self, kind, key, seconds, fields, state, **more) -> MetadataChange:
        self.offset += 1
        subject, _ = MetadataSubject.objects.get_or_create(
            log=self.log, kind=kind, key=key, defaults={"first_offset": self.offset, **fields}
        )
        values = {n: fields.get(n) for n in ("partition", "broker")}
        values |= {"topic": fields.get("topic", ""), "topic_id": fields.get("topic_id", "")}
        values |= {"type": "RECORD", "epoch": 1, "at": self.at(seconds), "state": state} | more
        MetadataLog.objects.filter(pk=self.log.pk).update(next_offset=self.offset + 1)
        return MetadataChange.objects.create(
            log=self.log, subject=subject, kind=kind, offset=self.offset,
            effective_offset=self.offset, **values,
        )  # fmt: skip


def describe_topic(
    cluster: Cluster, name: str = "orders", least: int | None = 2, origin: str = "static", **fields
) -> Topic:
    """What a round read of a topic's settings."""
    values = {
        "min_insync_replicas": least,
        "min_isr_source": SOURCES[origin],
        "configs_read_at": NOW,
        "changed_at": NOW,
        "topic_id": f"{name}-id",
    } | fields
    return Topic.objects.update_or_create(cluster=cluster, name=name, defaults=values)[0]


def poll(cluster: Cluster, at: datetime, **topics: list[tuple[int, ...]]) -> None:
    """A round of the cluster: the ISR of each partition of each topic; the first of it leads."""
    for name, partitions in topics.items():
        topic = Topic.objects.filter(cluster=cluster, name=name).first() or describe_topic(
            cluster, name
        )
        for number, isr in enumerate(partitions):
            values = {
                "leader": isr[0] if isr else None,
                "replicas": [1, 2, 3],
                "isr": list(isr),
                "isr_count": len(isr),
                "changed_at": at,
            }
            Partition.objects.update_or_create(
                cluster=cluster, topic=topic, partition=number, defaults=values
            )
    Topic.objects.filter(cluster=cluster).exclude(name__in=topics).delete()
    for number, rack in RACKS.items():
        Broker.objects.get_or_create(
            cluster=cluster, broker_id=number, defaults={"rack": rack, "changed_at": at}
        )
    finish_round(cluster, at)


def finish_round(cluster: Cluster, at: datetime | None, **fields) -> None:
    values = {"succeeded_at": at, "finished_at": at, "failing_since": None, "error": ""} | fields
    CollectionRound.objects.update_or_create(cluster=cluster, noun=Noun.TOPICS, defaults=values)


def make_available(cluster: Cluster, now: datetime = NOW) -> None:
    """Rows as rounds leave them: two topics, a lost follower, a leaderless partition."""
    row = AvailabilityRound.objects.create(
        cluster=cluster, noun="status", source=Source.POLL, succeeded_at=now, finished_at=now,
        interval_ms=10_000,
    )  # fmt: skip
    told = (
        (3000, {("orders", 0): (1, 2, 3), ("payments", 0): (1, 2, 3), ("payments", 1): (1, 2, 3)}),
        (600, {("orders", 0): (1, 2), ("payments", 1): ()}),
    )
    for seconds, isrs in told:
        at = now - timedelta(seconds=seconds)
        counts = RollupWriter(cluster, row, RACKS, now)
        ledger = StatusWriter(cluster, Source.POLL, counts)
        ledger.take([_polled(*where, at, isr) for where, isr in isrs.items()])
        ledger.save()
        counts.pass_time(at, Source.LOG)
        counts.save()
    for number, rack in RACKS.items():
        BrokerStatus.objects.create(
            cluster=cluster, broker_id=number, rack=rack, is_there=number != 3, since=now,
            source=Source.POLL,
        )  # fmt: skip
    row.save()
    UncleanElection.objects.create(
        cluster=cluster, key="payments-id:1", topic="payments", partition=1, at=now, leader=3,
        isr_before=[1, 2],
    )  # fmt: skip


def _polled(topic: str, partition: int, at: datetime, isr: tuple[int, ...]) -> PartitionUpdate:
    seen = PartitionSeen(
        at=at, replicas=(1, 2, 3), isr=isr, leader=isr[0] if isr else None, cause="polled",
        min_insync_replicas=2, not_before=at - timedelta(seconds=10),
    )  # fmt: skip
    return PartitionUpdate(
        PartitionId(topic, f"{topic}-id", partition), at, seen, MinIsrOrigin.STATIC
    )
