"""Facts about the clusters beside the configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Facts:
    """Brokers and topics of clusters by alias; what is missing is not known."""

    brokers: Mapping[str, int] = field(default_factory=dict)
    topics: Mapping[str, Collection[str]] = field(default_factory=dict)


NOTHING_KNOWN = Facts()
