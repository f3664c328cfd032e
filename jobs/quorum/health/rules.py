"""All rules about a quorum's health over what is known of it; the clock is passed in. Pure.

What could not be queried is not judged: `judged` names the codes with a complete answer, so that
the others stay open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from jobs.cluster.admin.quorum import QuorumDescription
from jobs.findings import Finding, worst_first
from jobs.quorum.advisor.state import described_voters
from jobs.quorum.health.checks import OF
from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.compare import (
    LogDigest,
    can_compare_voters,
    find_different_replicas,
    find_disagreement,
    find_uncommitted_change,
)
from jobs.quorum.health.describe_quorum_rules import (
    earlier_mark,
    find_endpoint_faults,
    find_lagging_voters,
    find_replica_faults,
    find_stall,
    find_weak_majority,
)
from jobs.quorum.health.metadata_log_rules import (
    find_clock_skew,
    find_election_trouble,
    find_log_faults,
)
from jobs.quorum.health.voter_states import (
    SETTLED_AFTER_MS,
    VoterState,
    VoterStates,
    judge_voters,
    leader_age_ms,
)
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_sets import VoterSet

_BY_DESCRIPTION = frozenset(
    {
        QuorumCode.NO_LEADER,
        QuorumCode.FEW_VOTERS,
        QuorumCode.EVEN_VOTERS,
        QuorumCode.NO_DIRECTORY_ID,
    }
)
# What one leader says of its voters: with another leader it is over.
BY_LEADER = frozenset(
    {
        QuorumCode.NO_MAJORITY,
        QuorumCode.BARE_MAJORITY,
        QuorumCode.VOTER_SILENT,
        QuorumCode.VOTER_LAGS,
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
    """What is known of a quorum; None for what could not be queried.

    `before` is an earlier description. `controller_ids` are nodes with the role controller,
    `registered_ids` those that are registered in the log: both as read before the quorum was described.
    `replicas` are several copies of the log. `epoch_before` is the newest epoch of the log before
    DescribeQuorum, `first_described_ms` when the epoch of the description was first seen in one (the client's
    clock); `settled_after_ms` is how long a leader is in office before its voters are judged, and
    `agreed_silent` are voters that the round before saw silent as well (None: one round is enough).
    `broker_hosts` are the hosts of brokers, as far as known, `lag_limits` the thresholds of lagging voters.
    """

    description: QuorumDescription | None = None
    before: QuorumDescription | None = None
    timeline: VoterTimeline | None = None
    controller_ids: Collection[int] | None = None
    registered_ids: Collection[int] | None = None
    replicas: tuple[LogDigest, ...] = ()
    epoch_before: int | None = None
    first_described_ms: int | None = None
    settled_after_ms: int = SETTLED_AFTER_MS
    agreed_silent: Collection[int] | None = None
    broker_hosts: Collection[str] = ()
    lag_limits: Mapping[str, float] = field(
        default_factory=lambda: OF[QuorumCode.VOTER_LAGS].defaults
    )

    @property
    def placed_voters(self) -> VoterSet:
        """The voters with their endpoints, as described or by the log; none where none is known."""
        known = VoterSet() if self.description is None else described_voters(self.description)
        if not any(one.endpoints for one in known) and self.timeline is not None:
            current = self.timeline.current if self.timeline.is_current_known else None
            known = current.voters if current is not None else VoterSet()
        return known if any(one.endpoints for one in known) else VoterSet()

    @property
    def voters(self) -> VoterStates:
        """Which voters answer the leader; none without a description."""
        if self.description is None:
            return VoterStates({}, None, is_settled=False)
        age_ms = leader_age_ms(self.description, self.timeline, self.first_described_ms)
        return judge_voters(self.description, age_ms, self.settled_after_ms, self.agreed_silent)


@dataclass(frozen=True, slots=True)
class QuorumEvaluation:
    """What was found, worst first, and which codes were judged at all.

    `over` are those that have ended. `voters` are the states on which the findings about them rest.
    """

    findings: tuple[Finding, ...]
    over: tuple[Finding, ...]
    judged: frozenset[QuorumCode]
    voters: VoterStates


def evaluate_quorum(snapshot: QuorumSnapshot, now_ms: int) -> QuorumEvaluation:
    """Return what is wrong with a quorum; of the log, the day before `now_ms` (since 1970) is judged."""
    placed = find_endpoint_faults(snapshot.placed_voters, snapshot.broker_hosts)
    found = [*_of_now(snapshot), *_of_log(snapshot, now_ms), *_of_both(snapshot), *placed]
    lasting = worst_first(one for one in found if one.ended is None)
    over = tuple(one for one in found if one.ended is not None)
    return QuorumEvaluation(tuple(lasting), over, _judged(snapshot), snapshot.voters)


def _of_now(snapshot: QuorumSnapshot) -> Iterator[Finding]:
    description = snapshot.description
    if description is None:
        return
    voters = snapshot.voters
    yield from find_weak_majority(description, voters)
    yield from find_lagging_voters(description, voters, snapshot.lag_limits)
    yield from find_replica_faults(
        description,
        controller_ids=snapshot.controller_ids,
        registered_ids=snapshot.registered_ids,
        is_settled=voters.is_settled,
    )
    yield from find_stall(snapshot.before, description)


def _of_log(snapshot: QuorumSnapshot, now_ms: int) -> Iterator[Finding]:
    timeline = snapshot.timeline
    if timeline is None:
        return
    yield from find_election_trouble(timeline, now_ms)
    yield from find_clock_skew(timeline, now_ms)
    yield from find_log_faults(timeline, now_ms)


def _of_both(snapshot: QuorumSnapshot) -> Iterator[Finding]:
    description, timeline = snapshot.description, snapshot.timeline
    if description is not None and timeline is not None:
        yield from find_disagreement(description, timeline, snapshot.epoch_before)
        yield from find_uncommitted_change(description, timeline)
    if description is not None and description.high_watermark is not None:
        yield from find_different_replicas(list(snapshot.replicas), description.high_watermark)


def _judged(snapshot: QuorumSnapshot) -> frozenset[QuorumCode]:
    description, timeline = snapshot.description, snapshot.timeline
    described, logged = description is not None, timeline is not None
    registered = snapshot.registered_ids is not None
    controllers = registered or snapshot.controller_ids is not None
    voters = snapshot.voters
    parts = (
        (described, _BY_DESCRIPTION),
        (described and not voters.ids(VoterState.UNKNOWN), BY_LEADER),
        (logged, _BY_LOG),
        (_is_comparable(description, timeline), {QuorumCode.LOG_DISAGREES}),
        (described and logged, {QuorumCode.CHANGE_NOT_COMMITTED}),
        (described and controllers, {QuorumCode.DANGLING_CONTROLLER}),
        (described and registered and voters.is_settled, {QuorumCode.GHOST_REGISTRATION}),
        (bool(snapshot.placed_voters.voters), {QuorumCode.VOTER_ENDPOINT}),
        (_is_mark_known(snapshot), {QuorumCode.HIGH_WATERMARK_STALLED}),
        (described and len(snapshot.replicas) > 1, {QuorumCode.REPLICAS_DIFFER}),
    )
    return frozenset().union(*(codes for is_known, codes in parts if is_known))


def _is_comparable(description: QuorumDescription | None, timeline: VoterTimeline | None) -> bool:
    """A log that ends before the place of the description is compared in a later round."""
    if description is None or timeline is None:
        return False
    return can_compare_voters(description, timeline)


def _is_mark_known(snapshot: QuorumSnapshot) -> bool:
    now = snapshot.description
    return now is not None and earlier_mark(snapshot.before, now) is not None
