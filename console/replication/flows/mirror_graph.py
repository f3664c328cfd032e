"""Clusters and the flows between them as a picture. Pure geometry, in pixels of an SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_CLUSTERS = 12
NODE_WIDTH, NODE_HEIGHT = 132, 34
_ALONGSIDE = 7.0
_SHORTEST = 90.0
_MARGIN = 14
_LONGEST_NAME = 18


@dataclass(frozen=True, slots=True)
class Node:
    """A cluster: its box and its name, cut where it would not fit."""

    alias: str
    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A flow as an arrow; `copies` False: only heartbeats."""

    source: str
    target: str
    copies: bool
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph; without nodes there are too many clusters for one. The page lists `edges` as text, too."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: int
    node_width: int = NODE_WIDTH
    node_height: int = NODE_HEIGHT


def draw_graph(topology: Mapping[str, Any]) -> Graph:
    """Draw clusters on a circle (two: side by side), with an arrow per flow."""
    aliases = list(topology["clusters"])
    flows = topology["flows"]
    if len(aliases) > MOST_CLUSTERS:
        edges = tuple(Edge(f["source"], f["target"], f["copies"], 0, 0, 0, 0) for f in flows)
        return Graph(0, 0, (), edges, len(aliases))
    places = _places(aliases)
    nodes = tuple(Node(alias, *places[alias], _label(alias)) for alias in aliases)
    edges = tuple(
        _edge(f, places) for f in flows if f["source"] in places and f["target"] in places
    )
    width = max((x for x, _ in places.values()), default=0.0) + NODE_WIDTH / 2 + _MARGIN
    height = max((y for _, y in places.values()), default=0.0) + NODE_HEIGHT / 2 + _MARGIN
    return Graph(math.ceil(width), math.ceil(height), nodes, edges, len(aliases))


def _label(alias: str) -> str:
    return alias if len(alias) <= _LONGEST_NAME else f"{alias[: _LONGEST_NAME - 1]}…"


def _places(aliases: list[str]) -> dict[str, tuple[float, float]]:
    """Return the middle of each box."""
    left, top = NODE_WIDTH / 2 + _MARGIN, NODE_HEIGHT / 2 + _MARGIN
    count = len(aliases)
    if count <= 2:  # noqa: PLR2004  side by side
        return {alias: (left + at * 2.2 * NODE_WIDTH, top + 8) for at, alias in enumerate(aliases)}
    radius = max(_SHORTEST, count * 28.0)
    stretch = 1.7
    return {
        alias: (
            left + radius * stretch * (1 + math.sin(2 * math.pi * at / count)),
            top + radius * (1 - math.cos(2 * math.pi * at / count)),
        )
        for at, alias in enumerate(aliases)
    }


def _edge(flow: Mapping[str, Any], places: Mapping[str, tuple[float, float]]) -> Edge:
    (ax, ay), (bx, by) = places[flow["source"]], places[flow["target"]]
    length = math.hypot(bx - ax, by - ay) or 1.0
    dx, dy = (bx - ax) / length, (by - ay) / length
    # There and back lie beside each other.
    sx, sy = -dy * _ALONGSIDE, dx * _ALONGSIDE
    first, last = _reach(dx, dy), _reach(dx, dy) + 4
    return Edge(
        flow["source"],
        flow["target"],
        flow["copies"],
        round(ax + dx * first + sx, 1),
        round(ay + dy * first + sy, 1),
        round(bx - dx * last + sx, 1),
        round(by - dy * last + sy, 1),
    )


def _reach(dx: float, dy: float) -> float:
    """Return how far the edge of a box is from its middle, in this direction."""
    across = NODE_WIDTH / 2 / abs(dx) if dx else math.inf
    down = NODE_HEIGHT / 2 / abs(dy) if dy else math.inf
    return min(across, down)
