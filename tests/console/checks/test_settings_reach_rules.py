"""What the form of a setting offers is what the rules and the rounds read."""

import ast
from pathlib import Path

import pytest

from console.checks.actions import scope_of
from jobs.checks.check import CHECKS, Area, Check, Pattern
from jobs.checks.settings import Setting, Settings
from jobs.findings import Finding
from jobs.replication.findings.checks import OF
from jobs.replication.findings.codes import Code

ROOT = Path(__file__).parents[3]
# Rounds that save findings of rules without settings.
ROUNDS = (
    "console/replication/findings/collect.py",
    "console/quorum/voters/evaluation.py",
    "console/availability/advice/round.py",
)
IN_ROUNDS = ("jobs.quorum", "jobs.replication", "jobs.availability", "console.availability")


def excluded(one: Check, **more) -> Settings:
    scope = {scope_of(one): 1} if scope_of(one) else {}
    narrow = {one.narrowed_by.value: "orders-*"} if one.narrowed_by else {}
    return Settings.of([Setting(one.id, **{**scope, **narrow, **more}, is_excluded=True)])


def found(one: Check, name: str) -> Finding:
    of = {Pattern.TOPIC: {"topic": name}, Pattern.GROUP: {"subject": name}, Pattern.NONE: {}}
    return one.finding("It is wrong.", **of[one.narrowed_by])


@pytest.mark.parametrize("one", CHECKS.by_id.values(), ids=lambda one: str(one.id))
def test_an_exclusion_as_the_form_offers_it_suppresses_the_finding_there_only(one):
    at = {scope_of(one): 1} if scope_of(one) else {}
    settings = excluded(one)
    assert settings.in_force([found(one, "orders-a")], **at) == []
    assert (
        settings.values(
            one, **at, **({one.narrowed_by.value: "orders-a"} if one.narrowed_by else {})
        )
        is None
    )
    if one.narrowed_by:
        assert len(settings.in_force([found(one, "bills")], **at)) == 1
    if scope_of(one):
        assert len(settings.in_force([found(one, "orders-a")], **{scope_of(one): 2})) == 1


@pytest.mark.parametrize("path", ROUNDS)
def test_a_round_saves_only_findings_whose_checks_are_on(path):
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    names = [ast.unparse(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)]
    saves = [name for name in names if name in {"store.save", "Judged"}]
    assert saves
    assert sum(name.endswith(".in_force") for name in names) >= len(saves) - names.count("Judged")


def calls_of_finding() -> list:
    """Calls with a code, and the names of their fields; None of `**about(topic)`."""
    return [
        pytest.param(ast.unparse(node.args[0]), {key.arg for key in node.keywords}, id=path.stem)
        for path in sorted((ROOT / "jobs/replication/findings").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Finding"
        and node.args
        and ast.unparse(node.args[0]).startswith("Code.")
    ]


@pytest.mark.parametrize(("code", "fields"), calls_of_finding())
def test_a_finding_of_a_flow_names_what_its_check_is_narrowed_by(code, fields):
    wanted = {Pattern.TOPIC: "topic", Pattern.GROUP: "subject"}
    narrowed_by = OF[Code[code.removeprefix("Code.")]].narrowed_by
    # ACLs of kinds that are never synced are of the whole flow.
    is_of_flow = code == "Code.ACLS_NOT_SYNCED" and fields == {"evidence"}
    assert narrowed_by is Pattern.NONE or is_of_flow or fields & {wanted[narrowed_by], None}


def test_checks_of_crosslog_are_narrowed_to_nothing():
    own = [one for one in CHECKS.by_id.values() if one.area is Area.CROSSLOG]
    assert {(scope_of(one), one.narrowed_by) for one in own} == {("", Pattern.NONE)}
