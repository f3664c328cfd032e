"""The dashboard and the example alerts ask only for what is exported."""

import json
import re
from pathlib import Path

import pytest
import yaml

from console.metrics.definitions import DEFINITIONS

DOCS = Path(__file__).parents[3] / "docs"
DASHBOARD = json.loads((DOCS / "grafana-dashboard.json").read_text("utf-8"))
LABELS = {known.name: set(known.labels) for known in DEFINITIONS}


def expressions():
    found = [t["expr"] for panel in DASHBOARD["panels"] for t in panel.get("targets", [])]
    return found + [v["query"] for v in DASHBOARD["templating"]["list"] if v["type"] == "query"]


def alerts():
    groups = yaml.safe_load((DOCS / "prometheus-alerts.yaml").read_text("utf-8"))["groups"]
    found = [rule["expr"] for group in groups for rule in group["rules"]]
    return [expression for expression in found if "crosslog_" in expression]


@pytest.mark.parametrize("expression", expressions() + alerts())
def test_an_expression_uses_only_exported_metrics_and_their_labels(expression):
    names = re.findall(r"\bcrosslog_\w+", expression)
    assert names
    assert set(names) <= set(LABELS)
    for name, selector in re.findall(r"(crosslog_\w+)\{([^}]*)\}", expression):
        assert set(re.findall(r"(\w+)[=!]", selector)) <= LABELS[name]
    for label in re.findall(r"label_values\(\w+, (\w+)\)", expression):
        assert label in LABELS[names[0]]
    for grouped in re.findall(r"by \(([\w, ]+)\)", expression):
        assert set(grouped.split(", ")) <= LABELS[names[0]]


def test_legends_name_labels_that_exist():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            name = re.search(r"crosslog_\w+", target["expr"])[0]
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= LABELS[name]


def test_panels_do_not_overlap():
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
