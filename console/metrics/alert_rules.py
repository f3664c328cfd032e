"""The rules of `docs/prometheus-alerts.yaml` that are made from checks: one for each that opens incidents."""

from __future__ import annotations

import textwrap
from typing import Any

import yaml

from console.checks.queries import list_checks
from console.metrics.definition import OPEN_FINDINGS
from jobs.checks.check import Check

BEGIN = "  # Written by manage.py write_docs from here to the end: one rule for each check.\n"
# An incident needs two rounds; after them a maintenance window has silenced it.
LEAST_S = 15
_ONE_LINE = 10_000
_PLACE = '{{ or $labels.cluster $labels.flow "crosslog" }}'


def with_rules(text: str) -> str:
    """Return the rule file with the rules of checks as they have to be."""
    group = {"name": "crosslog checks", "rules": [*map(rule_of, _checks())]}
    written = yaml.safe_dump([group], sort_keys=False, allow_unicode=True, width=_ONE_LINE)
    return text.partition(BEGIN)[0] + BEGIN + textwrap.indent(written, "  ")


def rule_of(check: Check) -> dict[str, Any]:
    """Return the rule of a check; its alert has the severity of the findings."""
    selector = f'check="{check.id}",severity!="info",state!="silenced"'
    found = f"{OPEN_FINDINGS.name}{{{selector}}}"
    return {
        "alert": check.id.title().replace("_", ""),
        "expr": f"sum by (check, severity, cluster, flow) ({found}) > 0",
        "for": f"{max(check.open_after_s, LEAST_S):g}s",
        "labels": {"severity": "{{ $labels.severity }}"},
        "annotations": {
            "summary": f"{_PLACE}: {check.title}.",
            "description": check.rule,
            "runbook": f"{check.runbook} More: /help/checks/#{check.id} in the console.",
        },
    }


def _checks() -> list[Check]:
    return [one for one in list_checks() if not one.is_advice]
