"""Drift as findings: how the two sides differ, what the next sync would delete, what names hide. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jobs.checks.check import check
from jobs.findings import Finding
from jobs.replication.findings.checks import of
from jobs.replication.findings.codes import Code
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.drift import ConfigDrift, DriftReport, TopicDrift
from jobs.severity import Severity

# A finding names so many settings or ACLs; the report (`crosslog drift`) has all.
_MOST_NAMED = 5
_BRACKETS = {"{": "}", "[": "]", "(": ")"}
_DELETE = "delete"


@check(
    *of(
        Code.PARTITIONS_DIFFER,
        Code.REPLICATION_FACTOR_DIFFERS,
        Code.CONFIG_DELETED_NEXT,
        Code.CONFIG_DIFFERS,
        Code.ACLS_NOT_SYNCED,
        Code.ACLS_ONLY_ON_TARGET,
        Code.TOPIC_LEFT_OUT,
        Code.TOPIC_REFUSED,
        Code.TOPIC_MISSING,
    )
)
def drift_findings(
    flow: FlowSpec, report: DriftReport, *, sync_is_on: bool = True
) -> Iterator[Finding]:
    """Yield what a person should know of a drift report.

    `sync_is_on`: the settings of topics are synced at all (for MirrorMaker 2: `sync.topic.configs.enabled`).
    """
    for topic in report.topics:
        yield from _of_topic(flow, topic, sync_is_on=sync_is_on)
    for surprise in report.surprises:
        yield Finding(
            Code.TOPIC_LEFT_OUT,
            Severity.WARNING,
            f"{surprise.topic}: {surprise.text}",
            "To change this, edit the flow's patterns or rename the topic.",
            subject=surprise.topic,
            topic=surprise.topic,
        )
    for name, reason in sorted(report.refused.items()):
        yield Finding(
            Code.TOPIC_REFUSED,
            Severity.CRITICAL,
            f"{name} on {flow.target.alias} must not be written by this flow: {reason}",
            "Choose other names for the flow's remote topics, or let it append (on_existing).",
            subject=name,
            topic=name,
        )
    if report.never_synced:
        yield _never_synced(flow, report.never_synced)
    yield from broken_patterns(flow.topics if flow.is_watched else ())


@check(*of(Code.BROKEN_PATTERN))
def broken_patterns(patterns: Iterable[str]) -> Iterator[Finding]:
    """Yield patterns that MirrorMaker 2 takes apart at a comma that belongs to them, as in `{1,3}`."""
    for pattern in patterns:
        if _has_inner_comma(pattern):
            yield Finding(
                Code.BROKEN_PATTERN,
                Severity.WARNING,
                f"MirrorMaker 2 splits the pattern {pattern} at its comma into two patterns: it matches "
                "other topics than intended, or none.",
                "Write it without a comma: `{1,3}` as alternatives, `[a,b]` as `[ab]`.",
                subject=pattern,
                evidence={"pieces": " | ".join(pattern.split(","))},
            )


def _has_inner_comma(pattern: str) -> bool:
    """Return whether a comma is between an opening bracket and the next one that closes it."""
    return any(
        "," in part.partition(closing)[0]
        for opening, closing in _BRACKETS.items()
        for part in pattern.split(opening)[1:]
    )


def _of_topic(flow: FlowSpec, topic: TopicDrift, *, sync_is_on: bool) -> Iterator[Finding]:
    if topic.problem:
        if topic.remote_topic:
            yield _missing(flow, topic)
        return
    if topic.partitions != topic.remote_partitions:
        yield _partitions(flow, topic)
    if topic.replication_factor > topic.remote_replication_factor:
        yield _factor(flow, topic)
    deleted = [c for c in topic.configs if sync_is_on and _is_deleted_next(flow, c)]
    if deleted:
        yield _deleted_next(flow, topic, deleted)
    others = [c for c in topic.configs if c.is_drift and c not in deleted]
    if others:
        yield _different(flow, topic, others)
    yield from _acls(flow, topic)


def _is_deleted_next(flow: FlowSpec, config: ConfigDrift) -> bool:
    return config.mm2_deletes if flow.is_watched else config.next_sync == _DELETE


def _missing(flow: FlowSpec, topic: TopicDrift) -> Finding:
    target, remote = flow.target.alias, topic.remote_topic
    is_gone = "UNKNOWN_TOPIC_OR_PART" in topic.problem
    return Finding(
        Code.TOPIC_MISSING,
        Severity.CRITICAL,
        f"{remote} does not exist on {target}: no record of {topic.topic} was replicated."
        if is_gone
        else f"{topic.topic} cannot be compared with {remote} on {target}: {topic.problem}",
        "Check that MirrorMaker 2 runs, selects the topic and may create it (CREATE on the target)."
        if flow.is_watched
        else "The flow's status shows why it cannot create the topic.",
        **_about(topic),
    )


def _partitions(flow: FlowSpec, topic: TopicDrift) -> Finding:
    is_less = topic.remote_partitions < topic.partitions
    return Finding(
        Code.PARTITIONS_DIFFER,
        Severity.CRITICAL if is_less else Severity.WARNING,
        f"{topic.topic} has {topic.partitions} partitions on {flow.source.alias}, {topic.remote_topic} has "
        f"{topic.remote_partitions} on {flow.target.alias}.",
        "The flow adds them with its next sync. If this lasts, it lacks ALTER on the topic."
        if is_less
        else "Keys map to other partitions on the target. Partitions cannot be removed: delete and re-create "
        "the remote topic to have fewer.",
        evidence={
            "source_partitions": topic.partitions,
            "target_partitions": topic.remote_partitions,
        },
        **_about(topic),
    )


def _factor(flow: FlowSpec, topic: TopicDrift) -> Finding:
    return Finding(
        Code.REPLICATION_FACTOR_DIFFERS,
        Severity.INFO,
        f"{topic.remote_topic} has RF {topic.remote_replication_factor} on {flow.target.alias}, "
        f"{topic.topic} has RF {topic.replication_factor} on {flow.source.alias}.",
        "After a failover it survives fewer broker failures. Add replicas with kafka-reassign-partitions.sh, "
        "and set replication_factor (replication.factor in MirrorMaker 2, by default 2) for later topics.",
        evidence={
            "source_replicas": topic.replication_factor,
            "target_replicas": topic.remote_replication_factor,
        },
        **_about(topic),
    )


def _deleted_next(flow: FlowSpec, topic: TopicDrift, deleted: list[ConfigDrift]) -> Finding:
    who = "MirrorMaker 2's next sync (every 10 min)" if flow.is_watched else "The flow's next sync"
    return Finding(
        Code.CONFIG_DELETED_NEXT,
        Severity.WARNING,
        f"{who} deletes {_named(c.key for c in deleted)} of {topic.remote_topic}, which only the remote "
        "topic sets.",
        "Set it on the source topic as well, or exclude it (config.properties.exclude)"
        + ("." if flow.is_watched else ", or turn delete_target_overrides off."),
        evidence={c.key: c.target for c in deleted},
        **_about(topic),
    )


def _different(flow: FlowSpec, topic: TopicDrift, others: list[ConfigDrift]) -> Finding:
    return Finding(
        Code.CONFIG_DIFFERS,
        Severity.WARNING,
        f"{_named(c.key for c in others)} of {topic.remote_topic} differ from {topic.topic}.",
        "Values that the next sync does not set stay until they are changed by hand.",
        evidence={
            c.key: f"{_shown(c.source)} on {flow.source.alias}, {_shown(c.target)} on {flow.target.alias}"
            for c in others
        },
        **_about(topic),
    )


def _acls(flow: FlowSpec, topic: TopicDrift) -> Iterator[Finding]:
    if topic.acls is None:
        return
    for code, acls, where in (
        (Code.ACLS_NOT_SYNCED, topic.acls.missing, "lacks"),
        (Code.ACLS_ONLY_ON_TARGET, topic.acls.only_on_target, "alone has"),
    ):
        if acls:
            yield Finding(
                code,
                Severity.WARNING,
                f"{topic.remote_topic} on {flow.target.alias} {where} {len(acls)} ACLs: {_named(acls)}.",
                "Turn on the sync of ACLs (sync_acls), or add them on the target."
                if code is Code.ACLS_NOT_SYNCED
                else "The sync never deletes ACLs of a remote topic: remove unwanted ACLs by hand.",
                evidence={"acls": len(acls)},
                **_about(topic),
            )


def _never_synced(flow: FlowSpec, notes: Sequence[str]) -> Finding:
    return Finding(
        Code.ACLS_NOT_SYNCED,
        Severity.WARNING,
        f"Some ACLs of {flow.source.alias} are never synced: {' '.join(notes)}",
        f"Add them on {flow.target.alias} by hand before a failover.",
        evidence={"kinds_of_acls": len(notes)},
    )


def _about(topic: TopicDrift) -> dict[str, Any]:
    return {"subject": topic.topic, "topic": topic.topic}


def _named(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _MOST_NAMED
    return ", ".join(listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _shown(value: str | None) -> str:
    return "not set" if value is None else value or '""'
