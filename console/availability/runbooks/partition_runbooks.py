"""Runbooks for one partition, or for all: facts from rows, steps from `jobs.availability.runbooks`."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from django.db.models import Min, Q
from django.urls import reverse

from console.availability.acting.models import HeldPromotion
from console.availability.status.models import PartitionStatus
from console.clusters.models import Broker, Cluster, Partition
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.runbooks.runbook import (
    Runbook,
    RunbookFacts,
    Trouble,
    TroubleCause,
    cause_of,
    runbook,
)
from jobs.availability.status.severity import Severity
from jobs.cluster.errors import InvalidFields

# The topic name in a runbook without a partition.
ANY_TOPIC = "TOPIC"
_LARGEST = 2**31 - 1
# Maximum number of runbooks of the current states.
MOST_STATES = 40


def runbooks_for(cluster: Cluster, asked: Mapping[str, Any]) -> list[Runbook]:
    """Return the runbooks of a request; without severity and cause those of all.

    With `applies` only those for the current state and cause of a partition.
    Raises `InvalidFields` for an unknown partition or broker.
    """
    facts = facts_for(cluster, asked)
    if asked.get("applies"):
        return current_runbooks(cluster, asked)
    troubles = [Trouble(asked["severity"])] if asked.get("severity") else list(Trouble)
    causes = [TroubleCause(asked["cause"])] if asked.get("cause") else list(TroubleCause)
    return [runbook(trouble, cause, facts) for trouble in troubles for cause in causes]


def facts_for(cluster: Cluster, asked: Mapping[str, Any]) -> RunbookFacts:
    """Return what fills the commands in; without a topic, words in capitals stand for what is not known."""
    topic, number = str(asked.get("topic") or ""), asked.get("partition")
    tools = KafkaTools(cluster.bootstrap_servers)
    if number is not None and not topic:
        raise InvalidFields({"topic": "Name the topic of the partition."})
    brokers = {row.broker_id: row for row in Broker.objects.filter(cluster=cluster)}
    broker = asked.get("broker")
    if broker is not None and broker not in brokers:
        names = ", ".join(map(str, sorted(brokers))) or "none seen yet"
        text = f"Not a broker of {cluster.alias}: {broker}. It has: {names}."
        raise InvalidFields({"broker": text})
    if not topic:
        return RunbookFacts(ANY_TOPIC, 0, broker=broker, tools=tools)
    row = _partition(cluster, topic, number)
    live = {number for number, one in brokers.items() if one.is_live}
    held = HeldPromotion.objects.filter(cluster=cluster).exclude(phase="ended")
    missing = [one for one in row.replicas if one not in {*row.isr, *(row.adding or ())}]
    away = [*missing, *(one for one in row.replicas if one not in live)]
    meant = broker if broker is not None else next(iter(away), None)
    trouble, cause = _seen(row, live)
    return RunbookFacts(
        topic=topic,
        partition=row.partition,
        replicas=tuple(row.replicas),
        isr=tuple(row.isr),
        leader=row.leader,
        observers=tuple(b for b in held.values_list("broker", flat=True) if b in row.replicas),
        spares=tuple(sorted(live - {*row.replicas})),
        broker=meant,
        min_insync_replicas=row.topic.min_insync_replicas,
        tools=tools,
        page=reverse("availability:partition", args=[cluster.alias, topic, row.partition]),
        trouble=trouble,
        cause=cause,
    )


def current_runbooks(cluster: Cluster, asked: Mapping[str, Any]) -> list[Runbook]:
    """Return one runbook per current state and cause of the partitions, by severity."""
    rows = PartitionStatus.objects.filter(cluster=cluster).filter(
        Q(severity__gt=0) | Q(is_rf_below_min=True)
    )
    given = {name: asked[name] for name in ("topic", "partition") if asked.get(name) is not None}
    firsts = rows.filter(**given).order_by().values("severity", "cause", "missing_text")
    found: dict[tuple[Trouble, TroubleCause], Runbook] = {}
    newest = firsts.annotate(first=Min("pk")).order_by("-severity", "first")
    chosen = newest.values_list("first", flat=True)[:MOST_STATES]
    for row in PartitionStatus.objects.filter(pk__in=list(chosen)).order_by("-severity", "pk"):
        try:
            facts = facts_for(cluster, {"topic": row.topic, "partition": row.partition})
        except InvalidFields:
            continue
        if facts.trouble is None or facts.cause is None:
            continue
        found.setdefault((facts.trouble, facts.cause), runbook(facts.trouble, facts.cause, facts))
    return [
        book
        for (trouble, cause), book in found.items()
        if asked.get("severity") in {None, "", trouble} and asked.get("cause") in {None, "", cause}
    ]


def _seen(row: Partition, live: AbstractSet[int]) -> tuple[Trouble | None, TroubleCause | None]:
    """Return the state that a partition was last seen in, and its cause; None for one that is healthy."""
    least = row.topic.min_insync_replicas
    told = PartitionStatus.objects.filter(
        cluster=row.cluster_id, topic=row.topic.name, partition=row.partition
    ).first()
    severity = Severity(row.severity if told is None else told.severity)
    trouble: Trouble | None = None
    is_whole = row.leader is not None and len(row.isr) == len(row.replicas)
    if least is not None and least > len(row.replicas) and (is_whole or not severity):
        trouble = (
            Trouble.RF_BELOW_MIN_ISR
        )  # also where brokers before Kafka 3.7 refuse writes by it
    elif severity:
        trouble = Trouble(severity.word)
    if trouble is None:
        return None, None
    cause = cause_of("" if told is None else told.cause)
    if cause is TroubleCause.UNKNOWN and not live >= set(row.replicas):
        cause = TroubleCause.BROKER_DEAD
    return trouble, cause


def _partition(cluster: Cluster, topic: str, number: int | None) -> Partition:
    rows = Partition.objects.filter(cluster=cluster, topic__name=topic).select_related("topic")
    if number is not None:
        rows = rows.filter(partition=min(number, _LARGEST))
    row = rows.order_by("-severity", "partition").first()
    if row is None:
        where = topic if number is None else f"{topic}-{number}"
        text = f"{cluster.alias} has no partition {where} in the collected data."
        raise InvalidFields({"topic" if number is None else "partition": text})
    return row
