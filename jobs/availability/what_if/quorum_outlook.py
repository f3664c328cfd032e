"""What is left of a KRaft quorum when some of its voters are alive, and which failure would end it. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import QuorumOutcome


def quorum_outlook(cluster: ClusterModel, alive: AbstractSet[int]) -> QuorumOutcome:
    """Return the quorum with these voters alive; ids of no voter do not count.

    Without a majority there is no change of an ISR, no promotion and no election at all: leaders that live
    go on.
    """
    voters = sorted({one.node_id for one in cluster.voters})
    if not voters:
        sentence = "Unknown: the voters are not known. For the partitions a majority is assumed."
        return QuorumOutcome(
            0, 0, (), (), has_majority=True, failures_tolerated=0, sentence=sentence
        )
    living = [one for one in voters if one in alive]
    majority = len(voters) // 2 + 1
    spare = len(living) - majority
    return QuorumOutcome(
        voters=len(voters),
        majority=majority,
        alive_ids=tuple(living),
        missing_ids=tuple(one for one in voters if one not in alive),
        has_majority=spare >= 0,
        failures_tolerated=max(0, spare),
        deadly_racks=_deadly_racks(cluster, living, spare),
        deadly_nodes=tuple(living) if spare == 0 else (),
        sentence=_sentence(len(living), len(voters), majority, spare),
    )


def _deadly_racks(cluster: ClusterModel, living: list[int], spare: int) -> tuple[str, ...]:
    racks = cluster.voter_racks()
    here = {rack for one in living if (rack := racks[one]) is not None}
    if spare < 0:
        return ()
    return tuple(sorted(one for one in here if sum(racks[id_] == one for id_ in living) > spare))


def _sentence(living: int, voters: int, majority: int, spare: int) -> str:
    alive = f"{living} of {voters} voters alive, {majority} needed"
    if spare < 0:
        return f"{alive}: no majority. No ISR changes, nobody is promoted or elected; living leaders go on."
    return f"{alive}: {f'{spare} more may fail' if spare else 'no further one may fail'}."
