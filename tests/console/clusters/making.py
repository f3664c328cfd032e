"""Rows and rounds that the tests of clusters share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from console.clusters.collection import collect
from console.clusters.models import (
    Broker,
    Cluster,
    CollectionRound,
    Group,
    GroupOffset,
    Noun,
    Partition,
    Topic,
)

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)


def make_cluster(alias: str = "east", **fields) -> Cluster:
    values = {"bootstrap_servers": f"{alias}.example:9092", "created_at": NOW} | fields
    return Cluster.objects.create(alias=alias, **values)


def run_rounds(cluster: Cluster, kafka, now: datetime = NOW) -> dict[str, CollectionRound]:
    """Run all rounds of a cluster against a fake at a moment, due or not; return their rows by noun."""
    CollectionRound.objects.filter(cluster=cluster).update(claimed_until=None)
    collect.collect_cluster(cluster.pk, lambda: now, kafka.open)
    cluster.refresh_from_db()
    return {row.noun: row for row in CollectionRound.objects.filter(cluster=cluster)}


def make_round(cluster: Cluster, noun: str, **fields) -> CollectionRound:
    values = {"succeeded_at": NOW, "finished_at": NOW, "started_at": NOW} | fields
    return CollectionRound.objects.create(cluster=cluster, noun=noun, **values)


def make_seen(cluster: Cluster, *, topics: int = 1, partitions: int = 1, groups: int = 1) -> None:
    """Write rows as a round would: topics with partitions, groups with an offset in each topic."""
    for noun in Noun:
        make_round(cluster, noun)
    Broker.objects.create(cluster=cluster, broker_id=1, host="kafka-1.example", changed_at=NOW)
    written = Topic.objects.bulk_create(
        Topic(
            cluster=cluster,
            name=f"topic-{i:05}",
            partition_count=partitions,
            replication_factor=1,
            min_insync_replicas=1,
            changed_at=NOW,
        )
        for i in range(topics)
    )
    Partition.objects.bulk_create(
        Partition(
            cluster=cluster,
            topic=topic,
            partition=p,
            leader=1,
            replicas=[1],
            isr=[1],
            isr_count=1,
            log_start_offset=0,
            end_offset=100,
            changed_at=NOW,
        )
        for topic in written
        for p in range(partitions)
    )
    people = Group.objects.bulk_create(
        Group(cluster=cluster, group_id=f"group-{i:05}", state="Stable", lag=i, changed_at=NOW)
        for i in range(groups)
    )
    GroupOffset.objects.bulk_create(
        GroupOffset(group=group, topic=topic.name, partition=0, changed_at=NOW)
        for group in people
        for topic in written[:3]
    )


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)
