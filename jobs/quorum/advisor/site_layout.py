"""Which voters to add and to remove for so many of them at each site (rack, data centre). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobs.quorum.advisor.advice import plan_change
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.plan import ChangePlan, Refusal, RefusalCode, Refused, WantedChange
from jobs.quorum.advisor.state import QuorumState
from jobs.quorum.voters.voter_sets import VoterNode


def plan_layout(
    state: QuorumState,
    per_site: Mapping[str, int],
    candidates: Sequence[VoterNode],
    tools: Tools | None = None,
) -> ChangePlan:
    """Return the steps to so many voters at each site, 0 at sites that are not named, or why there are none.

    `state.sites` maps voters and candidates to sites; candidates are running controllers without a vote.
    """
    try:
        wanted = change_for_layout(state, per_site, candidates)
    except Refused as refused:
        plan = plan_change(state, WantedChange(), tools)
        return ChangePlan(plan.before, plan.before, refusal=refused.refusal, cautions=plan.cautions)
    if not wanted.ids:
        plan = plan_change(state, wanted, tools)
        sentence = "The voters have this layout already."
        refusal = Refusal(RefusalCode.NOTHING_WANTED, sentence, "There is nothing to do.")
        return ChangePlan(plan.before, plan.before, refusal=refusal, cautions=plan.cautions)
    return plan_change(state, wanted, tools)


def change_for_layout(
    state: QuorumState, per_site: Mapping[str, int], candidates: Sequence[VoterNode]
) -> WantedChange:
    """Return the voters to add and to remove; dead voters first, the leader last. Raises `Refused`."""
    nowhere = sorted(id_ for id_ in state.voters.ids if id_ not in state.sites)
    if nowhere:
        raise Refused(
            RefusalCode.CONTRADICTION,
            f"The site of voter {nowhere[0]} is not known.",
            "Name the site of every voter.",
        )
    add: list[VoterNode] = []
    remove: list[int] = []
    for site in sorted({*per_site, *(state.sites[id_] for id_ in state.voters.ids)}):
        here = [id_ for id_ in state.voters.ids if state.sites[id_] == site]
        missing = per_site.get(site, 0) - len(here)
        add += _chosen(site, missing, state, candidates)
        remove += sorted(here, key=lambda id_: _worth(id_, state))[: max(0, -missing)]
    return WantedChange(tuple(add), tuple(remove))


def _worth(id_: int, state: QuorumState) -> tuple[bool, bool, int]:
    """Order voters by how much they would be missed; of equal ones the highest id goes first."""
    return id_ in state.alive, id_ == state.leader_id, -id_


def _chosen(
    site: str, count: int, state: QuorumState, candidates: Sequence[VoterNode]
) -> Sequence[VoterNode]:
    there = [
        node
        for node in candidates
        if state.sites.get(node.id) == site and node.id not in state.voters.ids
    ]
    if count > len(there):
        raise Refused(
            RefusalCode.CONTRADICTION,
            f"Site {site} needs {count} more voters, and has {len(there)} controllers without a "
            "vote.",
            f"Start {count - len(there)} more controllers at {site}.",
        )
    return sorted(there, key=lambda node: node.id)[: max(0, count)]
