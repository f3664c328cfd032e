"""Every code of findings has a check, and every check belongs to a code that a rule makes."""

import ast
from pathlib import Path

import pytest

from console.checks.rules import RULES
from jobs.availability.promotion import checks as promotions
from jobs.availability.promotion.observer_findings import ObserverFindingCode
from jobs.checks.check import CHECKS, Check, effect_of
from jobs.quorum.health.codes import OTHER_DIRECTORY, TEXTS_CUT, QuorumCode
from jobs.replication.findings.codes import Code

ROOT = Path(__file__).parents[3]
CODES = {
    "flow": {code.value for code in Code},
    "quorum": {*(code.value for code in QuorumCode), OTHER_DIRECTORY, TEXTS_CUT},
    "observers": {
        *(promotions.code_of(code) for code in ObserverFindingCode),
        *(
            one.id
            for part in (
                promotions.PROMOTIONS,
                promotions.POLICIES,
                promotions.ACTIONS,
                promotions.LOOPS,
                promotions.LEADERS,
            )
            for one in part
        ),
    },
}


def literal_codes() -> set[str]:
    """Words in calls of `Finding` in the console, and codes by which rules of the console name them."""
    found = set()
    for path in (ROOT / "console").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding":
                codes = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "code")]
                found |= {
                    one.value
                    for code in codes
                    for one in ast.walk(code)
                    if isinstance(one, ast.Constant)
                }
    return {one for one in found if isinstance(one, str) and one.isidentifier()}


@pytest.mark.parametrize("kind", CODES)
def test_every_code_has_a_check(kind):
    assert CODES[kind] <= CHECKS.by_id.keys()


def test_codes_that_are_written_out_in_the_console_have_checks():
    found = literal_codes()
    assert "promotion_blocked" in found
    assert found <= CHECKS.by_id.keys()


def test_every_check_is_of_a_code_that_a_rule_makes():
    of_rounds = {one.id for rules in RULES for one in vars(rules).values() if type(one) is Check}
    assert CHECKS.by_id.keys() - set().union(*CODES.values()) <= of_rounds


@pytest.mark.parametrize("one", CHECKS.by_id.values(), ids=lambda one: str(one.id))
def test_a_check_has_its_texts(one):
    assert one.question.endswith("?")
    assert (one.rule[-1], one.runbook[-1]) == (".", ".")
    assert one.title.rstrip(".?") == one.title != ""
    assert effect_of(one, {})
    for threshold in one.all_thresholds:
        assert threshold.problem(threshold.default) is None, threshold.name


def test_no_two_checks_have_the_same_title():
    titles = [one.title for one in CHECKS.by_id.values()]
    assert sorted(titles) == sorted(set(titles))
