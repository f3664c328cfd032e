"""Lanes of voters and partitions: one per disk, thin bars for leaders, nothing drawn over what is unknown."""

from datetime import timedelta

import pytest

from console.frame.pages.state_timeline import StateInterval, with_gaps
from console.frame.pages.timerange import TimeRange
from console.quorum.history.timelines import draw_brokers, draw_partition
from console.quorum.voters.timelines import draw_voters
from jobs.severity import Severity
from tests.console.making import NOW, make_cluster
from tests.console.quorum.making import (
    at,
    make_change,
    make_election,
    make_history,
    make_log,
    make_partition,
    make_subject,
    make_voter_set,
    placed,
    voter,
)

pytestmark = pytest.mark.django_db
HOUR = TimeRange(NOW - timedelta(hours=1), NOW, "1h")


@pytest.fixture
def log():
    return make_log(make_cluster("east"))


def lanes_of(picture):
    """Return each lane's bars as (word, seconds before now at its start and end)."""
    return {
        row.label: [
            (bar.segment.word, *(round((NOW - t).total_seconds()) for t in (bar.start, bar.end)))
            for bar in row.bars
        ]
        for row in picture.rows
    }


def test_a_voter_that_came_back_with_another_disk_has_two_lanes(log):
    make_history(log)
    lanes = lanes_of(draw_voters(log, HOUR, NOW))
    assert [bar for bar in lanes["3 · STN8WqjT…"] if bar[0] == "Voter"] == [("Voter", 3000, 1500)]
    assert [bar for bar in lanes["3 · kQ2xW0aP…"] if bar[0] == "Voter"] == [("Voter", 1200, 0)]


def test_the_term_of_a_leader_ends_with_the_last_record_before_the_gap(log):
    make_voter_set(log, 0, 3000, voter(1), voter(2))
    make_election(log, 1, 3000, 1)
    make_election(log, 9, 1000, 2, epoch=8, gap_ms=20_000)
    lanes = lanes_of(draw_voters(log, HOUR, NOW))
    assert ("Leader", 3000, 1020) in lanes["1 · 5r_-B-v5…"]
    assert ("Leader", 1000, 0) in lanes["2 · UJ4ulasz…"]


def test_a_set_that_is_not_committed_shows_the_added_voter_as_such(log):
    make_voter_set(log, 0, 3000, voter(1))
    added = {"added": ["2 · UJ4ulasz…"], "is_committed": False}
    make_voter_set(log, 9, 100, voter(1), voter(2), **added)
    lanes = lanes_of(draw_voters(log, HOUR, NOW))
    assert lanes["2 · UJ4ulasz…"] == [("Uncommitted", 100, 0)]
    assert lanes["1 · 5r_-B-v5…"] == [("Voter", 3000, 0)]


def test_elections_and_changes_of_voters_are_marks(log):
    make_history(log)
    kinds = [mark.event.kind for mark in draw_voters(log, HOUR, NOW).marks]
    assert kinds.count("Election") == 3
    assert {"Voter added", "Voter removed"} <= set(kinds)


@pytest.mark.parametrize(
    ("gap", "left"),
    [
        ((80, 60), [("Voter", 100, 80), ("Voter", 60, 0), ("Unknown", 80, 60)]),
        ((200, 50), [("Voter", 50, 0), ("Unknown", 200, 50)]),
        ((300, 200), [("Voter", 100, 0), ("Unknown", 300, 200)]),
    ],
    ids=["inside", "over the beginning", "before"],
)
def test_what_is_unknown_is_cut_out(gap, left):
    segment = StateInterval("Voter", Severity.HEALTHY, at(100), None)
    found = with_gaps([segment], [(at(gap[0]), at(gap[1]))])
    told = [
        (one.word, *(round((NOW - (t or NOW)).total_seconds()) for t in (one.start, one.end)))
        for one in found
    ]
    assert told == left


def test_a_partition_has_a_lane_for_its_leader_and_for_each_replica(log):
    partition = make_partition(log)
    changes = [
        make_change(partition, 10, 1000, placed(1, 1, 2, 3)),
        make_change(partition, 20, 500, placed(1, 1, 2, elr=[3])),
        make_change(partition, 30, 300, placed(-1, elr=[1, 2, 3])),
        make_change(partition, 40, 100, placed(2, 2), is_unclean=True),
    ]
    picture = draw_partition(log, changes, HOUR, NOW)
    lanes = lanes_of(picture)
    assert lanes["Leader"] == [
        ("Broker 1", 1000, 300),
        ("No leader", 300, 100),
        ("Broker 2", 100, 0),
    ]
    assert lanes["Broker 3"] == [
        ("In sync", 1000, 500), ("Eligible leader", 500, 100), ("Out of sync", 100, 0),
    ]  # fmt: skip
    assert [mark.event.kind for mark in picture.marks] == ["Unclean election"]


def test_a_broker_that_was_unregistered_is_not_there_any_more(log):
    broker = make_subject(log, "broker", "3", broker=3)
    changes = [
        make_change(broker, 10, 900, {"is_fenced": True}),
        make_change(broker, 20, 800, {"is_fenced": False}),
        make_change(broker, 30, 400, {"is_fenced": False, "in_controlled_shutdown": True}),
        make_change(broker, 40, 200, {"is_fenced": True}, is_removed=True),
    ]
    lanes = lanes_of(draw_brokers(log, {3: changes}, HOUR, NOW))
    assert lanes["Broker 3"] == [
        ("Fenced", 900, 800), ("Unfenced", 800, 400), ("Shutting down", 400, 200),
    ]  # fmt: skip
