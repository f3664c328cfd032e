"""The state of a quorum out of DescribeQuorum, as the change advisor wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.quorum.advisor.state import Observed, QuorumState, described_voters, is_alive
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_sets import ReplicaKey


def state_from_description(
    description: QuorumDescription,
    timeline: VoterTimeline | None = None,
    *,
    now_ms: int,
    sites: Mapping[int, str] | None = None,
) -> QuorumState:
    """Return what DescribeQuorum knows, with kraft.version and pending changes from the log if it is there.

    `now_ms` is to be on the clock of the leader, which dates the fetches: `described_at_ms` where clocks
    agree.
    """
    leader = description.leader_id
    alive = {one.id for one in description.voters if is_alive(one, leader, now_ms)}
    end = max((one.log_end_offset or 0 for one in description.voters), default=0)
    return QuorumState(
        voters=described_voters(description),
        alive_ids=frozenset(alive),
        kraft_version=_kraft_version(description, timeline),
        leader_id=leader,
        has_leader=leader is not None and description.high_watermark is not None,
        is_change_pending=_is_pending(description, timeline),
        observers=tuple(_observed(one, end, now_ms) for one in description.observers),
        sites=sites or {},
    )


def _observed(replica: QuorumReplica, end: int, now_ms: int) -> Observed:
    at, fetched = replica.log_end_offset, replica.last_fetch_at_ms
    return Observed(
        key=ReplicaKey(replica.id, replica.directory_id),
        lag_records=None if at is None or at > end else end - at,
        last_fetch_age_ms=None if fetched is None else max(0, now_ms - fetched),
        has_caught_up=at is not None and replica.last_caught_up_at_ms is not None,
    )


def _kraft_version(description: QuorumDescription, timeline: VoterTimeline | None) -> int | None:
    if timeline is not None and timeline.kraft_version is not None:
        return timeline.kraft_version
    # A dynamic quorum knows the directories of all its voters; without any it may be an old version's answer.
    return 1 if _all_named(description.voters) else None


def _all_named(replicas: Iterable[QuorumReplica]) -> bool:
    named = [one.directory_id is not None for one in replicas]
    return bool(named) and all(named)


def _is_pending(description: QuorumDescription, timeline: VoterTimeline | None) -> bool | None:
    current = timeline.current if timeline else None
    if current is None or description.high_watermark is None:
        return None
    return current.offset >= description.high_watermark
