"""Voters of a KRaft quorum by offset, what changed between two sets, and whether a majority lives.

In reading order: `voter_sets`, `voter_change`, `control_scan`, `report`,
`majority`, `endpoints`.
"""

from jobs.quorum.voters.voter_sets import VoterSet, VoterSetHistory

__all__ = ["VoterSet", "VoterSetHistory"]
