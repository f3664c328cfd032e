"""What is wrong with a quorum: the rules of `jobs.quorum.health.rules` over what the console knows of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime

from console.quorum import queries
from console.quorum.history import queries as history
from console.quorum.log.kinds import Kind
from console.quorum.models import MetadataLog, QuorumStatus, Source
from console.quorum.voters.findings import Found
from console.quorum.voters.replicas import WHY
from jobs.cluster.admin.quorum import QuorumDescription
from jobs.quorum.health.finding import QuorumFinding
from jobs.quorum.health.rules import QuorumSnapshot, evaluate_quorum
from jobs.quorum.timeline.parts import EntrySource, EpochSpan, VoterSetEntry
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_change import VoterChange
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode, VoterSet

OTHER_DIRECTORY = "other_directory"
_NEW_DISK = (
    "Remove the old directory from the voters and add the new one: Change voters has the steps."
)


def evaluate_description(
    log: MetadataLog,
    status: QuorumStatus,
    told: QuorumDescription,
    brokers: Collection[int],
    now: datetime,
) -> tuple[list[Found], set[str]]:
    """Return what is wrong by a description, and the codes that it judges.

    `status.memory` remembers since when the high watermark stands where it does; it is changed, not saved.
    """
    picture = QuorumSnapshot(
        told,
        _before(status, told),
        _last_of_log(log),
        controller_ids=_controllers(told, brokers),
        registered_ids=_registered(log),
    )
    judgement = evaluate_quorum(picture, _ms(now))
    # The rows have no anomalies: the follower judges the log itself.
    by_log = evaluate_quorum(QuorumSnapshot(timeline=picture.timeline), _ms(now)).judged
    codes = judgement.judged - by_log
    found = [_found(one) for one in judgement.findings if one.code in codes]
    return [*found, *_other_disks(status)], {*(code.value for code in codes), OTHER_DIRECTORY}


def evaluate_log(timeline: VoterTimeline, now: datetime) -> tuple[list[Found], set[str]]:
    """Return what is wrong by the last day of the log, and the codes that it judges."""
    judgement = evaluate_quorum(QuorumSnapshot(timeline=timeline), _ms(now))
    return [_found(one) for one in judgement.findings], {code.value for code in judgement.judged}


def _found(one: QuorumFinding) -> Found:
    return Found(
        one.code.value,
        one.severity.value,
        one.sentence,
        one.todo,
        one.subject,
        dict(one.evidence),
    )


def _other_disks(status: QuorumStatus) -> Iterator[Found]:
    for row in status.replicas:
        if OTHER_DIRECTORY in row["words"]:
            sentence = f"Node {row['id']}: {WHY[OTHER_DIRECTORY]}"
            evidence = {"directory_id": row["directory_id"]}
            yield Found(OTHER_DIRECTORY, "risk", sentence, _NEW_DISK, str(row["id"]), evidence)


def _before(status: QuorumStatus, told: QuorumDescription) -> QuorumDescription | None:
    """Return the description at which the high watermark first stood where it stands now."""
    seen: dict[str, int] = status.memory
    if seen.get("high_watermark") == told.high_watermark and told.high_watermark is not None:
        return replace(told, described_at_ms=seen["at_ms"])
    status.memory = {"high_watermark": told.high_watermark, "at_ms": told.described_at_ms}
    return None


def _controllers(told: QuorumDescription, brokers: Collection[int]) -> set[int] | None:
    """Return the observers that are no broker; None while the brokers are not known."""
    if not brokers:
        return None
    return {one.id for one in told.observers if one.id not in brokers}


def _registered(log: MetadataLog) -> set[int] | None:
    """Return the controllers that the log says are registered; None where it is not read."""
    if log.source != Source.FETCH or log.heard_at is None:
        return None
    rows = history.list_subjects(log, Kind.CONTROLLER).filter(gone_offset=None)
    return {int(key) for key in rows.values_list("key", flat=True) if key.isdecimal()} or None


def _last_of_log(log: MetadataLog) -> VoterTimeline | None:
    """Return the newest voters and leader that the log told, as a timeline of one entry."""
    entry = queries.list_voter_sets(log).order_by("-offset").first()
    election = queries.list_elections(log).order_by("-offset").first()
    if entry is None or election is None or log.source != Source.FETCH or log.failing_since:
        return None
    span = EpochSpan(
        election.epoch,
        election.leader_id,
        election.offset,
        log.next_offset - 1,
        _ms(election.at),
        _ms(log.last_at or election.at),
    )
    voters = VoterSet(
        tuple(VoterNode(ReplicaKey(v["id"], v.get("directory_id"))) for v in entry.voters)
    )
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
    return VoterTimeline(
        entries=(newest,),
        elections=(),
        epochs=(span,),
        silences=(),
        kraft_versions=(),
        unknown=(),
        overwritten=(),
        anomalies=(),
        anomalies_left_out={},
        first_offset=log.start_offset,
        end_offset=log.next_offset,
        high_watermark=log.high_watermark,
        snapshot_end=None,
        kraft_version=None,
    )


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
