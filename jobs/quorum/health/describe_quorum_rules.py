"""Findings about the present quorum, by DescribeQuorum. Pure.

The leader dates fetches with its own clock; `described_at_ms` is the client's clock. The skew of the
two is not known, so that ages are measured against the newest time in the answer itself, which is the
leader's now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.findings import Finding
from jobs.quorum.advisor.state import ALIVE_WITHIN_MS, is_alive
from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.voter_states import VoterState, VoterStates, leader_now_ms
from jobs.quorum.voters.endpoints import ENDPOINT_TODO, endpoint_faults
from jobs.quorum.voters.voter_sets import VoterSet
from jobs.severity import Severity

# A voter that is so far behind cannot help to commit; both must be exceeded for a short time only.
LAG_RECORDS, LAG_MS = 1_000, 10_000
_FEWEST = 3
# The high watermark moves with every NoOpRecord, twice a second.
STALLED_AFTER_MS = 10_000


def find_weak_majority(description: QuorumDescription, voters: VoterStates) -> Iterator[Finding]:
    """Yield what is wrong with the number of voters and of those that answer.

    Where the leader is too young to say of enough voters whether they answer, no majority is judged.
    """
    answering = voters.ids(VoterState.ANSWERS)
    possible = len(answering) + len(voters.ids(VoterState.UNKNOWN))
    count, majority, alive = len(voters.states), voters.majority, len(answering)
    silent = list(voters.ids(VoterState.SILENT))
    numbers = {"voters": count, "alive": alive, "majority": majority, "silent": silent}
    missing = [str(one) for one in silent]
    nodes = f"node{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
    if description.leader_id is None:
        yield Finding(
            QuorumCode.NO_LEADER,
            Severity.CRITICAL,
            "The quorum has no leader: no metadata can be changed, and no partition gets a new leader.",
            "Restart enough controllers for a majority of the voters; check the connections between them.",
            evidence=numbers,
        )
    elif possible < majority:
        yield Finding(
            QuorumCode.NO_MAJORITY,
            Severity.CRITICAL,
            f"Only {alive} of {count} voters answer the leader; {majority} are needed.",
            f"Restart {nodes}.",
            evidence=numbers,
        )
    elif possible == majority and missing:
        yield Finding(
            QuorumCode.BARE_MAJORITY,
            Severity.CRITICAL,
            f"{'At most ' if possible > alive else ''}{possible} of {count} voters answer: if one more "
            "fails, the quorum stops.",
            f"Restart {nodes}, or replace the voters (crosslog quorum-change).",
            evidence=numbers,
        )
    yield from _find_bad_number(count)


def _find_bad_number(count: int) -> Iterator[Finding]:
    evidence = {"voters": count}
    if count < _FEWEST:
        yield Finding(
            QuorumCode.FEW_VOTERS,
            Severity.WARNING,
            f"The quorum has {count} voter{'' if count == 1 else 's'}: the loss of one stops it.",
            "Add voters until there are three or five (crosslog quorum-change).",
            evidence=evidence,
        )
    elif count % 2 == 0:
        yield Finding(
            QuorumCode.EVEN_VOTERS,
            Severity.WARNING,
            f"The quorum has {count} voters: it tolerates no more failures than with {count - 1}.",
            f"Add one or remove one, for {count + 1} or {count - 1}.",
            evidence=evidence,
        )


def find_lagging_voters(description: QuorumDescription, voters: VoterStates) -> Iterator[Finding]:
    """Yield voters that do not fetch, or are far behind; of a young leader's followers none is judged."""
    if not voters.is_settled:
        return
    now_ms = leader_now_ms(description)
    end = max((one.log_end_offset or 0 for one in description.voters), default=0)
    for one in description.voters:
        if one.id == description.leader_id:
            continue
        if voters.states[one.id] is VoterState.SILENT:
            yield _silent(one, now_ms)
        else:
            yield from _behind(one, end, now_ms)


def _silent(one: QuorumReplica, now_ms: int) -> Finding:
    age = None if one.last_fetch_at_ms is None else now_ms - one.last_fetch_at_ms
    since = "has not fetched since this leader was elected" if age is None else (
        f"has not fetched for {age / 1000:.0f} s"
    )  # fmt: skip
    return Finding(
        QuorumCode.VOTER_SILENT,
        Severity.CRITICAL,
        f"Voter {one.id} {since}.",
        f"Check that node {one.id} runs and reaches the leader's controller listener.",
        subject=str(one.id),
        evidence={"last_fetch_age_ms": age, "limit_ms": ALIVE_WITHIN_MS},
    )


