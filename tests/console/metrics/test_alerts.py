"""The alert rules: every one is PromQL, and fires when it should by promtool's own unit tests."""

import shutil
import subprocess
from pathlib import Path

import promql_parser
import pytest
import yaml

RULES = Path(__file__).parents[3] / "docs" / "prometheus-alerts.yaml"
UNIT_TESTS = Path(__file__).with_name("alerts_test.yaml")
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    for rule in group["rules"]
}


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian has it in the package prometheus)")
    return found


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_is_promql(name):
    promql_parser.parse(ALERTS[name]["expr"])


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_and_what_happened(name):
    assert ALERTS[name]["labels"]["severity"] in {"critical", "warning"}
    assert ALERTS[name]["annotations"]["summary"].endswith(".")


def test_the_documents_name_every_alert():
    page = RULES.with_name("metrics.md").read_text("utf-8")
    rows = [
        line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and "|" in line
    ]
    assert set(ALERTS) <= set(rows)


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
