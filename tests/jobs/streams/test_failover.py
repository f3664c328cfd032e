"""Whether an application could resume on the target of a flow with its state."""

from dataclasses import replace

import pytest

from jobs.streams.assembly import application_of
from jobs.streams.failover import (
    Changelog,
    Copied,
    FlowSide,
    Needs,
    Reading,
    TargetTopic,
    judge_failover,
    needs_of,
)
from jobs.streams.lag import NOT_KEPT
from tests.jobs.streams.written import TOPICS, facts, observation, two_processes

CHANGELOG, REPARTITION = "app-totals-changelog", "app-by-user-repartition"
# Checkpoint, then the ends of the changelog, then the copy; in ms.
BEFORE, CHECKPOINT, AFTER = 10_000, 100_000, 140_000
JUST_AFTER = CHECKPOINT + 1_000
DONE = Copied(50, 0, 50, 0)
NEEDS = Needs(
    "app",
    frozenset({"orders"}),
    {CHANGELOG: Changelog("store totals of subtopology 0", "compact")},
    frozenset(),
    {"orders": 2, CHANGELOG: 2},
    (Reading(AFTER, AFTER, {CHANGELOG: {0: 50, 1: 50}}),),
)
SIDE = FlowSide(
    "west",
    {"orders": "orders", CHANGELOG: CHANGELOG},
    has_group=True,
    copied={"orders": {0: DONE, 1: DONE}, CHANGELOG: {0: DONE, 1: DONE}},
    measured_at_ms=AFTER,
    checkpoint_count=2,
    newest_checkpoint_ms=CHECKPOINT,
    topics={"orders": TargetTopic(2), CHANGELOG: TargetTopic(2, "compact")},
    prefixed=frozenset({CHANGELOG}),
)


def codes(needs=NEEDS, side=SIDE, **fields):
    return [one.code for one in judge_failover(needs, replace(side, **fields)).reasons]


def copy_of(row):
    return {**SIDE.copied, CHANGELOG: {0: row, 1: DONE}}


def test_it_is_ready_when_topics_changelogs_and_offsets_are_on_the_target():
    assert judge_failover(NEEDS, SIDE) == (True, ())


def test_without_state_it_is_ready_when_sources_and_offsets_are():
    needs = replace(NEEDS, changelogs={}, partitions={"orders": 2})
    assert judge_failover(needs, replace(SIDE, remote={"orders": "orders"}, prefixed=frozenset()))[
        0
    ]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"remote": {"orders": "orders"}, "prefixed": frozenset()}, "changelog_not_copied"),
        ({"copied": {"orders": {0: DONE, 1: DONE}}}, "changelog_not_copied"),
        ({"copied": copy_of(Copied(None, 0, 50, None))}, "changelog_not_copied"),
        ({"topics": {"orders": TargetTopic(2)}}, "changelog_not_copied"),
        ({"remote": {CHANGELOG: CHANGELOG}}, "source_not_copied"),
        (
            {"topics": {**SIDE.topics, "orders": TargetTopic(3)}},
            "partitions_differ",
        ),
        ({"topics": {**SIDE.topics, CHANGELOG: TargetTopic(2, "delete")}}, "policy_differs"),
        ({"has_group": False}, "offsets_not_translated"),
        ({"checkpoint_count": 0, "newest_checkpoint_ms": None}, "offsets_not_translated"),
        ({"unproven": {"orders": 1}}, "offsets_not_translated"),
        ({"members": 3}, "application_id_taken"),
        ({"used_topics": frozenset({"clicks"})}, "application_id_taken"),
        ({"prefixed": frozenset({"app-old-changelog"})}, "topics_taken"),
    ],
    ids=[
        "changelog not selected",
        "no partition of it is copied",
        "one partition of it is not copied",
        "not on the target",
        "source not selected",
        "more partitions on the target",
        "another policy on the target",
        "group not selected",
        "no checkpoint",
        "a commit without a checkpoint",
        "members on the target",
        "commits of its own on the target",
        "topics of its own on the target",
    ],
)
def test_it_is_not_ready(fields, code):
    assert codes(**fields) == [code]
    assert judge_failover(NEEDS, replace(SIDE, **fields)).ready is False


def test_the_states_that_would_be_empty_are_named():
    (reason,) = judge_failover(NEEDS, replace(SIDE, copied={"orders": {0: DONE, 1: DONE}})).reasons
    assert "The state of store totals of subtopology 0 would be empty" in reason.text


def test_renamed_topics_are_not_found_by_the_application():
    renamed = {name: f"east.{name}" for name in SIDE.remote}
    topics = {renamed[name]: one for name, one in SIDE.topics.items()}
    (reason,) = judge_failover(
        NEEDS, replace(SIDE, remote=renamed, topics=topics, prefixed=frozenset())
    ).reasons
    assert reason.code == "renamed"
    assert f"east.{CHANGELOG}" in reason.text


