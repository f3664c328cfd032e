"""Losses while a reassignment adds and removes replicas."""

from dataclasses import replace

import pytest

from jobs.availability.status.severity import Severity
from jobs.availability.what_if.simulation import Return, simulate
from tests.jobs.availability.clusters import cluster, lose, partition

MOVED = partition(
    1, 2, 3, 4, isr=(1, 2, 3), adding=(4,), removing=(3,), min_insync_replicas=2, topic="orders"
)


@pytest.mark.parametrize(
    ("lost", "severity", "sentence"),
    [
        pytest.param(4, Severity.OK, "A reassignment adds broker 4: it does not end without it.",
                     id="the new one"),
        pytest.param(3, Severity.AT_MIN_ISR, "A reassignment only removes broker 3, and ends without it.",
                     id="the one that goes"),
        pytest.param(2, Severity.AT_MIN_ISR, "", id="one that stays"),
    ],
)  # fmt: skip
def test_a_lost_broker_that_comes_or_goes_with_a_reassignment_is_told_apart(
    lost, severity, sentence
):
    (step,) = simulate(cluster(MOVED, racks=dict.fromkeys((1, 2, 3, 4))), [lose(lost)]).steps
    (one,) = step.partitions
    assert (one.before.severity, one.after.severity) == (Severity.OK, severity)
    told = one.data_at_risk.sentence
    assert told.endswith(sentence)
    assert ("reassignment" in told) == bool(sentence)


def test_what_a_reassignment_adds_does_not_join_the_isr_by_itself():
    model = cluster(MOVED, racks=dict.fromkeys((1, 2, 3, 4)))
    outcome = simulate(model, [lose(4), Return(frozenset({4}))]).overall[0]
    assert outcome.after.isr == (1, 2, 3)


def test_where_reassignments_are_not_known_replicas_out_of_the_isr_are_not_missing():
    model = cluster(replace(MOVED, adding=None, removing=()), racks=dict.fromkeys((1, 2, 3, 4)))
    one = simulate(model, [lose(2)]).overall[0]
    assert (one.before.severity, one.after.severity) == (Severity.OK, Severity.AT_MIN_ISR)


def test_that_reassignments_are_not_known_is_told_where_replicas_are_out_of_the_isr():
    one = replace(MOVED, adding=None, removing=())
    (step,) = simulate(cluster(one, racks=dict.fromkeys((1, 2, 3, 4))), [lose()]).steps
    assert step.partitions[0].condition == (
        "Unknown whether a reassignment adds broker 4: replicas outside the ISR count as added."
    )
