"""What is left of a KRaft quorum when some of its voters are alive, and which failure would end it. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import QuorumOutcome


def quorum_outlook(
    cluster: ClusterModel, alive: AbstractSet[int], sure: AbstractSet[int] = frozenset()
) -> QuorumOutcome:
    """Return the quorum with these voters alive; ids of no voter do not count.

    Of those whose life is not known only `sure` ones, which came back, count as alive.

    Without a majority there is no change of an ISR, no promotion and no election at all: leaders that live
    go on.
    """
    voters = sorted({one.node_id for one in cluster.voters})
    if not voters:
        sentence = "Unknown: the voters are not known. For the partitions a majority is assumed."
        return QuorumOutcome(
            0, 0, (), (), has_majority=True, failures_tolerated=0, sentence=sentence
        )
    unknown = {one.node_id for one in cluster.voters if one.is_alive is None} - sure
    unsure = [one for one in voters if one in alive and one in unknown]
    living = [one for one in voters if one in alive and one not in unknown]
    majority = len(voters) // 2 + 1
    spare = len(living) - majority
    most = spare + len(unsure)
    words = (
        _unsure(living, unsure, voters)
        if unsure
        else _sentence(len(living), len(voters), majority, spare)
    )
    if cluster.is_of_log and living:
        words += (
            " A metadata log does not tell which voters live: those without a fenced broker count as "
            "alive."
        )
    return QuorumOutcome(
        voters=len(voters),
        majority=majority,
        alive_ids=tuple(living),
        missing_ids=tuple(one for one in voters if one not in alive),
        has_majority=most >= 0,
        failures_tolerated=max(0, spare),
        deadly_racks=_deadly_racks(cluster, [*living, *unsure], most),
        deadly_nodes=tuple(living) if most == 0 else (),
        sentence=words,
        unsure_ids=tuple(unsure),
        is_undecided=spare < 0 <= most,
    )


def _deadly_racks(cluster: ClusterModel, living: list[int], spare: int) -> tuple[str, ...]:
    racks = cluster.voter_racks()
    here = {rack for one in living if (rack := racks[one]) is not None}
    if spare < 0:
        return ()
    return tuple(sorted(one for one in here if sum(racks[id_] == one for id_ in living) > spare))


def _unsure(living: list[int], unsure: list[int], voters: list[int]) -> str:
    """Return the sentence where the life of some voters is not known."""
    majority = len(voters) // 2 + 1
    spare = len(living) - majority
    these = f"voter{'s' * (len(unsure) > 1)} {', '.join(map(str, unsure))}"
    why = f"whether {these} live{'s' * (len(unsure) == 1)} is not known (a fenced broker tells nothing of it)"
    told = f"At least {len(living)} of {len(voters)} voters alive, {majority} needed; {why}"
    if spare >= 0:
        return f"{told}: majority; {f'{spare} more may fail' if spare else 'one more may end it'}."
    if spare + len(unsure) < 0:
        return f"{told}: no majority in any case."
    return f"{told}: Unknown. For the partitions a majority is assumed."


def _sentence(living: int, voters: int, majority: int, spare: int) -> str:
    alive = f"{living} of {voters} voters alive, {majority} needed"
    if spare < 0:
        return f"{alive}: no majority. No ISR changes, nobody is promoted or elected; living leaders go on."
    return f"{alive}: {f'{spare} more may fail' if spare else 'no further one may fail'}."
