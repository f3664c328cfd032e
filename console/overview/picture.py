"""The map of clusters and flows: what is written in each box and on each label."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.urls import reverse

from console.clusters.models import Broker
from console.frame.pages.states import spoken
from console.overview.map import BOX_W, Box, Layout, lay_out
from console.replication.flows.queries import Flow
from jobs.numbers import DASH, format_least, format_rate, format_span_ms, largest_of, sum_of
from jobs.severity import Severity

HEAD, ROW, CHIP_H, PAD = 46, 24, 18, 10
CHAR_W, CHIP_PAD, BETWEEN = 7, 8, 5
MOST_BROKERS, LONGEST_RACK, LONGEST_NAME, LONGEST_LABEL = 24, 10, 20, 19
# What was seen of the brokers is not their state now.
_NOT_NOW = ("off", "new", "another_cluster", "unreachable", "stale")
LIVE, DOWN, UNKNOWN = "live", "down", "unknown"
MARKS = {LIVE: "", DOWN: "\N{MULTIPLICATION SIGN}", UNKNOWN: "?"}
CONTROLLER, AT_LEAST = "\N{BLACK STAR}", "\N{GREATER-THAN OR EQUAL TO} "


@dataclass(frozen=True, slots=True)
class Chip:
    """A broker, or the name of a rack (without a state)."""

    x: int
    y: int
    width: int
    text: str
    state: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class ClusterBox:
    """A cluster in its box, with the racks and brokers that are drawn in it."""

    box: Box
    name: str
    title: str
    href: str
    severity: Severity
    word: str
    chips: Sequence[Chip]


@dataclass(frozen=True, slots=True)
class FlowLabel:
    """All flows from one cluster to another: two lines (one in two parts), and where they lead."""

    box: Box
    to_label: str
    to_target: str
    name: str
    title: str
    href: str
    severity: Severity
    word: str
    numbers: str
    readiness: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The map; sizes in pixels."""

    width: float
    height: float
    boxes: Sequence[ClusterBox]
    labels: Sequence[FlowLabel]


def draw(
    clusters: Sequence[Any],
    flows: Sequence[Flow],
    brokers: Iterable[Broker],
    is_live: Mapping[tuple[int, int], bool | None],
    leaders: Mapping[int, int],
) -> Picture:
    """Return the map of clusters and flows with their status; no query."""
    of_cluster: dict[int, list[Broker]] = {}
    for broker in brokers:
        of_cluster.setdefault(broker.cluster_id, []).append(broker)
    chips = {
        one.pk: [*_chips(one, of_cluster.get(one.pk, ()), is_live, leaders.get(one.pk))]
        for one in clusters
    }
    heights = {
        pk: int(max((c.y for c in found), default=HEAD - ROW) + ROW + PAD)
        for pk, found in chips.items()
    }
    together: dict[tuple[int, int], list[Flow]] = {}
    for flow in flows:
        together.setdefault((flow.source_id, flow.target_id), []).append(flow)
    layout = lay_out(heights, together)
    boxes = [_box(one, layout.boxes[one.pk], chips[one.pk]) for one in clusters]
    labels = [_label(layout, edge, same) for edge, same in together.items() if edge in layout.links]
    return Picture(layout.width, layout.height, boxes, labels)


def _box(cluster: Any, box: Box, chips: Sequence[Chip]) -> ClusterBox:
    known = [one for one in chips if one.state]
    down = sum(one.state == DOWN for one in known)
    status = cluster.status
    reason = f"{status.word}. {status.reason}".strip()
    title = f"Cluster {cluster.alias}: {reason} {len(known)} brokers, {down} down."
    href = reverse("clusters:detail", args=[cluster.alias])
    name = _short(cluster.alias, LONGEST_NAME)
    return ClusterBox(box, name, title, href, status.severity, status.word, chips)


def _chips(
    cluster: Any,
    brokers: Collection[Broker],
    is_live: Mapping[tuple[int, int], bool | None],
    leader: int | None,
) -> Iterator[Chip]:
    """Yield racks, each followed by its brokers, in rows as wide as a box."""
    x, y = PAD, HEAD
    is_now = cluster.status.state not in _NOT_NOW
    shown = sorted(brokers, key=lambda one: (one.rack, one.broker_id))[:MOST_BROKERS]
    for rack, members in groupby(shown, key=lambda one: one.rack):
        parts = [(_short(rack, LONGEST_RACK), "", f"Rack {rack}")] if rack else []
        for one in members:
            there = is_live.get((cluster.pk, one.broker_id), one.is_live)
            state = UNKNOWN if there is None or not is_now else LIVE if there else DOWN
            mark = MARKS[state] + (CONTROLLER if one.broker_id == leader else "")
            where = f" ({rack})" if rack else ""
            title = f"Broker {one.broker_id}{where}: {spoken(state)}"
            parts.append((f"{mark} {one.broker_id}".strip(), state, title))
        for place, (text, state, title) in enumerate(parts):
            width = CHAR_W * len(text) + CHIP_PAD
            # The name of a rack is beside its first broker.
            needed = (
                width if state else width + BETWEEN + CHAR_W * len(parts[place + 1][0]) + CHIP_PAD
            )
            if x + needed > BOX_W - PAD and x > PAD:
                x, y = PAD, y + ROW
            yield Chip(x, y, width, text, state, title)
            x += width + BETWEEN
        x += BETWEEN
    if len(brokers) > len(shown):
        y += ROW
        yield Chip(PAD, y, BOX_W - 2 * PAD, f"and {len(brokers) - len(shown)} more brokers")
    if leader is not None and all(one.broker_id != leader for one in shown):
        y += ROW if brokers else 0
        yield Chip(PAD, y, BOX_W - 2 * PAD, f"{CONTROLLER} controller {leader}")


def _label(layout: Layout, edge: tuple[int, int], same: Sequence[Flow]) -> FlowLabel:
    link = layout.links[edge]
    worst = max(same, key=lambda flow: (flow.status.severity.rank, flow.lag_ms or 0))
    lags = largest_of(flow.lag_ms for flow in same)
    unknown = sum(flow.lag_ms is None or flow.unknown_ms_count > 0 for flow in same)
    lag = format_least(lags.value, unknown, format_span_ms)
    rate = format_rate(sum_of(flow.rate_per_s for flow in same).value)
    answers = [flow.failover for flow in same if flow.failover]
    ready = max(answers, key=lambda one: one.severity.rank).word if answers else DASH
    first = same[0]
    between = f"{first.source.alias} \N{RIGHTWARDS ARROW} {first.target.alias}"
    names = ", ".join(flow.name for flow in same)
    word = spoken(worst.status.state)
    shown = lag.replace("at least ", AT_LEAST)
    numbers = f"{'worst ' if len(same) > 1 else ''}{shown}, {rate}"
    return FlowLabel(
        link.label,
        link.to_label,
        link.to_target,
        _short(first.name, LONGEST_LABEL) if len(same) == 1 else f"{len(same)} flows",
        f"{between}: {names}. {word}. Lag {lag}, throughput {rate}. Failover readiness: {ready}.",
        reverse("replication:detail", args=[first.pk]) if len(same) == 1 else "#flows-title",
        worst.status.severity,
        word,
        numbers,
        f"Failover: {ready}",
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
