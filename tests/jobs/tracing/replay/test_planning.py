"""What is done with a dead letter follows from its headers and the logs at the moment of the plan."""

import pytest

from jobs.cluster.descriptions import PartitionDescription, TopicDescription, TopicPartition
from jobs.tracing.replay.headers import Place
from jobs.tracing.replay.planning import (
    Action,
    Content,
    Letter,
    Planner,
    Tier,
)
from jobs.tracing.tiers import Ends

ORIGINAL = ("orders", 1, 40)


def topic(name, partitions, *, is_internal):
    parts = [PartitionDescription(number, 1, (1,), (1,)) for number in range(partitions)]
    return TopicDescription(name, "id", is_internal, tuple(parts))


def planner(**changes):
    given = {
        "content": Content.LETTER,
        "target": "",
        "max_replays": 2,
        "quarantine_topic": "parked",
        "letter_topics": frozenset({"orders.DLT"}),
        "topics": {
            "orders": topic("orders", 3, is_internal=False),
            "orders.DLT": topic("orders.DLT", 1, is_internal=False),
            "repaired": topic("repaired", 3, is_internal=False),
            "parked": topic("parked", 1, is_internal=False),
            "__consumer_offsets": topic("__consumer_offsets", 50, is_internal=True),
        },
        "logs": {
            TopicPartition("orders.DLT", 0): Ends(2, 2, end=100),
            TopicPartition("orders", 1): Ends(10, 30, end=50),
            TopicPartition("orders", 2): Ends(10, None, end=50),
        },
    }
    return Planner(**{**given, **changes})


def letter(offset=5, original=ORIGINAL, replays=0):
    return Letter(Place("orders.DLT", 0, offset), *original, replays)


@pytest.mark.parametrize(
    ("given", "content", "tier", "missing"),
    [
        pytest.param(letter(2), "letter", "local", "", id="first letter of the log"),
        pytest.param(letter(1), "letter", "gone", "removed", id="letter removed"),
        pytest.param(letter(), "original", "local", "", id="original on brokers"),
        pytest.param(
            letter(original=("orders", 1, 29)), "original", "remote", "", id="original remote"
        ),
        pytest.param(
            letter(original=("orders", 2, 29)), "original", "unknown", "", id="tier not known"
        ),
        pytest.param(
            letter(original=("orders", 1, 9)), "original", "gone", "removed", id="original removed"
        ),
        pytest.param(
            letter(original=("orders", 1, 50)),
            "original",
            "gone",
            "behind_log_end",
            id="topic re-created",
        ),
        pytest.param(
            letter(original=("orders", 0, 9)),
            "original",
            "unknown",
            "source_unknown",
            id="partition without leader",
        ),
    ],
)
def test_a_record_is_sent_while_its_source_is_retained(given, content, tier, missing):
    found = planner(content=Content(content)).plan(given)
    assert (found.action, found.reason) == (
        Action.SKIP if missing else Action.SEND,
        missing or None,
    )
    assert found.tier is Tier(tier)


@pytest.mark.parametrize(
    ("replays", "quarantine", "action", "reason"),
    [
        pytest.param(0, "parked", "send", "", id="never replayed"),
        pytest.param(1, "parked", "send", "", id="the last allowed replay"),
        pytest.param(2, "parked", "quarantine", "max_replays", id="too many"),
        pytest.param(2, "", "skip", "max_replays", id="too many, no quarantine"),
        pytest.param(2, "lost", "skip", "no_target", id="quarantine does not exist"),
        pytest.param(2, "orders.DLT", "skip", "target_is_source", id="quarantine is read from"),
        pytest.param(None, "parked", "quarantine", "unreadable_count", id="unreadable count"),
    ],
)
def test_the_loop_guard_ends_replays(replays, quarantine, action, reason):
    found = planner(quarantine_topic=quarantine).plan(letter(replays=replays))
    assert (found.action, found.reason) == (Action(action), reason or None)
    assert found.target_topic == {"send": "orders", "quarantine": "parked"}.get(action)


@pytest.mark.parametrize(
    ("target", "original", "expected"),
    [
        pytest.param("", ORIGINAL, ("orders", 1), id="original partition"),
        pytest.param("", ("orders", 7, 1), ("orders", None), id="partition that is gone"),
        pytest.param("repaired", ORIGINAL, ("repaired", None), id="other topic: by key"),
        pytest.param("orders", ORIGINAL, ("orders", 1), id="original topic by name"),
        pytest.param("repaired", (None, None, None), ("repaired", None), id="target, no original"),
        pytest.param("", (None, 1, 1), "no_original", id="no original topic"),
        pytest.param("", ("lost", 1, 1), "no_target", id="original topic is deleted"),
        pytest.param("", ("__consumer_offsets", 1, 1), "internal_target", id="internal"),
        pytest.param("", ("orders.DLT", 0, 1), "target_is_source", id="loop to itself"),
    ],
)
def test_a_record_goes_to_its_target_or_is_skipped_with_the_reason(target, original, expected):
    found = planner(target=target).plan(letter(original=original))
    if isinstance(expected, str):
        assert (found.action, found.reason) == (Action.SKIP, expected)
    else:
        assert (found.target_topic, found.target_partition) == expected


def test_the_second_letter_of_one_original_is_a_duplicate():
    one = planner()
    found = [one.plan(letter(offset)) for offset in (1, 5, 6)]
    # The first was removed from the log: it is not the one that is sent.
    assert [one.reason for one in found] == ["removed", None, "duplicate"]


def test_letters_without_a_whole_pointer_are_no_duplicates():
    one = planner(target="repaired")
    found = [one.plan(letter(offset, (None, None, None))) for offset in (5, 6)]
    assert [one.action for one in found] == [Action.SEND, Action.SEND]
