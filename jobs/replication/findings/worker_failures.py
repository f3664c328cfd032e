"""Findings about connectors, heartbeats, offset syncs and converters of a flow. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from jobs.checks.check import check
from jobs.findings import Finding
from jobs.replication.copy.positions import MANY_RECORDS, SEGMENT_BYTES
from jobs.replication.findings.checks import STALE, UNASSIGNED, of
from jobs.replication.findings.codes import Code
from jobs.replication.findings.snapshot import ConnectorStatus, FlowSnapshot, HeartbeatsSnapshot
from jobs.replication.flow.spec import SET_APART_H
from jobs.severity import Severity
from jobs.wire.topics.connect_records import StatusKey

_LONGEST_TRACE = 300


@check(*of(Code.TASK_FAILED, Code.CONNECTOR_PAUSED, Code.TASK_NOT_ASSIGNED))
def find_bad_states(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield connectors and tasks of MirrorMaker 2 that say themselves that they do not work."""
    limit = snapshot.limit(Code.TASK_NOT_ASSIGNED, UNASSIGNED)
    for key, said in sorted((snapshot.statuses or {}).items(), key=lambda entry: str(entry[0])):
        match said.status.state:
            case "FAILED":
                yield _failed(key, said)
            case "PAUSED" | "STOPPED" if key.task is None:
                yield _paused(key, said)
            case "UNASSIGNED" | "RESTARTING" if snapshot.at - said.at >= limit:
                yield _not_assigned(key, said)


