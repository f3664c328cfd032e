"""From nothing to the first copied record: a list of steps that goes away with the first record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from console.frame.security.access import Action
from console.replication.flows.queries import Flow

BOTH_CLUSTERS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `is_next` for the first that is not done. `needs` is the right it takes."""

    title: str
    text: str
    is_done: bool
    is_next: bool
    needs: Action
    href: str
    label: str


def first_steps(clusters: Sequence[Any], flows: Sequence[Flow]) -> list[Step]:
    """Return the steps; none once a flow was measured."""
    if any(flow.measured_at is not None for flow in flows):
        return []
    steps = _steps(flows[0] if flows else None)
    done = [
        len(clusters) >= 1 or bool(flows),
        len(clusters) >= BOTH_CLUSTERS or bool(flows),
        bool(flows),
        False,
    ]
    following = done.index(False)
    return [
        Step(title, text, done[number], number == following, needs, href, label)
        for number, (title, text, needs, href, label) in enumerate(steps)
    ]


def _steps(flow: Flow | None) -> list[tuple[str, str, Action, str, str]]:
    new_cluster = reverse("clusters:new")
    return [
        (
            "Add the cluster that has the records.",
            "Its address, how to log in, and an alias like east. It is checked while you save.",
            "administer",
            new_cluster,
            "Add the first cluster",
        ),
        (
            "Add the cluster that gets the copy.",
            "Positions of the copy are kept there, in MirrorMaker 2's format.",
            "administer",
            new_cluster,
            "Add the other cluster",
        ),
        (
            "Connect them by a flow.",
            "Choose topics and see where each of them goes before anything is copied.",
            "operate",
            reverse("replication:new"),
            "New flow",
        ),
        (
            "Start it and see the first record arrive.",
            "Lag in records and in time appears on the flow's page within seconds.",
            "operate",
            reverse("replication:detail", args=[flow.pk]) if flow else "",
            "Open the flow",
        ),
    ]
