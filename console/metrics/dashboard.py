"""The Grafana dashboard of `docs/grafana-dashboard.json`, written from the metrics' own names."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from console.metrics import definitions as known

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
FLOW = 'flow=~"$flow"'
CLUSTER = 'cluster=~"$cluster"'
_COLUMNS, _HEIGHT = 24, 8


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: queries with their legends; `limits` are (value, colour) from well to worst."""

    title: str
    unit: str
    queries: dict[str, str]
    width: int = 12
    kind: str = "timeseries"
    limits: list[tuple[float, str]] = field(default_factory=list)


def _of(metric: known.Definition, selector: str) -> str:
    return f"{metric.name}{{{selector}}}"


ROWS: dict[str, list[Panel]] = {
    "Replication": [
        Panel(
            "Flows that should run and do not",
            "short",
            {"flows": f"sum({known.FLOW_WANTED.name} > {known.FLOW_UP.name}) or vector(0)"},
            4,
            "stat",
            [(1, "red")],
        ),
        Panel("Lag in records", "short", {"{{flow}}": _of(known.FLOW_LAG, FLOW)}, 10),
        Panel("Lag in time", "s", {"{{flow}}": _of(known.FLOW_LAG_TIME, FLOW)}, 10),
        Panel("Rate", "cps", {"{{flow}}": _of(known.FLOW_RATE, FLOW)}),
        Panel(
            "Topics that are furthest behind",
            "short",
            {"{{flow}} {{topic}}": f"topk(10, {_of(known.TOPIC_LAG, FLOW)})"},
        ),
        Panel(
            "Partitions by state",
            "short",
            {"{{state}}": f"sum by (state) ({_of(known.FLOW_PARTITIONS, FLOW)})"},
        ),
        Panel(
            "Runs that ended badly in a row", "short", {"{{flow}}": _of(known.FLOW_FAILURES, FLOW)}
        ),
    ],
    "Clusters": [
        Panel(
            "Partitions that are not well",
            "short",
            {"{{cluster}} {{severity}}": _of(known.PARTITIONS, f'{CLUSTER},severity!="ok"')},
        ),
        Panel(
            "Under-replicated and offline",
            "short",
            {
                "{{cluster}} under-replicated": _of(known.UNDER_REPLICATED, CLUSTER),
                "{{cluster}} offline": _of(known.OFFLINE, CLUSTER),
            },
        ),
        Panel(
            "For how long a replica is missing",
            "s",
            {"{{cluster}}": _of(known.OUT_OF_SYNC_AGE, CLUSTER)},
        ),
        Panel("Brokers", "short", {"{{cluster}} {{state}}": _of(known.BROKERS, CLUSTER)}),
        Panel(
            "Groups that are furthest behind",
            "short",
            {"{{cluster}} {{group}}": f"topk(10, {_of(known.GROUP_LAG, CLUSTER)})"},
        ),
        Panel(
            "The same in time",
            "s",
            {"{{cluster}} {{group}}": f"topk(10, {_of(known.GROUP_LAG_TIME, CLUSTER)})"},
        ),
    ],
    "crosslog itself": [
        Panel(
            "Age of what is known of the clusters",
            "s",
            {"{{cluster}} {{noun}}": _of(known.COLLECTION_AGE, CLUSTER)},
        ),
        Panel("Age of the flows' numbers", "s", {"{{flow}} {{noun}}": _of(known.FLOW_AGE, FLOW)}),
        Panel(
            "Duration of rounds",
            "s",
            {"{{cluster}} {{noun}}": _of(known.COLLECTION_TIME, CLUSTER)},
        ),
        Panel("Runs", "short", {"{{kind}} {{state}}": known.RUNS.name}),
    ],
}


def write_dashboard() -> str:
    """Return the dashboard as JSON, ready to import."""
    document = {
        "uid": "crosslog",
        "title": "crosslog",
        "description": "Replication and clusters as crosslog sees them. Written by manage.py write_docs.",
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


def _variable(label: str, metric: known.Definition) -> dict[str, Any]:
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