def test_a_repartition_topic_must_not_be_copied():
    needs = replace(NEEDS, repartitions=frozenset({REPARTITION}))
    side = replace(
        SIDE,
        remote={**SIDE.remote, REPARTITION: REPARTITION},
        copied={**SIDE.copied, REPARTITION: {0: DONE}},
    )
    assert codes(needs, side) == ["repartition_copied"]
    assert codes(needs) == []


LAGGING = Copied(40, 0, 60, 20)


@pytest.mark.parametrize(
    ("row", "ends_at", "measured_at", "code", "ready"),
    [
        (DONE, [BEFORE], AFTER, None, True),
        (Copied(50, 0, 60, 10), [AFTER], BEFORE, None, True),
        (Copied(None, 0, 0, 0), [BEFORE], AFTER, None, True),
        (LAGGING, [BEFORE], AFTER, "changelog_behind", False),
        (LAGGING, [AFTER, BEFORE], AFTER, "changelog_behind", False),
        (Copied(49, 0, 60, 11), [BEFORE], AFTER, "progress_unknown", None),
        (LAGGING, [AFTER], AFTER, "progress_unknown", None),
        (LAGGING, [CHECKPOINT - 100], AFTER, "progress_unknown", None),
        (LAGGING, [BEFORE], JUST_AFTER, "progress_unknown", None),
        (DONE, [BEFORE], BEFORE, "progress_unknown", None),
        (LAGGING, [], AFTER, "progress_unknown", None),
    ],
    ids=[
        "no lag after the checkpoint",
        "the copy passed an end that was read after the checkpoint",
        "an empty partition",
        "records from before the checkpoint are missing",
        "records from before the last rebalance are missing",
        "what is missing may be a marker",
        "what is missing may be newer than the checkpoint",
        "the reading ended after the checkpoint",
        "the position may have been reported before the checkpoint",
        "both readings are older than the checkpoint",
        "no ends were kept",
    ],
)
def test_a_changelog_is_compared_with_the_newest_checkpoint(row, ends_at, measured_at, code, ready):
    readings = tuple(Reading(at, at + 500, {CHANGELOG: {0: 50}}) for at in ends_at)
    needs = replace(NEEDS, readings=readings, partitions={"orders": 2, CHANGELOG: 1})
    copied = {**SIDE.copied, CHANGELOG: {0: row}}
    side = replace(SIDE, copied=copied, measured_at_ms=measured_at)
    side = replace(side, topics={**SIDE.topics, CHANGELOG: TargetTopic(1)})
    found = judge_failover(needs, side)
    assert [one.code for one in found.reasons] == [code] * (code is not None)
    assert found.ready is ready


def test_what_is_missing_is_counted():
    needs = replace(NEEDS, readings=(Reading(BEFORE, BEFORE, {CHANGELOG: {0: 50, 1: 50}}),))
    (reason,) = judge_failover(needs, replace(SIDE, copied=copy_of(LAGGING))).reasons
    assert reason.text.startswith(f"10 records of 1 changelog partition ({CHANGELOG}-0)")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"stale": ("Too old.",), "has_group": False}, "stale"),
        ({"remote": {"orders": "orders"}, "elsewhere": frozenset({CHANGELOG})}, "copied_elsewhere"),
        ({"copied": copy_of(Copied(None, None, None, None))}, "copy_unknown"),
        ({"members": None}, "target_unknown"),
    ],
    ids=["old readings", "copied by another flow", "not measured", "members of the target"],
)
def test_it_is_unknown(fields, code):
    fields = {"prefixed": frozenset()} | fields
    assert codes(**fields) == [code]
    assert judge_failover(NEEDS, replace(SIDE, **fields)).ready is None


def test_what_is_left_out_makes_an_answer_unknown_and_not_better():
    needs = replace(NEEDS, left_out="Of 20,000 tasks only 10,000 are read.")
    assert judge_failover(needs, SIDE).ready is None
    assert judge_failover(needs, replace(SIDE, has_group=False)).ready is False


def test_the_needs_of_an_application_come_from_what_was_seen():
    seen = observation(two_processes(), {**TOPICS, REPARTITION: facts(4)})
    needs = needs_of(application_of(seen), seen.facts, NOT_KEPT, AFTER)
    assert needs.sources == {"orders"}
    assert needs.repartitions == {REPARTITION}
    changelog = needs.changelogs[CHANGELOG]
    assert changelog.state.startswith("store totals of subtopology 0")
    assert changelog.cleanup_policy == "compact"
    assert [one.ends for one in needs.readings] == [{CHANGELOG: dict.fromkeys(range(4), 50)}, {}]


def test_without_the_number_of_its_partitions_it_is_not_known_whether_a_topic_is_copied():
    needs = replace(NEEDS, partitions={CHANGELOG: NEEDS.partitions[CHANGELOG]})
    found = judge_failover(needs, SIDE)
    assert (found.ready, [one.code for one in found.reasons]) == (None, ["copy_unknown"])
