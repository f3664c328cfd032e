"""Remote topics follow their source topics: partitions, settings and ACLs.

Source of the rules: MirrorSourceConnector of Kafka 4.3.1, which does this every 600 s. The plan
(`plan_sync`) only reads and is what a person sees as the dry run; `sync_topics` makes it true.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.cluster.admin.acls import create_acls
from jobs.cluster.admin.configs import ConfigAlteration, alter_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.changes import ACL, PARTITIONS, TopicChange, TopicNote
from jobs.replication.topics.config_sync import ConfigDifference
from jobs.replication.topics.plan import (
    ACLS,
    CONFIGS,
    Overrides,
    TopicPlan,
    acl_change,
    config_change,
    plan_topics,
    read_topics_state,
)
from jobs.replication.topics.remote_topics import grow_remote_topics

logger = logging.getLogger(__name__)

_Done = tuple[list[TopicChange], list[TopicNote]]


@dataclass(frozen=True, slots=True)
class TopicSync:
    """What one sync did (`changes`), did not change (`notes`) and could not do (`failures`).

    `overrides` are for the next call, see `sync_topics`.
    """

    at: datetime
    changes: tuple[TopicChange, ...] = ()
    notes: tuple[TopicNote, ...] = ()
    failures: tuple[TopicNote, ...] = ()
    overrides: Overrides = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        return {
            "at": self.at.isoformat(),
            "changes": [change.to_mapping() for change in self.changes],
            "notes": [note.to_mapping() for note in self.notes],
            "failures": [failure.to_mapping() for failure in self.failures],
        }


def plan_sync(
    source: ClusterClient,
    target: ClusterClient,
    flow: FlowSpec,
    topics: Sequence[TopicDescription],
    copied: Overrides | None = None,
) -> TopicPlan:
    """Return what `sync_topics` would do now; changes nothing, raises nothing."""
    parts = [CONFIGS] if flow.sync_configs else []
    parts += [ACLS] if flow.sync_acls else []
    return plan_topics(flow, read_topics_state(source, target, flow, topics, parts=parts), copied)


def sync_topics(
    source: ClusterClient,
    target: ClusterClient,
    flow: FlowSpec,
    topics: Sequence[TopicDescription],
    now: datetime,
    copied: Overrides | None = None,
) -> TopicSync:
    """Make the remote topics of these source topics follow them; raises nothing.

    `topics` are those that the flow copies (`Preflight.copied_topics`). `copied` are the `overrides` of
    the sync before: with them, a setting that the source topic removed is removed here, too.
    """
    plan = plan_sync(source, target, flow, topics, copied)
    changes, failures = apply_plan(target, plan)
    for change in changes:
        logger.info("remote topic changed flow=%s %s", flow.name, change)
    failed = (*plan.failures, *failures)
    return TopicSync(
        now, tuple(changes), plan.notes, failed, _remembered(plan, failed, copied or {})
    )


def apply_plan(target: ClusterClient, plan: TopicPlan) -> _Done:
    """Do what was planned; return what was done and what failed. One topic holds no other back."""
    changes: list[TopicChange] = []
    failures: list[TopicNote] = []
    steps: tuple[tuple[object, Callable[[], _Done]], ...] = (
        (plan.growths, lambda: _grow(target, plan)),
        (plan.configs, lambda: _alter(target, plan.configs)),
        (plan.acls, lambda: _create_acls(target, plan)),
    )
    for wanted, step in steps:
        try:
            done, failed = step() if wanted else ([], [])
        except ClusterFault as fault:
            done, failed = [], [_failure("", "", fault)]
        changes += done
        failures += failed
    return changes, failures


def _grow(target: ClusterClient, plan: TopicPlan) -> _Done:
    grown, faults = grow_remote_topics(target, plan.growths)
    failures = [_failure(name, PARTITIONS, fault) for name, fault in faults.items()]
    return [growth.change() for growth in grown.values()], failures


def _alter(target: ClusterClient, configs: Mapping[str, Sequence[ConfigDifference]]) -> _Done:
    """Change settings; where a topic's are refused together, try one by one."""
    answers = alter_topic_configs(target, {name: _wanted(d) for name, d in configs.items()})
    changes: list[TopicChange] = []
    failures: list[TopicNote] = []
    for name, fault in answers.items():
        found = configs[name]
        if fault is None:
            changes += [config_change(name, one) for one in found]
        elif len(found) == 1 or fault.retriable:
            failures += [_failure(name, one.key, fault) for one in found]
        else:
            done, failed = _alter_one_by_one(target, name, found)
            changes += done
            failures += failed
    return changes, failures


def _alter_one_by_one(target: ClusterClient, name: str, found: Sequence[ConfigDifference]) -> _Done:
    changes: list[TopicChange] = []
    failures: list[TopicNote] = []
    for one in found:
        fault = alter_topic_configs(target, {name: _wanted([one])})[name]
        if fault is None:
            changes.append(config_change(name, one))
        else:
            failures.append(_failure(name, one.key, fault))
    return changes, failures


def _wanted(found: Sequence[ConfigDifference]) -> list[ConfigAlteration]:
    return [alteration for one in found if (alteration := one.alteration())]


def _create_acls(target: ClusterClient, plan: TopicPlan) -> _Done:
    answers = create_acls(target, plan.acls)
    failures = [_failure(b.name, ACL, fault) for b, fault in answers.items() if fault]
    return [acl_change(b) for b, fault in answers.items() if fault is None], failures


def _failure(topic: str, key: str, fault: ClusterFault) -> TopicNote:
    return TopicNote(topic, key, f"{fault.message} {fault.hint}")


def _remembered(plan: TopicPlan, failures: Sequence[TopicNote], copied: Overrides) -> Overrides:
    """Return what the next sync must know: what failed now is remembered as it was before."""
    failed = {(failure.topic, failure.key) for failure in failures}
    all_failed = any(not topic for topic, _ in failed)
    found = dict(plan.overrides)
    for name, before in copied.items():
        is_read = name in plan.overrides and not all_failed
        kept = {k: v for k, v in before.items() if not is_read or (name, k) in failed}
        found[name] = {**kept, **found.get(name, {})}
    return found
