"""Rows of a metadata log that tests share: a quorum of three, its history, a topic with a shrinking ISR."""

from __future__ import annotations

from datetime import datetime, timedelta

from console.findings.models import Finding
from console.quorum.models import (
    Election,
    Kind,
    MetadataChange,
    MetadataLog,
    MetadataSubject,
    QuorumStatus,
    VoterSetEntry,
)
from tests.console.making import NOW

DISKS = {1: "5r_-B-v5RnSfxKdD0aQ3Gw", 2: "UJ4ulaszRsaLkQmO4tWn9A", 3: "STN8WqjTQ5yBv1mJ7pLc2g"}
TOPIC_ID = "J4sXn0wQTxO5o2yXb7Vd1A"


def at(seconds: float, now: datetime = NOW) -> datetime:
    """A moment so many seconds before now."""
    return now - timedelta(seconds=seconds)


def make_log(cluster, now: datetime = NOW, **fields) -> MetadataLog:
    values = {
        "start_offset": 0,
        "next_offset": 1000,
        "high_watermark": 1000,
        "heard_at": now,
        "last_at": now,
        "created_at": now,
    } | fields
    return MetadataLog.objects.create(cluster=cluster, name=cluster.alias, **values)


def voter(node: int, disk: str | None = None) -> dict:
    return {
        "id": node,
        "directory_id": disk or DISKS.get(node),
        "endpoints": [f"CONTROLLER://kafka-{node}.example:9093"],
        "min_version": 0,
        "max_version": 1,
    }


def replica(node: int, role: str = "voter", **fields) -> dict:
    values = {"log_end_offset": 1000, "lag": 0, "lag_ms": 0, "words": []}
    values |= {"last_fetch_at": NOW.isoformat(), "last_caught_up_at": NOW.isoformat()}
    return {**voter(node), "role": role, **values, **fields}


def make_status(log: MetadataLog, now: datetime = NOW, **fields) -> QuorumStatus:
    replicas = [replica(1, "leader"), replica(2), replica(3, lag=4, lag_ms=800)]
    values = {
        "succeeded_at": now,
        "finished_at": now,
        "leader_id": 1,
        "leader_epoch": 7,
        "high_watermark": 1000,
        "voter_count": 3,
        "observer_count": 1,
        "worst_lag": 4,
        "worst_lag_ms": 800,
        "replicas": [*replicas, replica(4, "observer", endpoints=[], directory_id=None)],
    } | fields
    return QuorumStatus.objects.create(log=log, **values)


def make_finding(log: MetadataLog, code: str = "even_voters", **fields) -> Finding:
    values = {
        "severity": "warning",
        "rank": 3,
        "sentence": "4 voters tolerate the loss of one, as 3 do.",
        "todo": "Add a fifth voter, or remove one.",
        "opened_at": NOW,
        "last_seen_at": NOW,
    } | fields
    return Finding.objects.create(kind="quorum", log=log, code=code, **values)


def make_voter_set(log: MetadataLog, offset: int, seconds: float, *nodes: dict, **fields):
    values = {"epoch": 7, "at": at(seconds, log.created_at), "is_committed": True} | fields
    return VoterSetEntry.objects.create(log=log, offset=offset, voters=list(nodes), **values)


def make_election(log: MetadataLog, offset: int, seconds: float, leader: int, **fields):
    values = {"epoch": 7, "at": at(seconds, log.created_at), "voters": [1, 2, 3]} | fields
    return Election.objects.create(log=log, offset=offset, leader_id=leader, **values)


def make_subject(log: MetadataLog, kind: str, key: str, offset: int = 0, **fields):
    values = {"name": key, "first_offset": offset} | fields
    return MetadataSubject.objects.create(log=log, kind=kind, key=key, **values)


def make_partition(log: MetadataLog, topic: str = "orders", partition: int = 0, offset: int = 10):
    return make_subject(
        log,
        Kind.PARTITION,
        f"{TOPIC_ID}:{topic}:{partition}",
        offset,
        name=f"{topic}-{partition}",
        topic=topic,
        topic_id=TOPIC_ID,
        partition=partition,
    )


def make_change(subject: MetadataSubject, offset: int, seconds: float, state: dict, **fields):
    values = {
        "type": "PARTITION_CHANGE_RECORD",
        "epoch": 7,
        "at": at(seconds, subject.log.created_at),
        "effective_offset": offset,
        "kind": subject.kind,
        "topic": subject.topic,
        "topic_id": subject.topic_id,
        "partition": subject.partition,
        "broker": subject.broker,
        "state": state,
    } | fields
    return MetadataChange.objects.create(log=subject.log, subject=subject, offset=offset, **values)


def placed(leader: int, *isr: int, **fields) -> dict:
    """A partition on brokers 1, 2 and 3."""
    values = {"leader": leader, "leader_epoch": 1, "partition_epoch": 1, "isr": list(isr)}
    return values | {"elr": [], "replicas": [1, 2, 3]} | fields


def make_history(log: MetadataLog) -> None:
    """Voters who came and went, three elections, a topic whose ISR shrank, a broker that was fenced."""
    make_voter_set(log, 0, 3000, *(voter(n) for n in (1, 2, 3)), is_static=False)
    make_voter_set(log, 300, 1500, voter(1), voter(2), removed=["3 · STN8WqjT…"])
    make_voter_set(
        log, 400, 1200, voter(1), voter(2), voter(3, "kQ2xW0aPT2mBr8sVf6Yh3w"),
        added=["3 · kQ2xW0aP…"], replaced=["3 · kQ2xW0aP…"], is_committed=None,
    )  # fmt: skip
    make_election(log, 1, 2990, 1, epoch=5)
    make_election(log, 250, 1800, 2, epoch=6, gap_ms=2900, granting=[2, 3])
    make_election(log, 500, 900, 1, epoch=7, gap_ms=400)
    topic = make_subject(log, Kind.TOPIC, TOPIC_ID, 9, name="orders", topic="orders")
    make_change(topic, 9, 2500, {"topic": "orders"}, type="TOPIC_RECORD", cause="topic_created")
    partition = make_partition(log)
    make_change(partition, 10, 2500, placed(1, 1, 2, 3), type="PARTITION_RECORD")
    broker = make_subject(log, Kind.BROKER, "3", 5, name="broker 3", broker=3)
    make_change(
        broker, 5, 2600, {"is_fenced": False, "rack": "dc-c"}, type="REGISTER_BROKER_RECORD"
    )
    make_change(
        partition, 600, 700, placed(1, 1, 2, elr=[3], partition_epoch=2),
        cause="broker_fenced", broker=3,
    )  # fmt: skip
    make_change(
        broker, 601, 700, {"is_fenced": True, "rack": "dc-c"},
        type="BROKER_REGISTRATION_CHANGE_RECORD", cause="broker_fenced",
    )  # fmt: skip
    setting = make_subject(
        log, Kind.CONFIG, "TOPIC:orders:min.insync.replicas", 700,
        name="topic orders: min.insync.replicas", topic="orders",
    )  # fmt: skip
    make_change(setting, 700, 300, {"value": "2"}, type="CONFIG_RECORD", cause="set")


def make_quorum(cluster, now: datetime = NOW) -> MetadataLog:
    """Everything: a log with status, history and one finding."""
    log = make_log(cluster, now)
    make_status(log, now)
    make_finding(log, opened_at=now, last_seen_at=now)
    make_history(log)
    return log
