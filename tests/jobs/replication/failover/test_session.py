"""Confirming a plan, with evidence on paper."""

from dataclasses import replace

import pytest

from jobs.replication.failover.read_evidence import EvidenceRequest
from jobs.replication.failover.session import PlanRefused, confirm_plan
from tests.jobs.replication.failover.making import GROUP, NOW_MS, failover_evidence, plan_of


def confirmed(plan):
    asking = EvidenceRequest(plan.request, (), clock=lambda: NOW_MS / 1000)
    return confirm_plan(plan, [GROUP], asking, 300, lambda _: failover_evidence())


def test_the_same_evidence_confirms_a_plan():
    assert [one.group for one in confirmed(plan_of()).groups] == [GROUP]


def test_a_plan_of_an_older_version_whose_patterns_cannot_be_evaluated_is_refused():
    plan = plan_of()
    old = replace(plan, request=replace(plan.request, topics=("(?!dead).*",)))
    with pytest.raises(PlanRefused, match=r"look-ahead .* Make a new plan\.") as refusal:
        confirmed(old)
    assert refusal.value.code == "plan_unusable"
