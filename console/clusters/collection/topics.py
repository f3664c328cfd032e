"""The round for topics: placement of every partition, its severity, and the settings that decide it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from console.clusters.collection.brokers import save_broker_load
from console.clusters.collection.requests import ClusterRequests
from console.clusters.collection.rows import remove, write_seen
from console.clusters.models import Cluster, Partition, Topic
from console.frame.rounds import Outcome, sentence_about
from jobs.availability.status.severity import Counted, Moves, Severity, Standing, judge_partition
from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.admin.reassignments import Reassignment
from jobs.cluster.descriptions import PartitionDescription, TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.limits import VALUE, short

_MIN_ISR = "min.insync.replicas"
CONFIG_KEYS = (
    _MIN_ISR,
    # Where a leader may be elected that lacks records, and where Confluent Server keeps its placements.
    "unclean.leader.election.enable",
    "confluent.placement.constraints",
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "max.message.bytes",
    "message.timestamp.type",
    "compression.type",
)
# Settings change rarely and are the dearest question of a round: a share of them is read each time.
CONFIG_AGE = timedelta(seconds=60)
CONFIGS_PER_ROUND = 1000

PartitionKey = tuple[int, int]


def collect_topics(cluster: Cluster, kafka: ClusterRequests, now: datetime) -> Outcome:
    """Ask for all topics and some of their settings, judge every partition, write what changed."""
    stored = {row.name: row for row in Topic.objects.filter(cluster=cluster)}
    placed = list(Partition.objects.filter(cluster=cluster))
    names = {row.pk: name for name, row in stored.items()}
    reassigned = Reassigned(
        kafka, {TopicPartition(names[row.topic_id], row.partition): row for row in placed}
    )
    answer = _Answer(kafka.describe_topics(), reassigned, cluster.offers.limits_min_isr)
    reassigned.look_again(answer.described)
    answer.read_configs(kafka, _due_for_configs(answer.described, stored, now))
    with transaction.atomic():
        topics = _save_topics(cluster, answer, stored, now)
        partition_count = _save_partitions(cluster, answer, topics, placed, now)
        save_broker_load(cluster, now)
    return Outcome({"row_count": partition_count}, answer.missing())


@dataclass(slots=True)
class _Answer:
    """What the cluster said: topics, and the settings of some of them."""

    described: Sequence[TopicDescription]
    reassigned: Reassigned
    limits_min_isr: bool | None
    configs: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)
    asked_configs: Sequence[str] = ()
    config_fault: str = ""

    def read_configs(self, kafka: ClusterRequests, names: Sequence[str]) -> None:
        """Read settings; topics without readable settings are still topics."""
        if not names:
            return
        self.asked_configs = names
        try:
            self.configs = kafka.read_topic_configs(names, CONFIG_KEYS)
        except ClusterFault as fault:
            self.config_fault = fault.message

    def missing(self) -> str:
        errors = {topic.name: topic.error for topic in self.described if topic.error}
        why = self.config_fault or "DESCRIBE_CONFIGS is needed"
        unread = {name: why for name in self.asked_configs if name not in self.configs}
        parts = (
            sentence_about("topics could not be described", errors, len(self.described)),
            sentence_about("topics without settings", unread, len(self.asked_configs)),
            sentence_about("topics have settings that are cut", self._cut(), len(self.configs)),
            self._no_reassignments(),
        )
        return " ".join(part for part in parts if part)

    def judge(
        self, topic: str, partition: PartitionDescription, least: int | None
    ) -> tuple[Moves, Standing]:
        """Return what a reassignment does to a partition, and whether that is known."""
        moves = self.reassigned.of(TopicPartition(topic, partition.partition), partition)
        return moves, judge_partition(
            leader=partition.leader,
            replicas=partition.replicas,
            isr=partition.isr,
            min_insync_replicas=least,
            moves=moves,
            is_limited=self.limits_min_isr,
        )

    def _no_reassignments(self) -> str:
        fault = self.reassigned.fault
        if fault is None:
            return ""
        return (
            f"Which partitions are being reassigned is not known: {fault.message.rstrip('.')}. {fault.hint} "
            "A replica outside of the ISR may be missing or being added."
        )

    def _cut(self) -> dict[str, str]:
        return {
            name: f"a value has at most {VALUE:,} characters"
            for name, read in self.configs.items()
            if any(len(one.value or "") > VALUE for one in read.values())
        }


def _due_for_configs(
    described: Iterable[TopicDescription], stored: Mapping[str, Topic], now: datetime
) -> list[str]:
    """Return the topics whose settings were never read or long ago, the oldest first."""
    due: list[tuple[datetime, str]] = []
    never = now - timedelta(days=36500)
    for topic in described:
        row = stored.get(topic.name)
        is_same = row is not None and row.topic_id == (topic.topic_id or "")
        read_at = row.configs_read_at if row is not None and is_same else None
        if not topic.error and (read_at is None or now - read_at >= CONFIG_AGE):
            due.append((read_at or never, topic.name))
    return [name for _, name in sorted(due)[:CONFIGS_PER_ROUND]]


def _save_topics(
    cluster: Cluster, answer: _Answer, stored: dict[str, Topic], now: datetime
) -> dict[str, Topic]:
    seen = {t.name: _topic_values(t, stored.get(t.name), answer) for t in answer.described}
    written = write_seen(Topic, stored, seen, lambda n: Topic(cluster=cluster, name=n), now)
    remove(Topic, [row for name, row in stored.items() if name not in seen])
    Topic.objects.filter(cluster=cluster, name__in=answer.asked_configs).update(configs_read_at=now)
    return {name: written.get(name) or stored[name] for name in seen}


def _topic_values(topic: TopicDescription, row: Topic | None, answer: _Answer) -> dict[str, Any]:
    """Return the values of a topic; one that could not be described keeps what was known of it."""
    kept = row or Topic(name=topic.name)
    if topic.error:
        names = [f for f in _TOPIC_FIELDS if f != "error"]
        return {name: getattr(kept, name) for name in names} | {"error": topic.error}
    read = answer.configs.get(topic.name)
    configs = (
        kept.configs if read is None else {k: short(v.value or "", VALUE) for k, v in read.items()}
    )
    least = _min_insync_replicas(configs)
    judged = [answer.judge(topic.name, partition, least)[1] for partition in topic.partitions]
    return {
        "topic_id": topic.topic_id or "",
        "is_internal": topic.is_internal,
        "partition_count": len(topic.partitions),
        "replication_factor": min((len(p.replicas) for p in topic.partitions), default=None),
        "min_insync_replicas": least,
        "min_isr_source": kept.min_isr_source if read is None else _source(read),
        "configs": configs,
        "severity": max((one.severity for one in judged), default=Severity.OK).value,
        "under_replicated_count": sum(Counted.UNDER_REPLICATED in one.counted_as for one in judged),
        "offline_count": sum(Counted.OFFLINE in one.counted_as for one in judged),
        "unsure_count": sum(one.is_unsure for one in judged),
        "error": "",
    }


_TOPIC_FIELDS = (
    "topic_id",
    "is_internal",
    "partition_count",
    "replication_factor",
    "min_insync_replicas",
    "min_isr_source",
    "configs",
    "severity",
    "under_replicated_count",
    "offline_count",
    "unsure_count",
    "error",
)


def _save_partitions(
    cluster: Cluster,
    answer: _Answer,
    topics: Mapping[str, Topic],
    placed: Iterable[Partition],
    now: datetime,
) -> int:
    stored: dict[PartitionKey, Partition] = {(row.topic_id, row.partition): row for row in placed}
    seen: dict[PartitionKey, dict[str, Any]] = {}
    # A topic that could not be described keeps its partitions.
    kept = {topics[topic.name].pk for topic in answer.described if topic.error}
    for topic in answer.described:
        row = topics[topic.name]
        for partition in topic.partitions:
            judged = answer.judge(topic.name, partition, row.min_insync_replicas)
            seen[row.pk, partition.partition] = _partition_values(partition, *judged)
    write_seen(
        Partition,
        stored,
        seen,
        lambda key: Partition(cluster=cluster, topic_id=key[0], partition=key[1]),
        now,
    )
    remove(Partition, [r for k, r in stored.items() if k not in seen and k[0] not in kept])
    return len(seen)


def _partition_values(
    partition: PartitionDescription, moves: Moves, standing: Standing
) -> dict[str, Any]:
    return {
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "isr_count": len(partition.isr),
        "adding": None if moves.adding is None else list(moves.adding),
        "removing": list(moves.removing),
        "severity": standing.severity.value,
        "counted_text": standing.counted_text,
        "is_unsure": standing.is_unsure,
    }


def _source(configs: Mapping[str, ConfigValue]) -> str:
    value = configs.get(_MIN_ISR)
    return "" if value is None else value.source.value


def _min_insync_replicas(configs: Mapping[str, str]) -> int | None:
    value = configs.get(_MIN_ISR, "")
    return int(value) if value.isdecimal() else None


Listed = Mapping[TopicPartition, Reassignment]


class Reassigned:
    """What ListPartitionReassignments said before and, where that was needed, after the topics were read.

    `fault` is why it was refused. `stored` are the partitions of the round before.
    """

    def __init__(self, kafka: ClusterRequests, stored: Mapping[TopicPartition, Partition]) -> None:
        self._kafka, self._stored = kafka, stored
        self._answers: list[Listed] = []
        self.fault: ClusterFault | None = None
        self._ask()

    def look_again(self, described: Sequence[TopicDescription]) -> None:
        """Ask once more where replicas are out of the ISR and the first answer does not say why."""
        places = ((TopicPartition(t.name, p.partition), p) for t in described for p in t.partitions)
        if self.fault is None and any(_is_short(p) and not self._listed(w, p) for w, p in places):
            self._ask()

    def of(self, where: TopicPartition, partition: PartitionDescription) -> Moves:
        """Return what is known of a partition.

        An answer counts only with the same replicas as the metadata has. Nothing is being added where all
        replicas are in the ISR, nor where the replicas are still those of a moment at which nothing was. A
        partition that has just changed and is in no answer is not judged: both are not of one moment.
        """
        found = self._listed(where, partition)
        if found is not None:
            return Moves(found.adding, found.removing)
        known = self._stored.get(where)
        if not _is_short(partition) or (known is None and self.fault is None):
            return Moves()
        is_same = known is not None and {*known.replicas} == {*partition.replicas}
        was_none = known is not None and (
            known.adding == [] or (known.adding is None and self.fault is None)
        )
        return Moves() if is_same and was_none else Moves(None)

    def _listed(
        self, where: TopicPartition, partition: PartitionDescription
    ) -> Reassignment | None:
        for answer in reversed(self._answers):
            found = answer.get(where)
            if found is not None and {*found.replicas} == {*partition.replicas}:
                return found
        return None

    def _ask(self) -> None:
        try:
            self._answers.append(self._kafka.list_reassignments())
        except ClusterFault as fault:
            self.fault = fault


def _is_short(partition: PartitionDescription) -> bool:
    return not {*partition.replicas} <= {*partition.isr}
