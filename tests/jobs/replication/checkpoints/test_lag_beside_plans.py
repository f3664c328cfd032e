"""What the console promises of a plan is what a plan says: the same inputs through both."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.checkpoints.lag import GroupFacts, PartitionFacts, measure_checkpoint
from jobs.replication.failover.evidence import Leg, Way
from jobs.replication.translation.translator import SourceEnd, Translator
from tests.jobs.replication.failover.making import (
    GROUP,
    NOW_MS,
    ORDERS,
    failover_evidence,
    flow,
    plan_of,
)

steps = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=6)


def translator_of(syncs, linked: bool) -> Translator:
    found = Translator()
    for before, (upstream, downstream) in pairwise((None, *syncs)):
        found.add(ORDERS, upstream, downstream, follows=before if linked else None)
    return found


def plan_says(translator, committed, ends: SourceEnd, start=0):
    leg = Leg(flow(), Way.FORWARD, translator, {ORDERS: ends.copied_to}, {}, NOW_MS)
    found = failover_evidence(
        committed=committed,
        here_end=ends.source_end,
        there=(start, ends.target_end),
        legs=(leg,),
    )
    return plan_of(found).group(GROUP).reread_most


def console_says(translator, committed, ends: SourceEnd, *, members: bool, start=0):
    """Return what is promised once the group has stopped, and while it commits."""
    history = translator.history(ORDERS)
    facts = PartitionFacts(
        ORDERS,
        committed=committed,
        certificate=translator.translate(ORDERS, committed, end=ends),
        position=ends.copied_to,
        remote_log_start=start,
        remote_end=ends.target_end,
        end_offset=ends.source_end,
        coming=history.coming(committed) if history else None,
    )
    found = measure_checkpoint(facts, GroupFacts(has_members=members), NOW_MS)
    return tuple(one and one.hi for one in (found.duplicates, found.duplicates_coming))


@given(
    steps,
    st.booleans(),
    st.integers(0, 50),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 4),
)
def test_a_promise_holds_for_every_commit_that_a_plan_may_find(
    found, linked, at, copied, behind, markers, start
):
    ups, downs = ([*accumulate(side)] for side in zip(*found, strict=True))
    syncs = list(zip(ups, downs, strict=True))
    translator, position = translator_of(syncs, linked), ups[-1] + 1 + copied
    ends = SourceEnd(position + behind, downs[-1] + 1 + copied + markers, position)
    committed = min(at, ends.source_end)
    stopped, coming = console_says(translator, committed, ends, members=True, start=start)
    assert stopped == plan_says(translator, committed, ends, start)
    for newer in range(committed, ends.source_end + 1):
        assert plan_says(translator, newer, ends, start) <= coming


def test_a_group_that_commits_is_promised_a_range_and_a_stopped_one_a_number():
    translator = Translator({ORDERS: [(0, 0), (100, 100)]})
    ends = SourceEnd(520, 520, 500)
    assert console_says(translator, 100, ends, members=True) == (0, 439)
    assert console_says(translator, 100, ends, members=False) == (0, 0)
    assert plan_says(translator, 510, ends) == 429


@pytest.mark.parametrize(
    ("position", "linked", "expected"),
    [(None, False, None), (520, True, 419), (520, False, 419)],
    ids=["position not known", "offset syncs that follow each other", "others"],
)
def test_what_a_plan_may_say_while_a_group_commits(position, linked, expected):
    translator = translator_of([(0, 0), (100, 100)], linked)
    ends = SourceEnd(520, 520, position)
    assert console_says(translator, 100, ends, members=True)[1] == expected
