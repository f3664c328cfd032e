"""What is known of a quorum before its voters are changed, from DescribeQuorum and from the log. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet

# A follower fetches at least every 0.5 s; `controller.quorum.fetch.timeout.ms` is 2 s.
ALIVE_WITHIN_MS = 10_000
_NEVER_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Observed:
    """A replica without a vote, as the leader saw it; None for what is not known. Ages are ms."""

    key: ReplicaKey
    lag_records: int | None = None
    last_fetch_age_ms: int | None = None
    has_caught_up: bool = True


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The quorum as it is now.

    `alive_ids` are voters that answer; None: unknown, all are taken for alive. `kraft_version` and
    `leader_id` None: unknown. `is_change_pending` None: unknown; True: the last voters are not committed.
    `observers` None: unknown. `sites` says in which rack or data centre nodes are, as far as known.
    `broker_hosts` are the hosts of brokers, as far as known.
    """

    voters: VoterSet
    alive_ids: frozenset[int] | None = None
    kraft_version: int | None = None
    leader_id: int | None = None
    has_leader: bool = True
    is_change_pending: bool | None = None
    observers: tuple[Observed, ...] | None = None
    sites: Mapping[int, str] = field(default_factory=dict)
    broker_hosts: frozenset[str] = frozenset()

    @property
    def alive(self) -> frozenset[int]:
        """Ids of the voters that are alive, or taken for it."""
        return self.voters.ids if self.alive_ids is None else self.alive_ids & self.voters.ids

    def observed(self, key: ReplicaKey) -> Observed | None:
        """Return what is known of a replica without a vote; by its id where its directory is not known.

        A voter that was removed is listed as an observer for 300 s, also when it is gone: where an id is
        there twice, the one counts that fetched last, and never the directory that votes.
        """
        voting = self.voters.keys
        found = [
            one
            for one in self.observers or ()
            if one.key.id == key.id
            and one.key not in voting
            and key.directory_id in {None, one.key.directory_id}
        ]
        return min(found, key=_fetch_age_ms, default=None)


def _fetch_age_ms(one: Observed) -> int:
    return _NEVER_MS if one.last_fetch_age_ms is None else one.last_fetch_age_ms


def state_from_timeline(
    timeline: VoterTimeline,
    *,
    alive_ids: Collection[int] | None = None,
    sites: Mapping[int, str] | None = None,
) -> QuorumState:
    """Return what the log alone knows; raises ValueError where it does not name the voters there are now."""
    current = timeline.current
    if current is None:
        raise ValueError(
            "the log names no voters: neither a voters record nor an election is in it"
        )
    if not timeline.is_current_known:
        raise ValueError(
            f"records behind the last voters (offset {current.offset}) are missing: they may be others now"
        )
    return QuorumState(
        voters=current.voters,
        alive_ids=None if alive_ids is None else frozenset(alive_ids),
        kraft_version=timeline.kraft_version,
        is_change_pending=None if current.is_committed is None else not current.is_committed,
        sites=sites or {},
    )


def described_voters(description: QuorumDescription) -> VoterSet:
    """Return the voters with their endpoints; directory ids are absent before Kafka 3.9."""
    endpoints = {node.id: node.endpoints for node in description.nodes}
    return VoterSet(
        tuple(
            VoterNode(
                ReplicaKey(one.id, one.directory_id),
                tuple(Endpoint(e.name, e.host, e.port) for e in endpoints.get(one.id, ())),
            )
            for one in description.voters
        )
    )


def is_alive(replica: QuorumReplica, leader_id: int | None, now_ms: int) -> bool:
    """Say whether a voter fetches; the leader itself does not, and is alive because it answered."""
    if replica.id == leader_id:
        return True
    fetched = replica.last_fetch_at_ms
    return fetched is not None and now_ms - fetched <= ALIVE_WITHIN_MS
