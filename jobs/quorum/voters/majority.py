"""Whether a quorum lives: majorities, and how many more voters may fail. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from jobs.quorum.voters.voter_sets import VoterSet

Site = TypeVar("Site", bound=Hashable)


@dataclass(frozen=True, slots=True)
class QuorumOutlook:
    """A voter set with some of its voters alive.

    `failures_tolerated` is how many of those alive may fail and there still is a majority; 0 when there is
    none already, or when the next failure ends it.
    """

    voters: int
    majority: int
    alive_ids: tuple[int, ...]
    missing_ids: tuple[int, ...]

    @property
    def alive(self) -> int:
        """How many voters are alive."""
        return len(self.alive_ids)

    @property
    def has_majority(self) -> bool:
        """Whether a leader can be elected and records can be committed; never without voters."""
        return self.voters > 0 and self.alive >= self.majority

    @property
    def failures_tolerated(self) -> int:
        """How many more voters may fail."""
        return max(0, self.alive - self.majority)

    def __str__(self) -> str:
        if not self.has_majority:
            return f"{self.alive} of {self.voters} voters alive: no majority (it needs {self.majority})"
        more = self.failures_tolerated
        left = f"{more} more may fail" if more else "no further one may fail"
        return f"{self.alive} of {self.voters} voters alive, {self.majority} needed: {left}"


def quorum_after(voters: VoterSet | Iterable[int], alive_ids: Collection[int]) -> QuorumOutlook:
    """Return whether voters have a majority when only these ids are alive; ids of no voter do not count."""
    ids = voters.ids if isinstance(voters, VoterSet) else frozenset(voters)
    alive = ids & set(alive_ids)
    return QuorumOutlook(
        voters=len(ids),
        majority=len(ids) // 2 + 1,
        alive_ids=tuple(sorted(alive)),
        missing_ids=tuple(sorted(ids - alive)),
    )


def deadly_sites(
    voters: VoterSet | Iterable[int], sites: Mapping[int, Site], alive_ids: Collection[int]
) -> tuple[Site, ...]:
    """Return the sites (racks, data centres) each of which alone takes the majority with it when it is lost.

    Voters that are at no known site are taken for lost with none of them.
    """
    ids = voters.ids if isinstance(voters, VoterSet) else frozenset(voters)
    here = {sites[id_] for id_ in sorted(ids) if id_ in sites}
    lost = {site: {id_ for id_ in alive_ids if sites.get(id_) == site} for site in here}
    deadly = [s for s in here if not quorum_after(ids, set(alive_ids) - lost[s]).has_majority]
    return tuple(sorted(deadly, key=str))
