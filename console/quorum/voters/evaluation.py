"""What is wrong with a quorum: the rules of `jobs.quorum.health.rules` over what the console knows of it.

A finding by a description counts when two rounds in a row saw it. What the page says of each replica comes
from the same judgement.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from console.clusters.models import Broker, CollectionRound, Noun
from console.findings import store
from console.findings.check_settings import read_settings
from console.findings.models import Kind as FindingKind
from console.findings.queries import open_findings
from console.frame.pages.freshness import stale_after_s
from console.quorum import queries
from console.quorum.facts import WHY
from console.quorum.history import queries as history
from console.quorum.labels import Kind
from console.quorum.log import gaps
from console.quorum.models import MetadataLog, QuorumStatus, Source
from jobs.checks.check import check
from jobs.cluster.admin.quorum import QuorumDescription
from jobs.findings import Finding, Sightings
from jobs.quorum.advisor.state import is_alive
from jobs.quorum.health.checks import OF, of
from jobs.quorum.health.codes import LIFE, OTHER_DIRECTORY, QuorumCode
from jobs.quorum.health.rules import (
    BY_LEADER,
    QuorumEvaluation,
    QuorumSnapshot,
    evaluate_quorum,
)
from jobs.quorum.health.voter_states import FETCH_TIMEOUT_MS, VoterState, leader_now_ms
from jobs.quorum.timeline.parts import Election, EntrySource, EpochSpan, VoterSetEntry
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_change import VoterChange
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode, VoterSet
from jobs.severity import Severity
from jobs.wire.values import utc_time

_NEW_DISK = (
    "Remove the old directory from the voters and add the new one: see Voter change planner."
)
# On a busy machine rounds come late: two within this time agree in any case.
AGREE_WITHIN_S = 300.0
# One answer proves them.
_AT_ONCE = {
    QuorumCode.FEW_VOTERS,
    QuorumCode.EVEN_VOTERS,
    QuorumCode.NO_DIRECTORY_ID,
    QuorumCode.VOTER_ENDPOINT,
}
# They follow from the voters' states, on which two rounds have agreed already.
_BY_STATES = {QuorumCode.NO_MAJORITY, QuorumCode.BARE_MAJORITY}
ReplicaWords = Mapping[tuple[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class KnownBefore:
    """What was known of a quorum before DescribeQuorum: the newest epoch of its log, registered controllers.

    None: not known.
    """

    epoch: int | None = None
    registered: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a round came to.

    `codes` are those that it judged. `replica_words` are the oddities of voters and observers by role and id.
    `memory` is what the next round is to know.
    """

    found: list[Finding]
    codes: set[str]
    replica_words: ReplicaWords
    memory: dict[str, Any]


def known_before(log: MetadataLog) -> KnownBefore:
    """Return what is known now; of a log that is not followed nothing."""
    if log.source != Source.FETCH or log.heard_at is None:
        return KnownBefore()
    return KnownBefore(log.leader_epoch, frozenset(_subjects(log, Kind.CONTROLLER)) or None)