@check(*of(Code.FLOW_SET_APART))
def find_set_apart(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield a flow of crosslog that was at work when a slot of its engine died, twice."""
    at = snapshot.set_apart_at
    if at is not None:
        until = at + timedelta(hours=SET_APART_H)
        yield Finding(
            Code.FLOW_SET_APART,
            Severity.WARNING,
            f"A slot of the engine died twice while {snapshot.flow} replicated: since {at:%d %b %H:%M} UTC "
            f"the flow has an application of its own, until its first start after {until:%d %b %H:%M} UTC.",
            "Read the log of the engine, and of the flow's run that ended then, for what ended the process. "
            "Stop and start the flow when the cause is removed: it shares its engine again at once.",
            since=at,
        )


@check(*of(Code.HEARTBEATS_STALE, Code.HEARTBEATS_ABSENT))
def find_stale_heartbeats(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield heartbeats that stopped, and why a flow has none."""
    beats = snapshot.heartbeats
    if beats is None or not snapshot.should_move:
        return
    if beats.arrived_at is not None:
        yield from _stopped_arriving(snapshot, beats, beats.arrived_at)
    elif snapshot.is_watched:
        yield _absent(snapshot, beats)
    if beats.emitted_at is not None and snapshot.heartbeats_wanted:
        yield from _stopped_being_sent(snapshot, beats.emitted_at)


@check(*of(Code.SYNCS_MISSING, Code.SYNCS_UNREADABLE))
def find_missing_syncs(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield why offsets cannot be translated."""
    syncs = snapshot.syncs
    if syncs is None:
        return
    where = {"syncs_topic": syncs.topic, "cluster": syncs.cluster}
    if not syncs.is_enabled:
        yield Finding(
            Code.SYNCS_MISSING,
            Severity.WARNING,
            "The flow writes no offset syncs: no offset of a group can be translated.",
            "Turn them on (emit.offset-syncs.enabled in MirrorMaker 2, offset_syncs in crosslog).",
            evidence=where,
        )
    elif syncs.error:
        yield Finding(
            Code.SYNCS_UNREADABLE,
            Severity.CRITICAL,
            f"{syncs.topic} on {syncs.cluster} cannot be read: {syncs.error}",
            f"Give crosslog's principal DESCRIBE and READ on {syncs.topic}.",
            evidence={**where, "error": syncs.error},
        )
    elif not syncs.exists:
        other = (
            " There is one on the other cluster: if it is this flow's, set where offset syncs are in the "
            "flow's "
            "settings."
            if syncs.is_elsewhere
            else ""
        )
        yield Finding(
            Code.SYNCS_MISSING,
            Severity.CRITICAL,
            f"{syncs.topic} does not exist on {syncs.cluster}: no offset of a group can be translated.",
            "Check emit.offset-syncs.enabled, offset-syncs.topic.location and the names of both clusters."
            + other,
            evidence=where,
        )
    elif syncs.refused and not syncs.partitions:
        yield Finding(
            Code.SYNCS_UNREADABLE,
            Severity.CRITICAL,
            f"{syncs.topic} on {syncs.cluster} holds {syncs.refused:,} records and none is an offset sync.",
            "Find out who writes there; another flow may use the same topic.",
            evidence={**where, "records_refused": syncs.refused},
        )


@check(*of(Code.WRAPPED_RECORDS))
def find_wrapped_records(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield topics whose records went through JsonConverter: clients cannot read them."""
    for topic, count in sorted((snapshot.wrapped or {}).items()):
        if count:
            yield Finding(
                Code.WRAPPED_RECORDS,
                Severity.CRITICAL,
                f"{count:,} of the newest records of {topic} are wrapped in JSON: clients of MirrorMaker 2 "
                "cannot "
                "read them, and copied records are likely wrapped as well.",
                "Set key.converter, value.converter and header.converter of the connectors to "
                "org.apache.kafka.connect.converters.ByteArrayConverter.",
                subject=topic,
                topic=topic,
                evidence={"records_wrapped": count},
            )


@check(*of(Code.POSITIONS_NOT_COMPACTED))
def find_long_positions(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield the topic of positions where brokers do not compact it: every start reads all of it."""
    topic, count = snapshot.positions_topic, snapshot.position_records or 0
    if count >= MANY_RECORDS:
        yield Finding(
            Code.POSITIONS_NOT_COMPACTED,
            Severity.WARNING,
            f"{topic} on {snapshot.target} holds {count:,} records, and every start of the flow reads them "
            "all: brokers compact closed segments only.",
            f"Set segment.bytes={SEGMENT_BYTES} on {topic} (kafka-configs.sh --alter --entity-type topics), "
            "and check that the brokers' log cleaner runs (log.cleaner.enable, its metrics "
            "uncleanable-partitions-count and max-dirty-percent).",
            subject=topic,
            topic=topic,
            evidence={"records": count},
        )


def _failed(key: StatusKey, said: ConnectorStatus) -> Finding:
    reason = said.status.trace.strip().partition("\n")[0][:_LONGEST_TRACE]
    return Finding(
        Code.TASK_FAILED,
        Severity.CRITICAL,
        f"{key} has failed: {reason or 'without an error message'}",
        "Connect does not start it again. Remove the cause, then restart it (POST "
        f"/connectors/{key.connector}/restart?includeTasks=true&onlyFailed=true, or the whole MirrorMaker 2 "
        "where it has no REST interface).",
        subject=str(key),
        evidence=_said(said),
        since=said.at,
    )


def _paused(key: StatusKey, said: ConnectorStatus) -> Finding:
    return Finding(
        Code.CONNECTOR_PAUSED,
        Severity.WARNING,
        f"{key} is {said.status.state}: it replicates nothing.",
        f"Resume it: PUT /connectors/{key.connector}/resume.",
        subject=str(key),
        evidence=_said(said),
        since=said.at,
    )


def _not_assigned(key: StatusKey, said: ConnectorStatus) -> Finding:
    return Finding(
        Code.TASK_NOT_ASSIGNED,
        Severity.CRITICAL,
        f"{key} is {said.status.state}: no worker runs it.",
        "Check that MirrorMaker 2's workers run and reach each other; restart them.",
        subject=str(key),
        evidence=_said(said),
        since=said.at,
    )


def _said(said: ConnectorStatus) -> dict[str, str | int | None]:
    return {"state": said.status.state, "worker": said.status.worker_id}


def _stopped_arriving(
    snapshot: FlowSnapshot, beats: HeartbeatsSnapshot, arrived_at: datetime
) -> Iterator[Finding]:
    age, limit = snapshot.at - arrived_at, snapshot.limit(Code.HEARTBEATS_STALE, STALE)
    if age < limit:
        return
    source = beats.at_source
    is_sent = source is not None and snapshot.at - source < limit
    evidence = {
        "arrived_age_s": int(age.total_seconds()),
        "sent_age_s": int((snapshot.at - source).total_seconds()) if source else None,
    }
    if is_sent:
        yield Finding(
            Code.HEARTBEATS_STALE,
            Severity.CRITICAL,
            f"Heartbeats are sent on {snapshot.source}, but none has arrived in {beats.arrives_in} on "
            f"{snapshot.target} for {_minutes(age)}: the flow replicates nothing.",
            "Check whether other topics advance, then check the log of this flow's replicator.",
            evidence=evidence,
            since=arrived_at,
        )
        return
    yield Finding(
        Code.HEARTBEATS_STALE,
        Severity.WARNING,
        f"No heartbeat was written to {snapshot.source} for {_minutes(age)}, so none reaches "
        f"{snapshot.target}: they no longer show whether the flow works.",
        f"The heartbeat connector of the opposite direction, {snapshot.target} to {snapshot.source}, writes "
        "them: check that it runs.",
        evidence=evidence,
        since=arrived_at,
    )


def _absent(snapshot: FlowSnapshot, beats: HeartbeatsSnapshot) -> Finding:
    return Finding(
        Code.HEARTBEATS_ABSENT,
        Severity.INFO,
        f"No heartbeats of {snapshot.source} reach {snapshot.target}: an idle flow looks like a dead one.",
        f"The heartbeat connector of the opposite direction ({snapshot.target} to {snapshot.source}) writes "
        f"the topic heartbeats on {snapshot.source}. Dedicated MirrorMaker 2 runs it; Connect and Strimzi "
        "with one direction do not. Add it, and let the flow replicate heartbeats.",
        evidence={"heartbeats_on_source": "yes" if beats.at_source else "none"},
    )


def _stopped_being_sent(snapshot: FlowSnapshot, emitted_at: datetime) -> Iterator[Finding]:
    age = snapshot.at - emitted_at
    if age >= snapshot.limit(Code.HEARTBEATS_STALE, STALE):
        yield Finding(
            Code.HEARTBEATS_STALE,
            Severity.WARNING,
            f"The replicator of this flow has sent no heartbeat to {snapshot.target} for {_minutes(age)}.",
            "Its process hangs or has ended: check its log and restart it.",
            subject="emitter",
            evidence={"sent_age_s": int(age.total_seconds())},
            since=emitted_at,
        )


def _minutes(age: timedelta) -> str:
    return f"{age.total_seconds() / 60:.0f} min"
