"""Which voters answer the leader, which are silent, and of which neither can be said yet. Pure.

A new leader has heard of no voter, so its first answers list all of them as never having fetched. A voter
that fetched is known to answer at once; it is silent only for a leader that is in office for longer than
`controller.quorum.fetch.timeout.ms` and one round of observation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.quorum.advisor.state import is_alive
from jobs.quorum.timeline.voter_timeline import VoterTimeline

# The default of controller.quorum.fetch.timeout.ms (org.apache.kafka.raft.QuorumConfig).
FETCH_TIMEOUT_MS = 2_000
ROUND_MS = 10_000
SETTLED_AFTER_MS = FETCH_TIMEOUT_MS + ROUND_MS


class VoterState(StrEnum):
    """What the leader's answer says of a voter."""

    ANSWERS = "answers"
    SILENT = "silent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VoterStates:
    """The state of each voter by its id; `leader_age_ms` is the least time that the leader is in office.

    None: there is no leader, or nothing says since when. `has_times` is false for an answer without times of
    fetches (before Kafka 3.4, KIP-836): of its followers nothing is known.
    """

    states: Mapping[int, VoterState]
    leader_age_ms: int | None
    is_settled: bool
    has_times: bool = True

    @property
    def majority(self) -> int:
        """How many voters are needed."""
        return len(self.states) // 2 + 1

    def ids(self, *wanted: VoterState) -> tuple[int, ...]:
        """Return the voters in any of these states."""
        return tuple(sorted(id_ for id_, state in self.states.items() if state in wanted))

    @property
    def why_unknown(self) -> str:
        """Why voters are not judged; empty when all are."""
        if not self.ids(VoterState.UNKNOWN):
            return ""
        if not self.has_times:
            return "Not checked: this version of Kafka does not say when voters last fetched."
        if self.is_settled:
            return "Not checked yet: one round saw no fetch, a second one must confirm it."
        if self.leader_age_ms is None:
            return "Not checked yet: the time of the leader's election is not known."
        return f"Not checked yet: the leader was elected {self.leader_age_ms / 1000:.0f} s before."


def leader_now_ms(description: QuorumDescription) -> int:
    """Return the time on the leader's clock: the newest of its answer, else that of who asked."""
    return max(_times(description), default=description.described_at_ms)


def leader_age_ms(
    description: QuorumDescription,
    timeline: VoterTimeline | None = None,
    first_described_ms: int | None = None,
) -> int | None:
    """Return the least time that the leader of a description is in office; None: nothing says.

    It was elected before the oldest fetch that it knows of, before the first description of its epoch
    (`first_described_ms`, the clock of who asks), and when the log says. The first and the last are dated by
    the leader's clock, and so compared with its now.
    """
    if description.leader_id is None:
        return None
    now_ms = leader_now_ms(description)
    ages = [now_ms - at for at in _times(description)]
    if first_described_ms is not None:
        ages.append(description.described_at_ms - first_described_ms)
    ages += [
        now_ms - one.timestamp_ms
        for one in (timeline.elections if timeline else ())
        if (one.epoch, one.leader_id) == (description.leader_epoch, description.leader_id)
    ]
    return max((age for age in ages if age >= 0), default=None)


def judge_voters(
    description: QuorumDescription,
    age_ms: int | None,
    settled_after_ms: int = SETTLED_AFTER_MS,
    agreed_silent: Collection[int] | None = None,
) -> VoterStates:
    """Return the state of each voter, with a leader that is in office for `age_ms` at least.

    `agreed_silent` are voters that an earlier round saw silent as well; None: this answer is enough.
    """
    now_ms, has_times = leader_now_ms(description), bool(_times(description))
    is_settled = has_times and age_ms is not None and age_ms > settled_after_ms

    def state(one: QuorumReplica) -> VoterState:
        if description.leader_id is not None and is_alive(one, description.leader_id, now_ms):
            return VoterState.ANSWERS
        is_agreed = agreed_silent is None or one.id in agreed_silent
        return VoterState.SILENT if is_settled and is_agreed else VoterState.UNKNOWN

    states = {one.id: state(one) for one in description.voters}
    return VoterStates(states, age_ms, is_settled, has_times)


def _times(description: QuorumDescription) -> list[int]:
    """Return the times that a leader tells of its replicas, by its clock."""
    replicas = (*description.voters, *description.observers)
    return [t for one in replicas for t in (one.last_fetch_at_ms, one.last_caught_up_at_ms) if t]
