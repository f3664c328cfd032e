"""What proves that a group went back, and when another answer counts."""

from datetime import timedelta

import pytest

from console.clusters.models import Partition
from console.replication.checkpoints.rounds.collect import CHECKPOINTS
from console.replication.flows.models import GroupReadiness, ReadinessChange
from jobs.cluster.descriptions import CommittedOffset
from tests.console.making import NOW
from tests.console.replication.readiness_world import (
    ORDERS,
    StubCheckpoints,
    checkpoint,
    door,
    judged,
    make_world,
)

pytestmark = pytest.mark.django_db
SOON = NOW + timedelta(seconds=60)


@pytest.fixture
def flow():
    return make_world()


def group():
    return GroupReadiness.objects.get(group="readers")


def test_a_checkpoint_that_is_newer_than_the_stored_commit_is_no_group_that_went_back(flow):
    newer = {"readers": {ORDERS: CommittedOffset(200)}}
    stub = StubCheckpoints(checkpoint(upstream=150, downstream=550), commits=newer)
    judged(flow, stub)
    assert stub.asked == [["readers"]]
    assert (group().readiness, group().reason) == ("ready", "not_yet")
    assert group().partitions[0]["committed"] == 200


def test_a_group_that_did_go_back_is_known_by_a_commit_that_is_newer_than_its_checkpoint(flow):
    newer = {"readers": {ORDERS: CommittedOffset(100)}}
    judged(flow, StubCheckpoints(checkpoint(upstream=140, downstream=540), commits=newer))
    assert (group().readiness, group().reason) == ("blocked", "rewound")


@pytest.mark.parametrize(
    "commits",
    [
        pytest.param({}, id="the source does not answer"),
        pytest.param({"other": {}}, id="the group's coordinator does not answer"),
    ],
)
def test_without_a_newer_commit_nothing_is_said_of_the_group_but_that_it_is_old(flow, commits):
    judged(flow, StubCheckpoints(checkpoint(upstream=140, downstream=540), commits=commits))
    assert (group().readiness, group().reason) == ("unknown", "current")
    assert [each["obstacle"] for each in group().evidence] == ["stale"]


def test_a_group_whose_commit_is_as_new_as_its_checkpoint_is_not_asked_again(flow):
    stub = door()
    judged(flow, stub)
    assert stub.asked == []


def test_another_answer_counts_when_a_second_round_finds_it(flow):
    judged(flow)
    Partition.objects.update(log_start_offset=550)
    held = judged(flow, now=SOON)
    assert (held.readiness, held.found, held.found_since) == ("ready", "blocked", SOON)
    assert (group().readiness, group().found, held.counts) == ("ready", "blocked", {"ready": 1})
    later = SOON + timedelta(seconds=5)
    assert CHECKPOINTS.due(later) == [flow.pk]
    counts = judged(flow, now=later)
    assert (counts.readiness, counts.found, counts.counts) == ("blocked", "", {"blocked": 1})


def test_an_answer_that_comes_and_goes_is_no_change(flow):
    judged(flow)
    Partition.objects.update(log_start_offset=550)
    judged(flow, now=SOON)
    Partition.objects.update(log_start_offset=0)
    answer = judged(flow, now=SOON + timedelta(seconds=5))
    assert (answer.readiness, answer.found, answer.differs_since) == ("ready", "", None)
    assert (group().readiness, group().found, group().since) == ("ready", "", NOW)
    assert ReadinessChange.objects.count() == 2
