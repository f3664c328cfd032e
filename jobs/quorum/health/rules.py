"""All rules about a quorum's health over what is known of it; the clock is passed in. Pure.

What could not be asked is not judged: `judged` names the codes about which the answer is complete, so that
who keeps findings knows which of them ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from jobs.cluster.admin.quorum import QuorumDescription
from jobs.quorum.health.compare import (
    LogDigest,
    find_different_replicas,
    find_disagreement,
    find_uncommitted_change,
)
from jobs.quorum.health.describe_quorum_rules import (
    find_lagging_voters,
    find_odd_replicas,
    find_stall,
    find_weak_majority,
)
from jobs.quorum.health.finding import QuorumCode, QuorumFinding, worst_first
from jobs.quorum.health.metadata_log_rules import (
    find_clock_skew,
    find_election_trouble,
    find_log_faults,
)
from jobs.quorum.timeline.voter_timeline import VoterTimeline

_BY_DESCRIPTION = frozenset(
    {
        QuorumCode.NO_MAJORITY,
        QuorumCode.NO_LEADER,
        QuorumCode.BARE_MAJORITY,
        QuorumCode.FEW_VOTERS,
        QuorumCode.EVEN_VOTERS,
        QuorumCode.VOTER_SILENT,
        QuorumCode.VOTER_LAGS,
        QuorumCode.NO_DIRECTORY_ID,
    }
)
_BY_LOG = frozenset(
    {
        QuorumCode.ELECTION_STORM,
        QuorumCode.EPOCH_JUMP,
        QuorumCode.NO_ACTIVE_CONTROLLER,
        QuorumCode.CLOCK_SKEW,
        QuorumCode.UNSAFE_CHANGE,
        QuorumCode.LOG_BROKEN,
        QuorumCode.RECORDS_MISSING,
    }
)


@dataclass(frozen=True, slots=True)
class QuorumSnapshot:
    """What is known of a quorum; None for what could not be asked.

    `before` is an earlier description. `controller_ids` are nodes with the role controller,
    `registered_ids` those that are registered in the log. `replicas` are several copies of the log.
    """

    description: QuorumDescription | None = None
    before: QuorumDescription | None = None
    timeline: VoterTimeline | None = None
    controller_ids: Collection[int] | None = None
    registered_ids: Collection[int] | None = None
    replicas: tuple[LogDigest, ...] = ()


@dataclass(frozen=True, slots=True)
class QuorumEvaluation:
    """What was found, worst first, and which codes were judged at all."""

    findings: tuple[QuorumFinding, ...]
    judged: frozenset[QuorumCode]


def evaluate_quorum(snapshot: QuorumSnapshot, now_ms: int) -> QuorumEvaluation:
    """Return what is wrong with a quorum; of the log, the day before `now_ms` (since 1970) is judged."""
    found = [*_of_now(snapshot), *_of_log(snapshot, now_ms), *_of_both(snapshot, now_ms)]
    return QuorumEvaluation(tuple(worst_first(found)), _judged(snapshot))


def _of_now(snapshot: QuorumSnapshot) -> Iterator[QuorumFinding]:
    description = snapshot.description
    if description is None:
        return
    yield from find_weak_majority(description)
    yield from find_lagging_voters(description)
    yield from find_odd_replicas(
        description, controller_ids=snapshot.controller_ids, registered_ids=snapshot.registered_ids
    )
    yield from find_stall(snapshot.before, description)


def _of_log(snapshot: QuorumSnapshot, now_ms: int) -> Iterator[QuorumFinding]:
    timeline = snapshot.timeline
    if timeline is None:
        return
    yield from find_election_trouble(timeline, now_ms)
    yield from find_clock_skew(timeline, now_ms)
    yield from find_log_faults(timeline, now_ms)


def _of_both(snapshot: QuorumSnapshot, now_ms: int) -> Iterator[QuorumFinding]:
    description, timeline = snapshot.description, snapshot.timeline
    if description is not None and timeline is not None:
        yield from find_disagreement(description, timeline)
        yield from find_uncommitted_change(description, timeline, now_ms)
    if description is not None and description.high_watermark is not None:
        yield from find_different_replicas(list(snapshot.replicas), description.high_watermark)


def _judged(snapshot: QuorumSnapshot) -> frozenset[QuorumCode]:
    described, logged = snapshot.description is not None, snapshot.timeline is not None
    registered = snapshot.registered_ids is not None
    controllers = registered or snapshot.controller_ids is not None
    parts = (
        (described, _BY_DESCRIPTION),
        (logged, _BY_LOG),
        (described and logged, {QuorumCode.LOG_DISAGREES, QuorumCode.CHANGE_NOT_COMMITTED}),
        (described and controllers, {QuorumCode.DANGLING_CONTROLLER}),
        (described and registered, {QuorumCode.GHOST_REGISTRATION}),
        (described and snapshot.before is not None, {QuorumCode.HIGH_WATERMARK_STALLED}),
        (described and len(snapshot.replicas) > 1, {QuorumCode.REPLICAS_DIFFER}),
    )
    return frozenset().union(*(codes for is_known, codes in parts if is_known))
