"""Events: what happened at a moment and is marked on every chart of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.frame.pages.states import Severity


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at `at`.

    `kind` is what its mark in the legend says ("Run started", later "Election"), `label` what
    happened this time; `url` leads to more, empty when there is no more.
    """

    at: datetime
    kind: str
    label: str
    severity: Severity = Severity.NOTICE
    url: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Return the event as a series address answers it; `at` in Unix seconds."""
        return {
            "at": int(self.at.timestamp()),
            "kind": self.kind,
            "label": self.label,
            "severity": self.severity.value,
            "url": self.url,
        }


def in_order(events: Iterable[Event], most: int) -> list[Event]:
    """Return the newest `most` events, oldest first."""
    ordered = sorted(events, key=lambda event: (event.at, event.kind))
    return ordered[-most:]
