"""So many voters at each site."""

import pytest

from jobs.quorum.advisor.plan import RefusalCode
from jobs.quorum.advisor.site_layout import plan_layout
from jobs.quorum.advisor.state import QuorumState
from tests.jobs.quorum.voter_sets import node, voters

SITES = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c"}
CANDIDATES = (node(4), node(5))


def state(alive: set[int] | None = None, sites: dict[int, str] | None = None) -> QuorumState:
    return QuorumState(
        voters(1, 2, 3),
        frozenset(alive or {1, 2, 3}),
        kraft_version=1,
        leader_id=2,
        is_change_pending=False,
        sites=SITES if sites is None else sites,
    )


def moves(plan) -> list[str]:
    return [f"{'+' if step.is_add else '-'}{step.key.id}" for step in plan.steps]


@pytest.mark.parametrize(
    ("per_site", "wanted"),
    [
        ({"a": 1, "b": 1, "c": 1}, ["+5", "-1"]),
        ({"a": 2, "b": 2, "c": 1}, ["+4", "+5"]),
        ({"b": 2, "c": 1}, ["+4", "+5", "-1", "-2"]),
    ],
    ids=["one each", "five of three", "a site is given up"],
)
def test_voters_are_added_and_removed_until_each_site_has_its_number(per_site, wanted):
    plan = plan_layout(state(), per_site, CANDIDATES)
    assert sorted(moves(plan)) == sorted(wanted)
    assert plan.after.deadly_sites == (("b",) if "a" not in per_site else ())


def test_a_dead_voter_leaves_before_one_that_is_alive():
    assert "-2" in moves(plan_layout(state({1, 3}), {"a": 1, "b": 1, "c": 1}, CANDIDATES))


@pytest.mark.parametrize(
    ("known", "per_site", "code"),
    [
        (state(), {"a": 2, "b": 1}, RefusalCode.NOTHING_WANTED),
        (state(), {"a": 2, "b": 1, "c": 2}, RefusalCode.CONTRADICTION),
        (state(sites={1: "a"}), {"a": 1}, RefusalCode.CONTRADICTION),
    ],
    ids=["it is so already", "not enough controllers", "a voter without a site"],
)
def test_what_cannot_be_laid_out_has_a_reason(known, per_site, code):
    plan = plan_layout(known, per_site, CANDIDATES)
    assert (plan.steps, plan.refusal.code) == ((), code)
