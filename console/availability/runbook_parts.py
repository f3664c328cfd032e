"""Runbooks for one partition, or for all: facts from rows, steps from `jobs.availability.runbooks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.urls import NoReverseMatch, reverse

from console.availability.standby_models import HeldPromotion
from console.clusters.models import Broker, Cluster, Partition
from jobs.availability.kafka_commands import KafkaTools
from jobs.availability.runbooks import (
    Runbook,
    RunbookFacts,
    Trouble,
    TroubleCause,
    runbook,
)
from jobs.cluster.errors import InvalidFields

# What stands in a runbook that is about no partition in particular.
ANY_TOPIC = "TOPIC"
_LARGEST = 2**31 - 1


def runbooks_for(cluster: Cluster, asked: Mapping[str, Any]) -> list[Runbook]:
    """Return the runbooks for what is asked, all severities and causes where none is named; three queries.

    Raises `InvalidFields` for a partition or broker that is not there.
    """
    facts = facts_for(cluster, asked)
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
        return RunbookFacts(ANY_TOPIC, 0, broker=broker, tools=tools, rack=_rack(brokers, broker))
    row = _partition(cluster, topic, number)
    live = {number for number, one in brokers.items() if one.is_live}
    held = HeldPromotion.objects.filter(cluster=cluster).exclude(phase="ended")
    missing = [one for one in row.replicas if one not in row.isr]
    meant = broker if broker is not None else (missing[0] if missing else None)
    return RunbookFacts(
        topic=topic,
        partition=row.partition,
        replicas=tuple(row.replicas),
        isr=tuple(row.isr),
        leader=row.leader,
        observers=tuple(b for b in held.values_list("broker", flat=True) if b in row.replicas),
        spares=tuple(sorted(live - {*row.replicas})),
        broker=meant,
        rack=_rack(brokers, meant),
        min_insync_replicas=row.topic.min_insync_replicas,
        tools=tools,
        page=_page(cluster, topic, row.partition),
    )


def told_runbook(found: Runbook) -> dict[str, Any]:
    """Return a runbook as JSON values."""
    told = asdict(found)
    told["severity"], told["cause"] = found.trouble.value, found.cause.value
    del told["trouble"]
    for step, one in zip(told["steps"], found.steps, strict=True):
        step["commands"], step["command"] = list(one.commands), one.command
    told["steps"] = list(told["steps"])
    return told


def _partition(cluster: Cluster, topic: str, number: int | None) -> Partition:
    rows = Partition.objects.filter(cluster=cluster, topic__name=topic).select_related("topic")
    if number is not None:
        rows = rows.filter(partition=min(number, _LARGEST))
    row = rows.order_by("-severity", "partition").first()
    if row is None:
        where = topic if number is None else f"{topic}-{number}"
        text = f"{cluster.alias} has no partition {where}, as far as it was collected."
        raise InvalidFields({"topic" if number is None else "partition": text})
    return row


def _rack(brokers: Mapping[int, Broker], broker: int | None) -> str | None:
    row = brokers.get(broker) if broker is not None else None
    return (row.rack or None) if row is not None else None


def _page(cluster: Cluster, topic: str, partition: int) -> str:
    for arguments in ([cluster.alias, topic, partition],):
        try:
            return reverse("availability:partition", args=arguments)
        except NoReverseMatch:
            continue
    return reverse("clusters:topic", args=[cluster.alias, topic])