def evaluate_description(
    log: MetadataLog,
    status: QuorumStatus,
    told: QuorumDescription,
    before: KnownBefore,
    now: datetime,
) -> Judged:
    """Return what is wrong by a description, as far as the round before agrees."""
    memory: Mapping[str, Any] = status.memory
    leader = [told.leader_id, told.leader_epoch]
    is_new = told.leader_id is None or memory.get("leader") != leader
    first_ms = told.described_at_ms if is_new else memory["leader_ms"]
    observers, thresholds = _observers_since(told, memory), read_settings()
    lagging = OF[QuorumCode.VOTER_LAGS]
    picture = QuorumSnapshot(
        told,
        _before(told, memory),
        _last_of_log(log, told),
        controller_ids=_controllers(log, told, observers),
        registered_ids=before.registered,
        epoch_before=before.epoch,
        first_described_ms=first_ms,
        settled_after_ms=FETCH_TIMEOUT_MS + settings.QUORUM_INTERVAL_S * 1000,
        broker_hosts=queries.broker_hosts(log),
        lag_limits=thresholds.values(lagging, cluster=log.cluster_id) or lagging.defaults,
    )
    raw = evaluate_quorum(picture, _ms(now))
    disks = list(_other_disks(told))
    kept = Sightings.from_mapping(memory.get("sightings", {}))
    is_open = {*open_findings(FindingKind.QUORUM, log=log.pk or 0).values_list("code", "subject")}
    if is_new:
        kept = kept.without(BY_LEADER)
        is_open = {key for key in is_open if key[0] not in BY_LEADER}
    late_s = stale_after_s(settings.QUORUM_INTERVAL_S, status.duration_ms)
    within_ms = int(max(late_s, AGREE_WITHIN_S) * 1000)
    keys = {one.key for one in raw.findings} | {one.key for one in disks}
    sightings = kept.after(keys, _ms(now), within_ms)
    agreed = {key for key in keys if sightings.is_agreed(key) or key in is_open}
    agreed |= {key for key in keys if key[0] in _AT_ONCE}
    silent = {int(subject) for code, subject in agreed if code == QuorumCode.VOTER_SILENT}
    judgement = evaluate_quorum(replace(picture, agreed_silent=silent), _ms(now))
    # The rows have no anomalies: the follower judges the log itself.
    by_log = evaluate_quorum(QuorumSnapshot(timeline=picture.timeline), 0).judged
    codes = judgement.judged - by_log
    found = [one for one in judgement.findings if one.code not in by_log] + disks
    found = [
        replace(one, since=_since(one, sightings))
        for one in found
        if one.key in agreed or one.code in _BY_STATES
    ]
    # What another leader said of its voters is over, and a high watermark that moved is not stalled.
    ended = {*BY_LEADER} if is_new else set()
    if picture.before is None and None not in {told.leader_id, told.high_watermark}:
        ended.add(QuorumCode.HIGH_WATERMARK_STALLED)
    return Judged(
        thresholds.in_force(found, cluster=log.cluster_id),
        {*(code.value for code in codes | ended), OTHER_DIRECTORY},
        _replica_words(judgement, found),
        {
            **_mark(told, memory),
            "leader": leader,
            "leader_ms": first_ms,
            "observers": observers,
            "sightings": sightings.to_mapping(),
            "unjudged": _unjudged(told, judgement, agreed),
        },
    )


def _unjudged(
    told: QuorumDescription, judgement: QuorumEvaluation, agreed: Collection[tuple[str, str]]
) -> str:
    """Return why the quorum is not judged by this round; empty when it is."""
    if told.leader_id is not None:
        return judgement.voters.why_unknown
    is_told = (QuorumCode.NO_LEADER.value, "") in agreed
    return (
        "" if is_told else "Not checked yet: one round saw no leader, a second one must confirm it."
    )


def _since(one: Finding, sightings: Sightings) -> datetime | None:
    seen = sightings.seen.get(one.key)
    return None if seen is None else utc_time(seen.first_ms)


def _replica_words(judgement: QuorumEvaluation, found: Collection[Finding]) -> ReplicaWords:
    voters = judgement.voters
    words = {("voter", id_): ["silent"] for id_ in voters.ids(VoterState.SILENT)}
    words |= {("voter", id_): ["not_judged"] for id_ in voters.ids(VoterState.UNKNOWN)}
    for one in found:
        if one.code == QuorumCode.DANGLING_CONTROLLER:
            words["observer", int(one.subject)] = ["dangling"]
        elif one.code == OTHER_DIRECTORY:
            words["observer", int(one.subject)] = [OTHER_DIRECTORY]
    return words


def judge_log(log: MetadataLog, timeline: VoterTimeline, at: datetime) -> None:
    """Write what is and was wrong by a log alone: a followed one now, an imported one at its own end."""
    found, codes = evaluate_log(timeline, at, queries.broker_hosts(log))
    found = read_settings().in_force(found, cluster=log.cluster_id)
    store.save(log, LIFE, found, at, codes)
    log.judged_at = at
    MetadataLog.objects.filter(pk=log.pk).update(judged_at=at)


def evaluate_log(
    timeline: VoterTimeline, now: datetime, broker_hosts: Collection[str] = ()
) -> tuple[list[Finding], set[str]]:
    """Return what is and was wrong by the last day of the log before a moment, and the codes it judges."""
    snapshot = QuorumSnapshot(timeline=timeline, broker_hosts=broker_hosts)
    judgement = evaluate_quorum(snapshot, _ms(now))
    found = [*judgement.findings, *judgement.over]
    return found, {code.value for code in judgement.judged}


@check(*of(OTHER_DIRECTORY))
def _other_disks(told: QuorumDescription) -> Iterator[Finding]:
    """Yield nodes that run with another directory than the voter of their id.

    A broker and controller in one fetches as a voter or as an observer, not as both; a directory that was
    removed from the voters is listed for 300 s without fetching.
    """
    voters = {one.id: one.directory_id for one in told.voters}
    for one in told.observers:
        if one.id in voters and is_alive(one, None, leader_now_ms(told)):
            sentence = f"Node {one.id}: {WHY[OTHER_DIRECTORY]}"
            evidence = {"node": one.id, "directory_id": one.directory_id}
            yield Finding(
                OTHER_DIRECTORY,
                Severity.CRITICAL,
                sentence,
                _NEW_DISK,
                str(one.id),
                evidence=evidence,
            )


