"""What an empty console offers first, and the steps to the first flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from console.frame.security.access import Action
from console.replication.flows.queries import Flow

BOTH_CLUSTERS = 2


@dataclass(frozen=True, slots=True)
class Way:
    """How an empty console gets its first data; `needs` is the right it takes."""

    title: str
    text: str
    label: str
    route: str
    needs: Action


WAYS = (
    Way(
        "Connect a cluster",
        "Brokers, topics and consumer groups are collected every few seconds, read-only. "
        "Two clusters can have replication flows.",
        "Register cluster",
        "clusters:new",
        "administer",
    ),
    Way(
        "Import mm2.properties",
        "The flows, effective values and mistakes of a MirrorMaker 2 configuration. No cluster is needed.",
        "Import configuration",
        "replication:mirror-config",
        "view",
    ),
    Way(
        "Open a metadata log",
        "Voters, elections and changes of a KRaft cluster, from files of its metadata log. "
        "No cluster is needed.",
        "Import metadata log",
        "quorum:import",
        "operate",
    ),
)


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
            "Register the source cluster.",
            "Bootstrap servers, security and an alias such as east. The connection is checked when you save.",
            "administer",
            new_cluster,
            "Register cluster",
        ),
        (
            "Register the target cluster.",
            "The positions of the flow are stored there, in MirrorMaker 2's format.",
            "administer",
            new_cluster,
            "Register cluster",
        ),
        (
            "Create a replication flow.",
            "Select topics. The preview shows the remote topic of each before the flow starts.",
            "operate",
            reverse("replication:new"),
            "New flow",
        ),
        (
            "Start the flow.",
            "The page of the flow shows its lag within seconds.",
            "operate",
            reverse("replication:detail", args=[flow.pk]) if flow else "",
            "Open the flow",
        ),
    ]
