"""Voters and elections, time without a controller, config changes, and what was before a moment."""

import pytest

from jobs.spark.analyses.metadata import (
    before_a_moment,
    config_changes,
    quorum_history,
    time_without_controller,
)
from tests.live.spark.analyses.stories import (
    DAY,
    HOUR,
    MINUTE,
    broker,
    changed,
    created,
    election,
    setting,
)


def quorum_story():
    """Three controllers; 2 leads, then 3, which has 4 added; a fourth epoch is won by 1."""
    return {
        "voter_sets": [
            {"offset": 0, "timestamp_ms": None, "voter_ids": [1, 2, 3], "voters": ["1@a", "2@b", "3@c"], "source": "bootstrap"},
            {
                "offset": 50,
                "timestamp_ms": 30 * MINUTE,
                "voter_ids": [1, 2, 3, 4],
                "voters": ["1@a", "2@b", "3@c", "4@d"],
                "added": ["4@d"],
            },
        ],
        "elections": [
            election(1, 0, 2, epoch=1, ended_ms=10 * MINUTE),
            election(20, 11 * MINUTE, 3, epoch=2, ended_ms=40 * MINUTE, previous_leader_id=2, gap_ms=MINUTE),
            election(80, 41 * MINUTE, 1, epoch=5, ended_ms=HOUR, previous_leader_id=3, gap_ms=400, skipped_epochs=2),
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("at", "voters", "leader"),
    [
        (None, ["1@a", "2@b", "3@c", "4@d"], 1),
        (30 * MINUTE, ["1@a", "2@b", "3@c", "4@d"], 3),
        (30 * MINUTE - 1, ["1@a", "2@b", "3@c"], 3),
    ],
    ids=["at the end", "as it is written", "just before"],
)
def test_the_voters_at_a_moment_are_those_of_the_last_set_up_to_then(ask, at, voters, leader):
    found = ask(quorum_history, quorum_story(), last_ms=HOUR, at=at)
    assert [row["voter"] for row in found["voters_at"]] == voters
    assert [row["voter_id"] for row in found["voters_at"] if row["is_leader"]] == [leader]
    assert (found.facts["voters_at"], found.facts["leader_at"]) == (voters, leader)


def test_a_moment_before_any_voter_set_has_no_voters_and_a_note(ask):
    tables = {"voter_sets": quorum_story()["voter_sets"][1:]}
    found = ask(quorum_history, tables, last_ms=HOUR, at=0)
    assert (found["voters_at"], found.facts["voters_at"], found.facts["leader_at"]) == (
        [],
        None,
        None,
    )
    assert "1970-01-01T00:00:00.000Z are not known" in found.notes[0]


def test_elections_of_a_window_are_counted_and_who_was_in_office_is_listed(ask):
    found = ask(quorum_history, quorum_story(), last_ms=HOUR, **{"from": 20 * MINUTE})
    assert [(row["epoch"], row["leader_id"], row["duration_ms"]) for row in found["elections"]] == [
        (2, 3, 29 * MINUTE),
        (5, 1, 19 * MINUTE),
    ]
    assert found.facts["elections"] == 1
    assert found.facts["epochs_without_leader"] == 2
    assert found.facts["voter_set_changes"] == 1
    assert [row["added"] for row in found["voter_sets"]] == [[], ["4@d"]]


def gap_story():
    """A minute until an election, two hours over midnight without one, and 400 ms that are no silence."""
    begin = DAY - HOUR
    silences = [
        {
            "from_offset": 19,
            "to_offset": 20,
            "from_ms": 10 * MINUTE,
            "to_ms": 11 * MINUTE,
            "is_election": True,
        },
        {
            "from_offset": 90,
            "to_offset": 91,
            "from_ms": begin,
            "to_ms": begin + 2 * HOUR,
            "is_election": False,
        },
    ]
    return {**quorum_story(), "silences": silences}


def test_time_without_a_controller_is_silences_and_what_is_before_elections(ask):
    found = ask(time_without_controller, gap_story(), last_ms=2 * DAY)
    spans = [
        (
            row["from_offset"],
            row["duration_ms"],
            row["is_election"],
            row["old_leader"],
            row["new_leader"],
        )
        for row in found["spans"]
    ]
    assert spans == [(19, MINUTE, True, 2, 3), (79, 400, True, 3, 1), (90, 2 * HOUR, False, 1, 1)]
    assert found.facts["total_ms"] == 2 * HOUR + MINUTE + 400
    assert found.facts["longest_from"] == "1970-01-01T23:00:00.000Z"
    assert found.facts["share"] == pytest.approx((2 * HOUR + MINUTE + 400) / (2 * DAY))


def test_a_span_over_midnight_counts_in_both_days_and_an_election_where_it_ended(ask):
    found = ask(time_without_controller, gap_story(), last_ms=3 * DAY)
    days = [
        (row["period"], row["spans"], row["elections"], row["duration_ms"])
        for row in found["periods"]
    ]
    assert days == [
        ("1970-01-01", 3, 2, HOUR + MINUTE + 400),
        ("1970-01-02", 1, 0, HOUR),
        ("1970-01-03", 0, 0, 0),
    ]
    assert found["periods"][1]["share"] == pytest.approx(1 / 24)


def test_spans_are_cut_to_the_window(ask):
    window = {"from": DAY, "to": DAY + 2 * HOUR}
    found = ask(time_without_controller, gap_story(), last_ms=3 * DAY, per="month", **window)
    assert [(row["from_ms"], row["to_ms"]) for row in found["spans"]] == [(DAY, DAY + HOUR)]
    assert found["periods"] == [
        {"period": "1970-01", "spans": 1, "elections": 0, "duration_ms": HOUR, "share": 0.5}
    ]


def config_story():
    """Before and after a setting, partitions of two topics lose brokers and leaders."""
    orders, other = created(1, 0, [1, 2, 3]), created(2, 0, [1, 2, 3], topic="other")
    before = changed(orders, 10, 51 * MINUTE, isr=[1, 2], cause="isr_shrink")
    after = changed(before, 30, HOUR + MINUTE, isr=[2], leader=2, cause="broker_fenced")
    elsewhere = changed(other, 40, HOUR + 2 * MINUTE, isr=[1], cause="isr_shrink")
    late = changed(after, 50, HOUR + 11 * MINUTE, leader=-1, cause="broker_fenced")
    return {
        "partition_changes": [orders, other, before, after, elsewhere, late],
        "config_changes": [
            setting(20, HOUR, "2", previous_value="1"),
            setting(
                21, HOUR, "1000", resource=("BROKER", "3"), name="leader.replication.throttled.rate"
            ),
            setting(22, HOUR, "5", resource=("GROUP", "g"), name="consumer.heartbeat.interval.ms"),
        ],
    }


def test_what_follows_a_setting_is_counted_in_its_topic_and_for_a_broker_everywhere(ask):
    found = ask(config_changes, config_story(), last_ms=2 * HOUR)
    counts = ("shrinks_before", "shrinks_after", "leader_changes_before", "leader_changes_after")
    assert {
        row["resource_type"]: tuple(row[name] for name in counts) for row in found["changes"]
    } == {
        "TOPIC": (1, 1, 0, 1),
        "BROKER": (1, 3, 0, 1),
        "GROUP": (None, None, None, None),
    }
    assert (found["changes"][0]["previous_value"], found["changes"][0]["value"]) == ("1", "2")
    assert found.facts["changes"] == 3


def test_settings_are_found_by_type_and_by_parts_of_names(ask):
    told = []
    for asked in (
        {"resource_type": "BROKER"},
        {"resource_name": "rder"},
        {"name": "insync"},
        {"name": "%"},
    ):
        found = ask(config_changes, config_story(), last_ms=2 * HOUR, minutes=1, **asked)
        told.append([row["name"] for row in found["settings"]])
    assert told == [
        ["leader.replication.throttled.rate"],
        ["min.insync.replicas"],
        ["min.insync.replicas"],
        [],
    ]


def test_the_minutes_before_a_moment_are_told_in_the_order_of_the_log(ask):
    at = HOUR
    new = created(1, 0, [1, 2])
    lost = changed(
        new, 30, at - 2 * MINUTE, isr=[2], leader=2, cause="broker_fenced", cause_broker=1
    )
    tables = {
        "partition_changes": [new, lost, created(60, at + 1, [1], topic="later")],
        "broker_changes": [
            broker(31, 1, "dc-a", at_ms=at - 2 * MINUTE, cause="broker_fenced", previous_is_fenced=False)
        ],
        "config_changes": [setting(40, at, None, previous_value="2")],
        "features": [
            {"offset": 25, "timestamp_ms": at - 3 * MINUTE, "name": "kraft.version", "level": 1, "cause": "upgraded"}
        ],
        "topic_changes": [
            {"offset": 26, "timestamp_ms": at - 3 * MINUTE, "topic": "new", "topic_id": "t", "cause": "topic_created"}
        ],
        "elections": [election(20, at - 5 * MINUTE, 3, epoch=2, ended_ms=at, previous_leader_id=2, gap_ms=2_500)],
        "silences": [
            {
                "from_offset": 19,
                "to_offset": 20,
                "from_ms": at - 5 * MINUTE - 2_500,
                "to_ms": at - 5 * MINUTE,
                "is_election": True,
            }
        ],
        "voter_sets": [
            {"offset": 21, "timestamp_ms": at - 5 * MINUTE, "voter_ids": [2, 3], "voters": ["2@b", "3@c"], "removed": ["1@a"]}
        ],
    }  # fmt: skip
    found = ask(before_a_moment, tables, last_ms=2 * HOUR, at=at, minutes=10)
    assert [(row["offset"], row["what"], row["sentence"]) for row in found["events"]] == [
        (19, "silence", "Metadata log: no record for 2500 ms, until an election."),
        (
            20,
            "election",
            "Controller 3: elected for epoch 2; before: 2; 2500 ms after the last record.",
        ),
        (21, "voters", "Voters: removed 1@a; now [2, 3]."),
        (25, "feature", "Feature kraft.version: upgraded; 0 → 1."),
        (26, "topic", "Topic new: topic created."),
        (30, "partition", "orders-0: broker 1 was fenced; leader 1 → 2; ISR [1, 2] → [2]."),
        (31, "broker", "Broker 1 (dc-a): broker fenced."),
        (40, "config", "Topic orders: set; min.insync.replicas: 2 → not set."),
    ]
    assert [(row["minute_ms"] // MINUTE, row["events"]) for row in found["minutes"]] == [
        (54, 1),
        (55, 2),
        (57, 2),
        (58, 2),
        (60, 1),
    ]
    assert len(found["summary"]) == 8
    assert (found.facts["events"], found.notes) == (8, ())
