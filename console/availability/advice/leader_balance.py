"""Lost preferred leaders as findings: watched from round to round, told with the command that helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from console.clusters.models import Cluster
from jobs.availability.promotion.checks import LEADERS, LEADERS_NOT_BALANCED
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.status.preferred_leaders import (
    LeaderShare,
    Unbalanced,
    leader_shares,
    watch_leaders,
)
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.checks.check import check
from jobs.findings import Finding
from jobs.severity import Severity

_KEY = "unbalanced"


def watched(
    model: ClusterModel, memory: Mapping[str, Any], seen_at: datetime | None
) -> dict[int, Unbalanced]:
    """Return the brokers that lost leaders; what was known of them while the cluster was never read."""
    before = _remembered(memory)
    if seen_at is None:
        return before
    return watch_leaders(leader_shares(model), before, int(seen_at.timestamp() * 1000))


@check(*LEADERS)
def found_of(cluster: Cluster, watched: Mapping[int, Unbalanced]) -> Iterator[Finding]:
    """Return a finding for each broker whose leaders the controller did not give back in its time."""
    words = ["--election-type", "preferred", "--all-topic-partitions"]
    command = KafkaTools(cluster.bootstrap_servers).tool("kafka-leader-election", *words)
    for broker, one in watched.items():
        if one.is_lasting:
            yield Finding(
                LEADERS_NOT_BALANCED,
                Severity.WARNING,
                f"Leaders are not balanced: broker {broker} leads {one.share.leads} of "
                f"{one.share.preferred} partitions whose preferred leader it is.",
                "The controller gives leaders back every leader.imbalance.check.interval.seconds (300 by "
                f"default) unless auto.leader.rebalance.enable is false. By hand: {command}",
                f"broker {broker}",
                brokers=(broker,),
                evidence={
                    "broker": broker,
                    "leads": one.share.leads,
                    "preferred": one.share.preferred,
                },
            )


def to_document(watched: Mapping[int, Unbalanced]) -> dict[str, Any]:
    """Return JSON values for the next round."""
    return {
        _KEY: [
            [*one.share[:3], one.since_ms, one.seen_ms, sorted(one.share.lost)]
            for one in watched.values()
        ]
    }


def _remembered(memory: Mapping[str, Any]) -> dict[int, Unbalanced]:
    rows = memory.get(_KEY) or ()
    return {row[0]: Unbalanced(_share(row), row[3], row[4]) for row in rows}


def _share(row: Sequence[Any]) -> LeaderShare:
    return LeaderShare(row[0], row[1], row[2], frozenset(*row[5:]))
