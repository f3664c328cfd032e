"""ISR churn, the slowest shrinks, unclean elections: what they say of short stories."""

import pytest

from jobs.spark.analyses.metadata import isr_churn, slowest_shrinks, unclean_elections
from tests.live.spark.analyses.stories import HOUR, MINUTE, broker, changed, created


def churn_story():
    """Broker 2 falls behind in hour 0, comes back in hour 1 from another rack; 3 is moved away in hour 2."""
    new = created(1, 0, [1, 2, 3])
    shrunk = changed(new, 10, 5 * MINUTE, isr=[1, 3], cause="isr_shrink", cause_broker=2)
    whole = changed(shrunk, 20, HOUR, isr=[1, 3, 2], cause="isr_expand", cause_broker=2)
    moved = changed(
        whole, 30, 2 * HOUR, isr=[1, 2], replicas=[1, 2], cause="reassignment_completed"
    )
    gone = changed(moved, 40, 3 * HOUR, cause="topic_deleted", is_removed=True)
    racks = [
        broker(0, 2, "dc-a"),
        broker(15, 2, "dc-b", at_ms=HOUR // 2, previous_is_fenced=True, previous_rack="dc-a"),
    ]
    return {"partition_changes": [new, shrunk, whole, moved, gone], "broker_changes": racks}


def pairs(rows):
    return {
        (row["hour_ms"] // HOUR, row["group"]): (row["shrinks"], row["expands"]) for row in rows
    }


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("broker", {(0, "2"): (1, 0), (1, "2"): (0, 1)}),
        ("rack", {(0, "dc-a"): (1, 0), (1, "dc-b"): (0, 1)}),
        ("topic", {(0, "orders"): (1, 0), (1, "orders"): (0, 1)}),
        ("cause", {(0, "isr_shrink"): (1, 0), (1, "isr_expand"): (0, 1)}),
    ],
)
def test_churn_counts_brokers_that_leave_and_join_but_not_replicas_that_are_taken_away(
    ask, by, expected
):
    found = ask(isr_churn, churn_story(), last_ms=3 * HOUR, by=by)
    assert pairs(found["churn"]) == expected
    assert (found.facts["shrinks"], found.facts["expands"]) == (1, 1)
    assert found.facts["busiest_hour"] == "1970-01-01T00:00:00.000Z"


def test_churn_looks_only_at_the_window_and_says_where_the_log_ends(ask):
    found = ask(isr_churn, churn_story(), last_ms=3 * HOUR, **{"from": HOUR, "to": 9 * HOUR})
    assert pairs(found["churn"]) == {(1, "2"): (0, 1)}
    assert found["totals"] == [
        {"group": "2", "shrinks": 0, "expands": 1, "hours": 1, "busiest_hour_ms": HOUR}
    ]
    assert found.notes == (
        "The log ends at 1970-01-01T03:00:00.000Z: later changes are not known.",
    )


def test_a_log_without_times_answers_with_empty_tables_and_says_so(ask):
    story = {"partition_changes": [created(5, None, [1, 2], cause="snapshot")]}
    found = ask(isr_churn, story, first_ms=None, notes=("It is short.",))
    assert (found["churn"], found.facts["shrinks"], found.notes[0]) == ([], 0, "It is short.")
    assert "no record with a time" in found.notes[1]


def slow_story():
    """Broker 3 (dc-c) leaves three ISRs: back after 3 h, still out, moved away; broker 2 one for a minute."""
    rows = []
    for partition in range(4):
        out = 2 if partition == 3 else 3
        new = created(partition, 0, [1, 2, 3], partition=partition)
        left = changed(
            new,
            10 + partition,
            HOUR + partition,
            isr=[one for one in (1, 2, 3) if one != out],
            cause="isr_shrink" if out == 2 else "broker_fenced",
        )
        rows += [new, left]
    rows.append(changed(rows[1], 20, 4 * HOUR, isr=[1, 2, 3], cause="isr_expand"))
    rows.append(changed(rows[5], 21, 2 * HOUR, replicas=[1, 2], cause="reassignment_completed"))
    rows.append(changed(rows[7], 22, HOUR + MINUTE + 3, isr=[1, 2, 3], cause="isr_expand"))
    return {"partition_changes": rows, "broker_changes": [broker(0, 3, "dc-c"), broker(0, 2, None)]}


