"""Findings about voters: their thresholds, and the nodes that they name."""

from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.rules import QuorumSnapshot, evaluate_quorum
from tests.jobs.quorum.health.test_rules import NOW, SETTLED, described, found, leader, replica


def test_how_far_a_voter_may_lag_is_a_threshold():
    limits = {"lag_records": 5_000, "lag_s": 10}
    behind = described(leader(end=5_000), replica(2, 5_000), replica(3, 3_000))
    assert found(description=behind, lag_limits=limits, **SETTLED) == {}


def test_findings_of_voters_name_their_nodes():
    silent = described(leader(), replica(2), replica(3, fetched_ago=60_000))
    judged = evaluate_quorum(QuorumSnapshot(description=silent, **SETTLED), NOW).findings
    evidence = {one.code: one.evidence for one in judged}
    assert evidence[QuorumCode.VOTER_SILENT]["node"] == 3
    assert evidence[QuorumCode.BARE_MAJORITY]["silent"] == [3]
