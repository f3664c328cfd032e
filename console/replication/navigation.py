"""What the palette finds among flows."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.frame.access import can
from console.frame.navigation import Jump
from console.replication import queries


def find_jumps(user: Any, words: str, limit: int) -> list[Jump]:
    """Return flows whose name contains the words."""
    if not can(user, "view"):
        return []
    return [
        Jump(
            "flow",
            flow.name,
            reverse("replication:detail", args=[flow.pk]),
            f"{flow.source.alias} \N{RIGHTWARDS ARROW} {flow.target.alias}",
        )
        for flow in queries.find_flows(words, limit)
    ]