def test_a_shrink_lasts_until_the_broker_is_back_is_no_replica_or_the_log_ends(ask):
    found = ask(slowest_shrinks, slow_story(), last_ms=10 * HOUR)
    told = [
        (row["partition"], row["broker_id"], row["outcome"], row["duration_ms"])
        for row in found["slowest"]
    ]
    assert told == [
        (1, 3, "out", 9 * HOUR - 1),
        (0, 3, "back", 3 * HOUR),
        (2, 3, "removed", HOUR - 2),
        (3, 2, "back", MINUTE),
    ]
    assert (found.facts["shrinks"], found.facts["still_out"]) == (4, 1)


def test_what_the_slowest_have_in_common_is_compared_with_all(ask):
    found = ask(slowest_shrinks, slow_story(), last_ms=10 * HOUR, limit=2)
    common = {(row["dimension"], row["value"]): row for row in found["in_common"]}
    assert {key: (row["slow"], row["all"]) for key, row in common.items()} == {
        ("broker", "3"): (2, 3),
        ("rack", "dc-c"): (2, 3),
        ("topic", "orders"): (2, 4),
        ("cause", "broker_fenced"): (2, 3),
        ("leader", "1"): (2, 4),
        ("hour", "1970-01-01 01:00"): (2, 4),
    }
    first, last = found["in_common"][0], found["in_common"][-1]
    assert (first["value"], first["share_of_slow"], first["share_of_all"]) == ("3", 1.0, 0.75)
    assert first["lift"] == pytest.approx(4 / 3)
    assert last["lift"] == 1.0


def test_a_return_that_only_a_snapshot_tells_has_no_duration(ask):
    new = created(0, 0, [1, 2])
    left = changed(new, 1, HOUR, isr=[1], cause="isr_shrink")
    back = changed(left, 9, None, isr=[1, 2], cause="between")
    found = ask(slowest_shrinks, {"partition_changes": [new, left, back]}, last_ms=2 * HOUR)
    assert (found["slowest"], found.facts["shrinks"]) == ([], 1)


def test_an_unclean_election_shows_both_signs_and_who_was_passed_over(ask):
    new = created(0, 0, [1, 2, 3])
    alone = changed(new, 1, MINUTE, isr=[1], cause="isr_shrink")
    lost = changed(alone, 2, 2 * MINUTE, leader=-1, cause="broker_fenced", cause_broker=1)
    unclean = changed(
        lost,
        3,
        3 * MINUTE,
        leader=2,
        isr=[2],
        cause="unclean_election",
        leader_was_outside=True,
        began_recovering=True,
    )
    older = created(4, 4 * MINUTE, [3], topic="old", leader_was_outside=True, previous_isr=[1, 2])
    story = {"partition_changes": [new, alone, lost, unclean, older]}
    found = ask(unclean_elections, story, last_ms=HOUR)
    signs = [
        (
            row["topic"],
            row["previous_leader"],
            row["leader"],
            row["leader_was_outside"],
            row["began_recovering"],
        )
        for row in found["elections"]
    ]
    assert signs == [("orders", -1, 2, True, True), ("old", None, 3, True, False)]
    assert found["elections"][0]["previous_isr"] == [1]
    assert [(row["broker_id"], row["elected"], row["passed_over"]) for row in found["brokers"]] == [
        (2, 1, 1),
        (3, 1, 0),
        (1, 0, 2),
    ]
    assert (found.facts["elections"], found.facts["with_both_signs"]) == (2, 1)
    assert [row["topic"] for row in found["topics"]] == ["old", "orders"]
