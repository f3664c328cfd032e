"""A cluster of three sites on paper: brokers with racks, topics with replicas, the rounds that saw them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from console.availability.placements.models import TopicPlacement
from console.clusters.models import Broker, Cluster, CollectionRound, Noun, Partition, Topic
from tests.console.making import NOW, make_cluster

# Two brokers at each of two sites, one at the third.
RACKS = {1: "west", 2: "west", 3: "east", 4: "east", 5: "north"}


def make_sites(
    alias: str = "east", racks: dict[int, str] | None = None, now: datetime = NOW
) -> Cluster:
    """A cluster whose brokers were seen just now; the one of `make_quorum` has voters 1, 2 and 3."""
    cluster = make_cluster(alias)
    for number, rack in (RACKS if racks is None else racks).items():
        Broker.objects.update_or_create(
            cluster=cluster, broker_id=number,
            defaults={
                "host": f"b{number}.example", "port": 9092, "rack": rack, "is_live": True,
                "seen_at": now, "changed_at": now,
            },
        )  # fmt: skip
    for noun in Noun:
        CollectionRound.objects.update_or_create(
            cluster=cluster, noun=noun, defaults={"succeeded_at": now, "duration_ms": 40}
        )
    return cluster


def make_placed(
    cluster: Cluster,
    name: str,
    replicas: Sequence[int],
    isr: Sequence[int] | None = None,
    **fields: Any,
) -> Topic:
    """A topic whose partitions are all alike; `partitions`, `leader` and `configs` may be given."""
    count, leader = fields.pop("partitions", 1), fields.pop("leader", -1)
    in_sync = list(replicas if isr is None else isr)
    values = {"min_insync_replicas": 2, "replication_factor": len(replicas)} | fields
    topic = Topic.objects.create(
        cluster=cluster, name=name, partition_count=count, changed_at=NOW, **values
    )
    first = in_sync[0] if in_sync else None
    Partition.objects.bulk_create(
        Partition(
            cluster=cluster, topic=topic, partition=number, replicas=list(replicas), isr=in_sync,
            isr_count=len(in_sync), leader=first if leader == -1 else leader, changed_at=NOW,
        )
        for number in range(count)
    )  # fmt: skip
    return topic


def document(replicas: dict[str, int], observers: dict[str, int] | None = None, policy: str = ""):
    """Confluent's JSON of a placement."""
    told: dict[str, Any] = {"version": 2 if policy else 1, "replicas": rows(replicas)}
    if observers:
        told["observers"] = rows(observers)
    if policy:
        told["observerPromotionPolicy"] = policy
    return told


def rows(counts: dict[str, int]) -> list[dict[str, Any]]:
    return [{"count": count, "constraints": {"rack": rack}} for rack, count in counts.items()]


def make_rule(cluster: Cluster, pattern: str, told: dict[str, Any] | None = None, **fields: Any):
    """A placement that was assigned in the console."""
    values = {"kind": "exact", "created_at": NOW, "changed_at": NOW} | fields
    wanted = document({"west": 1, "east": 1}) if told is None else told
    return TopicPlacement.objects.create(
        cluster=cluster, pattern=pattern, document=wanted, **values
    )
