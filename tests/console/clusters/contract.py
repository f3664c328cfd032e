"""What a collected cluster must look like, whether it is a fake or a real Kafka: it keeps the fake honest.

The shop: topic `shop.orders` with three partitions; partition 0 holds five records whose timestamps
are FIRST_MS, FIRST_MS + 1000 and so on. Group `shop/billing` has committed offset 2 there.
"""

from console.clusters.models import Cluster, Group, GroupOffset, Noun, Partition, Topic
from jobs.availability.status.severity import Severity

TOPIC, GROUP = "shop.orders", "shop/billing"
RECORDS, COMMITTED = 5, 2
FIRST_MS = 1_795_000_000_000


def check_collected(cluster: Cluster) -> None:
    """Assert that the rounds of this cluster saw the shop."""
    rounds = {row.noun: row for row in cluster.rounds.all()}
    assert {n: (r.failing_since, r.error) for n, r in rounds.items()} == dict.fromkeys(
        Noun.values, (None, "")
    )
    _check_topic(Topic.objects.get(cluster=cluster, name=TOPIC))
    _check_partition(Partition.objects.get(cluster=cluster, topic__name=TOPIC, partition=0))
    _check_group(Group.objects.get(cluster=cluster, group_id=GROUP))
    for broker in cluster.brokers.all():
        assert broker.is_live
        assert broker.host
        assert broker.replica_count > 0
        _check_log_dirs(broker.log_dirs)


def _check_log_dirs(log_dirs: list[dict]) -> None:
    (one,) = log_dirs
    assert one["path"].startswith("/")
    assert 0 < one["usable_bytes"] <= one["total_bytes"]
    assert one["error"] == ""


def _check_topic(topic: Topic) -> None:
    assert (topic.partition_count, topic.record_count, topic.is_internal) == (3, RECORDS, False)
    assert len(topic.topic_id) == 22
    assert topic.min_insync_replicas >= 1
    assert topic.configs["cleanup.policy"] == "delete"
    assert Severity(topic.severity) is Severity.OK


def _check_partition(partition: Partition) -> None:
    assert partition.leader in partition.replicas
    assert sorted(partition.isr) == sorted(partition.replicas)
    assert (partition.log_start_offset, partition.end_offset) == (0, RECORDS)
    assert partition.high_watermark == RECORDS
    assert partition.max_timestamp_ms == FIRST_MS + (RECORDS - 1) * 1000


def _check_group(group: Group) -> None:
    assert (group.lag, group.lag_ms) == (RECORDS - COMMITTED, 2000)
    offset = GroupOffset.objects.get(group=group, topic=TOPIC, partition=0)
    assert (offset.committed_offset, offset.end_offset) == (COMMITTED, RECORDS)
    assert (offset.lag, offset.lag_status, offset.lag_ms) == (3, "ok", 2000)
