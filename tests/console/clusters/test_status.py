"""The state of a cluster in one word."""

from datetime import timedelta

import pytest

from console.clusters.models import Cluster, CollectionRound, Noun
from console.clusters.status import judge_cluster
from jobs.availability.status.severity import Severity
from tests.console.clusters.making import NOW, later

REFUSED = ("unreachable", "Connection refused: kafka-3.example:9092.")


def rounds(*failing, code=REFUSED[0]):
    """All rounds, some of which fail for a dead broker."""
    return [
        CollectionRound(
            noun=noun,
            succeeded_at=NOW,
            failing_since=NOW if noun in failing else None,
            error=REFUSED[1] if noun in failing else "",
            error_code=code if noun in failing else "",
        )
        for noun in Noun
    ]


@pytest.mark.parametrize(
    ("failing", "worst", "dead", "state"),
    [
        pytest.param(("offsets", "groups"), Severity.OFFLINE, 1, "offline", id="offline"),
        pytest.param(("groups",), Severity.UNDER_MIN_ISR, 1, "under_min_isr", id="under min ISR"),
        pytest.param(("groups",), Severity.AT_MIN_ISR, 1, "at_min_isr", id="equally bad"),
        pytest.param(("groups",), Severity.OK, 1, "broker_missing", id="a broker is down"),
        pytest.param(("groups",), Severity.UNDER_REPLICATED, 0, "failing", id="less bad"),
        pytest.param(("groups",), Severity.OK, 0, "failing", id="nothing else is wrong"),
        pytest.param(("topics",), Severity.OFFLINE, 1, "failing", id="topics are not read now"),
        pytest.param(tuple(Noun), Severity.OFFLINE, 1, "unreachable", id="nothing is read now"),
        pytest.param((), Severity.OFFLINE, 1, "offline", id="everything is read"),
        pytest.param((), Severity.OK, 0, "ok", id="healthy"),
    ],
)
def test_a_failing_round_does_not_hide_what_the_others_see(failing, worst, dead, state):
    assert judge_cluster(Cluster(), rounds(*failing), worst, dead, NOW).state == state


@pytest.mark.parametrize("code", ["cluster_id_changed", "several_clusters", "registered_twice"])
def test_another_cluster_is_told_whatever_was_seen_before(code):
    found = judge_cluster(Cluster(), rounds(*Noun, code=code), Severity.OFFLINE, 1, NOW)
    assert found.state == "another_cluster"


@pytest.mark.parametrize(
    ("dead", "words"),
    [
        pytest.param(1, "1 broker is down.", id="one"),
        pytest.param(2, "2 brokers are down.", id="two"),
    ],
)
def test_offline_partitions_of_dead_brokers_say_so_and_what_to_do(dead, words):
    found = judge_cluster(Cluster(), rounds("groups"), Severity.OFFLINE, dead, NOW)
    assert words in found.reason
    assert found.hint.startswith("Start the broker")


@pytest.mark.parametrize(
    ("after_s", "worst", "state"),
    [
        pytest.param(29, Severity.OK, "ok", id="a moment later"),
        pytest.param(43, Severity.OK, "stale", id="three rounds did not come"),
        pytest.param(43, Severity.UNDER_REPLICATED, "stale", id="what was seen is less bad"),
        pytest.param(43, Severity.AT_MIN_ISR, "at_min_isr", id="what was seen is as bad"),
        pytest.param(43, Severity.OFFLINE, "offline", id="what was seen is worse"),
    ],
)
def test_a_cluster_that_no_round_comes_to_is_stale_but_not_better_than_it_was(
    after_s, worst, state
):
    assert judge_cluster(Cluster(), rounds(), worst, 0, later(after_s)).state == state


def test_a_stale_cluster_says_what_is_old_since_when_and_what_to_do():
    found = judge_cluster(Cluster(), rounds(), Severity.OK, 0, later(639))
    assert found.reason == "All data last collected 10\u00a0m\u00a039\u00a0s ago."
    assert found.since == NOW
    assert "The worker of the queue collect" in found.hint


def test_a_noun_that_alone_is_late_is_named():
    some = rounds()
    some[-1].succeeded_at = NOW - timedelta(minutes=5)
    found = judge_cluster(Cluster(), some, Severity.OK, 0, NOW)
    assert found.reason == "Data of groups last collected 5\u00a0m ago."


def test_what_was_seen_says_how_old_it_is_when_rounds_are_late():
    found = judge_cluster(Cluster(), rounds(), Severity.OFFLINE, 0, later(639))
    assert found.reason.endswith("All data last collected 10\u00a0m\u00a039\u00a0s ago.")


@pytest.mark.parametrize(
    ("after_s", "state"),
    [
        pytest.param(59, "new", id="just registered"),
        pytest.param(61, "stale", id="registered, and never collected"),
    ],
)
def test_a_cluster_whose_first_round_never_comes_is_stale(after_s, state):
    assert judge_cluster(Cluster(created_at=NOW), [], Severity.OK, 0, later(after_s)).state == state


def test_a_cluster_of_which_only_groups_were_read_is_not_judged():
    some = rounds()
    for row in some:
        row.succeeded_at = row.succeeded_at if row.noun == "groups" else None
    found = judge_cluster(Cluster(created_at=NOW), some, Severity.OK, 0, NOW)
    assert found.state == "new"
    assert found.reason == "Brokers and partitions have not been collected yet."
