"""The Grafana dashboard of `docs/grafana-dashboard.json`, written from the metrics' own names."""

from __future__ import annotations

import json
from typing import Any

from console.metrics import definitions as known
from console.metrics.dashboard_rows import ROWS, Panel
from console.metrics.definition import Definition

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS, _HEIGHT = 24, 8


def write_dashboard() -> str:
    """Return the dashboard as JSON, ready to import."""
    document = {
        "uid": "crosslog",
        "title": "crosslog",
        "description": "Replication, failover, clusters, quorums and availability as crosslog sees them. "
        "Written by manage.py write_docs.",
        "tags": ["kafka"],
        "schemaVersion": 39,
        "timezone": "utc",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                _variable("flow", known.FLOW_WANTED),
                _variable("cluster", known.TOPICS),
            ]
        },
        "panels": list(_placed()),
    }
    return json.dumps(document, indent=2) + "\n"


def _variable(label: str, metric: Definition) -> dict[str, Any]:
    return {
        "name": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": f"label_values({metric.name}, {label})",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _placed() -> list[dict[str, Any]]:
    """Lay the panels out in rows of 24 columns, row after row."""
    placed: list[dict[str, Any]] = []
    y = 0
    for title, panels in ROWS.items():
        placed.append(
            {
                "type": "row",
                "title": title,
                "id": len(placed) + 1,
                "gridPos": _at(0, y, _COLUMNS, 1),
            }
        )
        x, y = 0, y + 1
        for panel in panels:
            if x + panel.width > _COLUMNS:
                x, y = 0, y + _HEIGHT
            placed.append(_panel(panel, len(placed) + 1, _at(x, y, panel.width, _HEIGHT)))
            x += panel.width
        y += _HEIGHT
    return placed


def _at(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    steps = [{"color": "green", "value": None}]
    steps += [{"color": colour, "value": value} for value, colour in panel.limits]  # type: ignore[dict-item]  # None is the first step's value
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "thresholds": {"mode": "absolute", "steps": steps},
            },
            "overrides": [],
        },
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
            for index, (legend, expression) in enumerate(panel.queries.items())
        ],
    }
