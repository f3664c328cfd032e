"""How far checkpoints are behind their groups, what resuming at them repeats or skips, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.lag import (
    Bounds,
    GroupFacts,
    PartitionFacts,
    ResumeBy,
    SeenCheckpoint,
    TopicState,
    add_bounds,
    measure_checkpoint,
)
from jobs.replication.checkpoints.reasons import (
    HINTS,
    SENTENCES,
    CheckpointReason,
    gravest,
    reason_text,
)
from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.translation.sync_history import Certificate

NOW_MS = 1_000_000
ORDERS = TopicPartition("orders", 0)
PROOF = Certificate(510, 520, "Between the two.", (KeptSync(100, 500), KeptSync(150, 520)))


def facts(**changes) -> PartitionFacts:
    values = {
        "committed": 120,
        "checkpoint": SeenCheckpoint(100, 500, NOW_MS - 5000),
        "certificate": PROOF,
        "mm2": 501,
        "position": 200,
        "at_risk": 0,
        "at_risk_ms": 0,
    }
    return PartitionFacts(ORDERS, **(values | changes))


def lag(group: GroupFacts | None = None, **changes):
    return measure_checkpoint(facts(**changes), group or GroupFacts(), NOW_MS)


def test_age_counts_from_the_record_and_is_never_negative():
    assert lag().age_ms == 5000
    assert lag(checkpoint=SeenCheckpoint(100, 500, NOW_MS + 9)).age_ms == 0
    assert lag(checkpoint=SeenCheckpoint(100, 500, None)).age_ms is None
    assert lag(checkpoint=None).age_ms is None


@pytest.mark.parametrize(
    ("upstream", "behind"), [(100, 20), (120, 0), (130, 0)], ids=["behind", "current", "set back"]
)
def test_behind_is_from_the_checkpoint_to_the_group_on_the_source(upstream, behind):
    assert lag(checkpoint=SeenCheckpoint(upstream, 500, NOW_MS)).behind == behind


def test_what_is_unknown_is_no_zero():
    found = lag(checkpoint=None, certificate=None, mm2=None)
    assert (found.behind, found.reread, found.skipped, found.duplicates) == (None,) * 4
    assert (found.resume, found.resume_by) == (None, ResumeBy.NOTHING)


def test_a_groups_own_offset_on_the_target_counts_before_its_checkpoint():
    assert (lag().resume, lag().resume_by) == (500, ResumeBy.CHECKPOINT)
    assert (lag(synced=505).resume, lag(synced=505).resume_by) == (505, ResumeBy.GROUP)


@pytest.mark.parametrize(
    ("synced", "reread", "skipped"),
    [
        pytest.param(500, Bounds(10, 20), Bounds(0, 0), id="before the bounds"),
        pytest.param(510, Bounds(0, 10), Bounds(0, 0), id="at the lower bound"),
        pytest.param(515, Bounds(0, 5), Bounds(0, 5), id="between them: both may be"),
        pytest.param(520, Bounds(0, 0), Bounds(0, 10), id="at the upper bound"),
        pytest.param(530, Bounds(0, 0), Bounds(10, 20), id="behind them: records are skipped"),
    ],
)
def test_what_is_repeated_and_what_is_skipped_are_bounded_by_the_certificate(
    synced, reread, skipped
):
    found = lag(synced=synced)
    assert (found.reread, found.skipped) == (reread, skipped)


def test_without_an_upper_bound_repetition_has_none_and_nothing_is_skipped_for_certain():
    found = lag(certificate=Certificate(510, None, "There is no later offset sync."), synced=515)
    assert (found.reread, found.skipped) == (Bounds(0, None), Bounds(0, 5))
    assert found.duplicates == Bounds(0, None)


def test_resuming_at_the_certified_offset_repeats_at_most_the_width_of_the_certificate():
    assert lag().duplicates == Bounds(0, 10)


@given(st.integers(0, 1000), st.integers(0, 100), st.integers(0, 100), st.integers(0, 1200))
def test_the_truth_is_inside_the_bounds_wherever_it_is(lo, width, inside, resume):
    truth = lo + min(inside, width)
    found = lag(certificate=Certificate(lo, lo + width, ""), synced=resume)
    assert found.reread.lo <= max(truth - resume, 0) <= found.reread.hi
    assert found.skipped.lo <= max(resume - truth, 0) <= found.skipped.hi


UNKNOWN = {"certificate": None, "mm2": None}
NONE = {"checkpoint": None}
BEFORE = Certificate(0, 500, "The offset is before the first offset sync.", (KeptSync(200, 500),))


@pytest.mark.parametrize(
    ("reason", "group", "changes"),
    [
        pytest.param("current", {}, {"committed": 100}, id="current"),
        pytest.param("not_yet", {}, {}, id="the next one will be ahead"),
        pytest.param("coarse", {}, {"mm2": 500}, id="nothing later is known"),
        pytest.param("rewound", {}, {"committed": 90}, id="the group went back"),
        pytest.param("target_ahead", {}, {"synced": 530}, id="target already ahead"),
        pytest.param("forgotten", {}, {"mm2": -1}, id="only newer syncs kept"),
        pytest.param("forgotten", {}, NONE | {"mm2": -1}, id="none: only newer syncs kept"),
        pytest.param(
            "before_first_sync", {}, NONE | {"mm2": -1, "certificate": BEFORE}, id="older than all"
        ),
        pytest.param("no_sync", {}, NONE | UNKNOWN, id="no sync yet"),
        pytest.param("not_copied", {}, NONE | UNKNOWN | {"position": None}, id="nothing copied"),
        pytest.param("idle", {"has_members": False}, NONE, id="idle group"),
        pytest.param("not_emitted", {"has_members": True}, NONE, id="not written yet"),
        pytest.param("no_topic", {"checkpoints": TopicState.MISSING}, NONE, id="no topic"),
        pytest.param("unreadable", {"checkpoints": TopicState.UNREADABLE}, NONE, id="no READ"),
        pytest.param("never_committed", {}, NONE | UNKNOWN | {"committed": None}, id="no commit"),
        pytest.param("group_filtered", {"is_selected": False}, NONE, id="group left out"),
        pytest.param("topic_filtered", {}, NONE | {"is_selected": False}, id="topic left out"),
        pytest.param(
            "beyond_end", {}, {"certificate": None, "source_most": 119}, id="commit beyond the end"
        ),
        pytest.param(
            "beyond_target_end", {}, {"synced": 900, "target_most": 899}, id="and on the target"
        ),
        pytest.param(
            "streams_internal",
            {},
            {"is_streams_internal": True, "is_selected": False},
            id="Streams",
        ),
        pytest.param("group_gone", {"is_there": False}, {"committed": None}, id="group gone"),
    ],
)
def test_every_checkpoint_has_a_reason(reason, group, changes):
    assert lag(GroupFacts(**group), **changes).reason == reason


@pytest.mark.parametrize("committed", [120, 5_000_000], ids=["a little", "far"])
def test_beyond_the_end_nothing_grows_with_the_number_of_records(committed):
    found = lag(certificate=None, committed=committed, source_most=100)
    assert (found.behind, found.reread, found.skipped, found.duplicates) == (None,) * 4
    there = lag(synced=committed, target_most=100)
    assert (there.reread, there.skipped) == (None, None)


def test_every_reason_has_a_sentence_and_its_place_among_the_others():
    assert SENTENCES.keys() == set(CheckpointReason)
    assert HINTS.keys() <= set(CheckpointReason)
    assert gravest(CheckpointReason) is CheckpointReason.TARGET_AHEAD
    assert gravest([]) is None
    assert reason_text(CheckpointReason.NO_TOPIC).startswith("The checkpoints topic does not exist")


def test_a_sum_is_unbounded_as_soon_as_one_part_is():
    assert add_bounds([Bounds(1, 2), Bounds(3, 4)]) == Bounds(4, 6)
    assert add_bounds([Bounds(1, 2), Bounds(3, None)]) == Bounds(4, None)