def _behind(one: QuorumReplica, end: int, now_ms: int) -> Iterator[Finding]:
    lag = None if one.log_end_offset is None else end - one.log_end_offset
    caught_up = one.last_caught_up_at_ms
    lag_ms = None if caught_up is None else now_ms - caught_up
    if (lag or 0) > LAG_RECORDS or (lag_ms or 0) > LAG_MS:
        words = [f"{lag:,} records" if lag else "", f"{lag_ms / 1000:.0f} s" if lag_ms else ""]
        yield Finding(
            QuorumCode.VOTER_LAGS,
            Severity.WARNING,
            f"Voter {one.id} is {' and '.join(word for word in words if word)} behind the leader.",
            "Check its disk, its network and its garbage collection. Count it as failed until it has "
            "caught up.",
            subject=str(one.id),
            evidence={"lag_records": lag, "lag_ms": lag_ms},
        )


def find_endpoint_faults(voters: VoterSet, broker_hosts: Collection[str]) -> Iterator[Finding]:
    """Yield endpoints of voters that other nodes cannot reach, or that several voters have."""
    for one in endpoint_faults(voters, broker_hosts):
        yield Finding(
            QuorumCode.VOTER_ENDPOINT,
            Severity.CRITICAL,
            f"{one.sentence} The voters may fail to elect a leader when the active controller is down.",
            ENDPOINT_TODO,
            subject=str(one.endpoint),
            evidence={"voters": list(one.voter_ids), "endpoint": str(one.endpoint)},
        )


def find_replica_faults(
    description: QuorumDescription,
    *,
    controller_ids: Collection[int] | None = None,
    registered_ids: Collection[int] | None = None,
    is_settled: bool = True,
) -> Iterator[Finding]:
    """Yield voters without directory, controllers without a vote, and registrations without a node.

    `controller_ids` are nodes that are controllers (process.roles), `registered_ids` those with a
    RegisterControllerRecord; None: not known, and nothing is said. Both are to be read before the
    quorum was described. A new leader (`is_settled` false) has not heard of all observers: none is taken for
    gone.
    """
    now_ms = leader_now_ms(description)
    voters = {one.id for one in description.voters}
    observers = {one.id for one in description.observers}
    # The leader lists an observer for 300 s after its last fetch, also one that was stopped.
    running = {one.id for one in description.observers if is_alive(one, None, now_ms)}
    named = [one for one in description.voters if one.directory_id]
    for one in description.voters if named else ():
        if not one.directory_id:
            yield _unnamed(one)
    known = controller_ids if controller_ids is not None else registered_ids
    for id_ in sorted((running - voters) & set(known or ())):
        yield Finding(
            QuorumCode.DANGLING_CONTROLLER,
            Severity.WARNING,
            f"Controller {id_} runs and replicates the metadata log, but is not a voter.",
            "Make it a voter (crosslog quorum-change --add), or stop it.",
            subject=str(id_),
        )
    gone = set(registered_ids or ()) - voters - observers if is_settled else ()
    for id_ in sorted(gone):
        yield Finding(
            QuorumCode.GHOST_REGISTRATION,
            Severity.WARNING,
            f"Controller {id_} is registered, but is neither voter nor observer: it is gone. Kafka refuses "
            "upgrades of features that its last software did not support (KAFKA-20295).",
            "Start it once with current software, or unregister it (Kafka 4.4 and later, KAFKA-20395).",
            subject=str(id_),
        )


def _unnamed(one: QuorumReplica) -> Finding:
    return Finding(
        QuorumCode.NO_DIRECTORY_ID,
        Severity.WARNING,
        f"Voter {one.id} has no directory id: a wiped disk under its id would vote as if it knew the log.",
        "Let it start with Kafka 3.9 or later and kraft.version 1, so that it writes its id itself.",
        subject=str(one.id),
    )


def find_stall(before: QuorumDescription | None, now: QuorumDescription) -> Iterator[Finding]:
    """Yield a high watermark that does not move between two descriptions, although records were written.

    Only descriptions of one leader are compared: a new one does not know the high watermark at first.
    """
    mark = earlier_mark(before, now)
    if before is None or mark is None:
        return
    waited_ms = now.described_at_ms - before.described_at_ms
    end = max((one.log_end_offset or 0 for one in now.voters), default=0)
    if waited_ms < STALLED_AFTER_MS or (now.high_watermark or 0) > mark or end <= mark:
        return
    yield Finding(
        QuorumCode.HIGH_WATERMARK_STALLED,
        Severity.CRITICAL,
        f"Nothing was committed for {waited_ms / 1000:.0f} s: the high watermark is still "
        f"{mark}, the leader's log ends at {end}.",
        "A majority of voters must fetch: check the voters that do not fetch or lag.",
        evidence={
            "high_watermark": now.high_watermark,
            "before": mark,
            "log_end_offset": end,
            "waited_ms": waited_ms,
        },
    )


def earlier_mark(before: QuorumDescription | None, now: QuorumDescription) -> int | None:
    """Return the high watermark of an earlier description of the same leader.

    None: there is none to compare with, because the leader is another one, or did not know it both times.
    """
    if before is None or now.leader_id is None or now.high_watermark is None:
        return None
    is_same = (before.leader_id, before.leader_epoch) == (now.leader_id, now.leader_epoch)
    return before.high_watermark if is_same else None