def _before(told: QuorumDescription, memory: Mapping[str, Any]) -> QuorumDescription | None:
    """Return the description of the same leader at which the high watermark first was where it is now."""
    is_same = memory.get("leader") == [told.leader_id, told.leader_epoch]
    if not is_same or memory.get("high_watermark") != told.high_watermark:
        return None
    return replace(told, described_at_ms=memory["at_ms"])


def _mark(told: QuorumDescription, memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return since when the high watermark is where it is, as the next round is to know it."""
    before = _before(told, memory)
    at_ms = told.described_at_ms if before is None else before.described_at_ms
    return {"high_watermark": told.high_watermark, "at_ms": at_ms}


def _observers_since(told: QuorumDescription, memory: Mapping[str, Any]) -> dict[str, int]:
    """Return when each observer was first described, by its id as text."""
    known = memory.get("observers", {})
    return {str(one.id): known.get(str(one.id), told.described_at_ms) for one in told.observers}


def _controllers(
    log: MetadataLog, told: QuorumDescription, since_ms: Mapping[str, int]
) -> set[int] | None:
    """Return the observers that are no broker; None while the brokers are not known.

    An observer that was first described after the brokers were read may be a broker that just started.
    """
    rounds = CollectionRound.objects.filter(cluster=log.cluster, noun=Noun.BROKERS)
    read_at = rounds.values_list("succeeded_at", flat=True).first()
    brokers = set(Broker.objects.filter(cluster=log.cluster).values_list("broker_id", flat=True))
    if read_at is None or not brokers:
        return None
    # A fenced broker without partitions is in the log only.
    brokers |= _subjects(log, Kind.BROKER)
    others = {one.id for one in told.observers} - brokers
    return {one for one in others if since_ms[str(one)] <= _ms(read_at)}


def _subjects(log: MetadataLog, kind: Kind) -> set[int]:
    """Return the ids of the brokers or controllers that are registered by the log."""
    rows = history.list_subjects(log, kind).filter(gone_offset=None)
    return {int(key) for key in rows.values_list("key", flat=True) if key.isdecimal()}


def _last_of_log(log: MetadataLog, told: QuorumDescription) -> VoterTimeline | None:
    """Return what the log tells of the described epoch: its leader, and the voters at the leader's place.

    None where the log is not followed, or does not have that epoch yet.
    """
    read = MetadataLog.objects.get(pk=log.pk)  # before its rows, which may only be newer
    if read.source != Source.FETCH or read.failing_since:
        return None
    elections = list(queries.list_elections(log).filter(epoch__gte=told.leader_epoch)[:2])
    if not elections or elections[0].epoch != told.leader_epoch:
        return None
    election, behind = elections[0], [one.offset for one in elections[1:]]
    end = min([read.next_offset, *behind])
    leader = (one.log_end_offset for one in told.voters if one.id == told.leader_id)
    until = min(end, next(leader, None) or end)
    entry = queries.list_voter_sets(log).filter(offset__lt=until).order_by("-offset").first()
    if entry is None:
        return None
    # A static quorum has no record of its voters but its elections.
    named: Any = [{"id": one} for one in election.voters] if entry.is_static else entry.voters
    at_ms = _ms(election.at)
    span = EpochSpan(
        election.epoch,
        election.leader_id,
        election.offset,
        end - 1,
        at_ms,
        _ms(read.last_at or election.at),
    )
    voters = VoterSet(tuple(VoterNode(ReplicaKey(v["id"], v.get("directory_id"))) for v in named))
    newest = VoterSetEntry(
        entry.offset,
        entry.epoch,
        _ms(entry.at),
        voters,
        VoterChange(),
        EntrySource.LOG,
        is_committed=entry.is_committed,
        is_static=entry.is_static,
    )
    elected = Election(
        election.offset, election.epoch, at_ms, election.leader_id, (), (), election.gap_ms, None
    )
    return VoterTimeline(
        entries=(newest,),
        elections=(elected,),
        epochs=(span,),
        silences=(),
        kraft_versions=(),
        unknown=tuple(gaps.ranges(read.gaps)),
        overwritten=(),
        anomalies=(),
        anomalies_left_out={},
        first_offset=read.start_offset,
        end_offset=end,
        high_watermark=read.high_watermark,
        snapshot_end=None,
        kraft_version=None,
    )


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
