"""The check of internal topics that no group of their cluster owns. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.checks.check import Pattern, check
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_least, sum_of
from jobs.streams.audit.conditions import FOR, lasts, some, streams_check
from jobs.wire.topics.streams_topics import is_internal

# Of one cluster: how many are remembered, how many evidence names.
_MOST, _NAMED = 200, 20

ORPHANS = streams_check(
    id="streams_orphan_topics",
    title="Kafka Streams topics of no application",
    question="Has every internal topic a group that owns it?",
    rule="Topics end as internal topics of Kafka Streams do, no group of the cluster has an id with which "
    "their names begin, and no flow writes them. Not judged while topics or groups are not fully known. Of a "
    "cluster 200 topics are watched. Only names tell: another program may have made them. Brokers do not "
    "list groups that the account of crosslog may not DESCRIBE.",
    runbook="Look for a group that crosslog may not DESCRIBE, and find out whether the application will "
    "start again. If not, delete its topics, or run kafka-streams-application-reset.",
    thresholds=(lasts(86_400),),
    narrowed_by=Pattern.TOPIC,
    is_advice=True,
)


@dataclass(frozen=True, slots=True)
class ClusterTopics:
    """Topics of a cluster that may be internal, with their records (None: not known), and all group ids."""

    cluster: int
    alias: str
    topics: Mapping[str, int | None]
    group_ids: Collection[str]
    copies: Collection[str] = field(default_factory=frozenset)


@check(ORPHANS)
def judge_orphans(
    one: ClusterTopics,
    settings: Settings,
    waited: Mapping[str, float],
    passed_s: float,
    now: datetime,
) -> tuple[list[Finding], dict[str, float]]:
    """Return the finding of a cluster, and how long topics have been orphans, as far as it was watched."""
    lasting: dict[str, float] = {}
    found = []
    for name in sorted(one.topics):
        values = settings.values(ORPHANS, cluster=one.cluster, topic=name)
        if values is None or name in one.copies or not is_orphan(name, one.group_ids):
            continue
        held_s = waited[name] + passed_s if name in waited else 0.0
        if len(lasting) < _MOST:
            lasting[name] = held_s
        if held_s >= values[FOR]:
            found.append(name)
    if not found:
        return [], lasting
    records = sum_of(one.topics[name] for name in found)
    count = "1 topic ends" if len(found) == 1 else f"{len(found):,} topics end"
    finding = ORPHANS.finding(
        f"{count} as internal topics of Kafka Streams do, and no group of {one.alias} owns them: "
        f"{some(found)}. Records: {format_least(records.value, records.unknown)}.",
        evidence={"topics": found[:_NAMED], "topic_count": len(found), "records": records.value},
        since=now - timedelta(seconds=max(lasting.get(name, 0.0) for name in found)),
    )
    return [finding], lasting


def is_orphan(topic: str, group_ids: Collection[str]) -> bool:
    """Whether a topic is internal for some id, and for none of these."""
    ids = [topic[:at] for at, letter in enumerate(topic) if letter == "-" and at]
    owners = [one for one in ids if is_internal(one, topic)]
    return bool(owners) and not any(one in group_ids for one in owners)
