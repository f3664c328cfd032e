"""Changes of topology in a new survey of a running flow: pure rules.

T1  A partition that can be copied and is not: new.
T2  A copied partition whose topic was created again: all restarts, with the new topic's beginning,
    if that is accepted; else ended.
T3  A copied partition whose topic is gone, or no longer selected: ended.
T4  Any other doubt about a copied partition is left to its task, which sees more than a survey:
    a missing leader, a log that became shorter, a remote topic that cannot be described just now.
T5  A partition that is not copied and cannot be: refused, with the newest reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.flow.plan import FlowPlan


@dataclass(slots=True)
class Difference:
    """What is to be done about it; `ended` and `refused` say what is shown from now on.

    `unknown` are partitions that no survey mentions any more.
    """

    new: list[PartitionStart] = field(default_factory=list)
    again: list[PartitionStart] = field(default_factory=list)
    ended: list[PartitionProgress] = field(default_factory=list)
    refused: list[PartitionProgress] = field(default_factory=list)
    unknown: list[TopicPartition] = field(default_factory=list)


def compare(
    held: Collection[TopicPartition],
    ids: Mapping[str, str],
    plan: FlowPlan,
    seen_ids: Mapping[str, str],
) -> Difference:
    """Compare what is copied (with the topic ids under which it is) with a new plan.

    `seen_ids` are the ids that topics have on the source now; the plan's own are those that are accepted.
    """
    found = Difference()
    held = frozenset(held)
    for start in plan.starts:
        if start.where not in held:
            found.new.append(start)
        elif _differs(start.topic, ids, plan.topic_ids):
            found.again.append(start)
    for row in plan.refused:
        where = TopicPartition(row.topic, row.partition)
        if where not in held:
            found.refused.append(row)
        elif row.state is CopyState.STOPPED or _differs(row.topic, ids, seen_ids):
            found.ended.append(row)
    mentioned = {start.where for start in plan.starts}
    mentioned |= {TopicPartition(row.topic, row.partition) for row in plan.refused}
    found.unknown = sorted(where for where in held if where not in mentioned)
    return found


def _differs(topic: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    return topic in before and topic in now and before[topic] != now[topic]
