"""The alert rules: every one is PromQL, and fires when it should by promtool's own unit tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import promql_parser
import pytest
import yaml

from console.checks.catalogue import list_checks
from console.frame.help.rendering import read_chapter
from console.metrics.alert_rules import BEGIN, rule_of, with_rules
from jobs.checks.check import CHECKS

RULES = Path(__file__).parents[3] / "docs" / "prometheus-alerts.yaml"
UNIT_TESTS = Path(__file__).with_name("alerts_test.yaml")
GROUPS = {
    group["name"]: group["rules"] for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"]
}
ALERTS = {rule["alert"]: rule for rules in GROUPS.values() for rule in rules}


@pytest.fixture(scope="module")
def promtool():
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    found = shutil.which("promtool", path=os.pathsep.join(places))
    if found is None:
        pytest.skip("there is no promtool: put it on the PATH (Debian: apt-get install prometheus)")
    return found


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_promql(name):
    promql_parser.parse(ALERTS[name]["expr"])


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_and_what_happened(name):
    severities = {"critical", "warning", "{{ $labels.severity }}"}
    assert ALERTS[name]["labels"]["severity"] in severities
    assert ALERTS[name]["annotations"]["summary"].endswith(".")


def test_names_of_alerts_are_unique():
    assert len(ALERTS) == sum(map(len, GROUPS.values()))


def test_each_check_that_opens_incidents_has_a_rule_and_advice_has_none():
    selected = [re.search(r'check="(\w+)"', rule["expr"])[1] for rule in GROUPS["crosslog checks"]]
    assert selected == [one.id for one in list_checks() if not one.is_advice]


@pytest.mark.parametrize(
    ("check", "name", "lasts"),
    [("broker_down", "BrokerDown", "15s"), ("flow_lag", "FlowLag", "60s")],
)
def test_a_rule_waits_as_long_as_an_incident_of_its_check(check, name, lasts):
    rule = rule_of(CHECKS.by_id[check])
    assert (rule["alert"], rule["for"]) == (name, lasts)


def test_the_runbook_of_a_rule_leads_to_a_heading_of_the_help():
    anchors = read_chapter(RULES.with_name("checks.md")).anchors
    for rule in GROUPS["crosslog checks"]:
        assert re.search(r"/help/checks/#(\w+)", rule["annotations"]["runbook"])[1] in anchors


def test_rules_written_by_hand_are_kept():
    assert with_rules("groups:\n  - name: mine\n").startswith("groups:\n  - name: mine\n" + BEGIN)


def test_the_documents_name_every_alert_that_is_no_check():
    page = RULES.with_name("metrics.md").read_text("utf-8")
    rows = [
        line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and "|" in line
    ]
    assert {rule["alert"] for rule in GROUPS["crosslog"]} <= set(rows)


def test_promtool_accepts_the_rules(promtool):
    told = subprocess.run(
        [promtool, "check", "rules", RULES], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_alerts_fire_when_they_should_and_not_before(promtool, tmp_path):
    for file in (RULES, UNIT_TESTS):
        shutil.copy(file, tmp_path)
    told = subprocess.run(
        [promtool, "test", "rules", UNIT_TESTS.name],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
