"""Result of the designer: layout, reasons, simulated failures, alternatives, commands."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jobs.availability.designer.requirements import DesignRequirements
from jobs.availability.placements.placement import Placement
from jobs.availability.what_if.model.cluster import ClusterModel


@dataclass(frozen=True, slots=True)
class SiteLayout:
    """Sync replicas, observers and voters of one site; `standbys` are brokers."""

    site: str
    replicas: int
    observers: int
    voters: int
    standbys: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Survival:
    """The simulated effect of one loss on the design.

    `is_required`: the requirements include it. `is_writable`: writes with acks=all continue without an
    operator. `data_at_risk`: acknowledged records may be lost, also with the smallest writable ISR.
    `promoted`: promoted observers. `takes_s`: maximum seconds without writes; 0: none, None: until an
    operator acts, or not measured (see `sentence`).
    """

    loss: str
    is_required: bool
    is_writable: bool
    data_at_risk: bool
    needs_unclean: bool
    has_quorum: bool
    promoted: int
    takes_s: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason of a value of the design; `subject` is its name like `min_insync_replicas`."""

    subject: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another placement, and why it was not chosen.

    `is_possible`: it also meets the requirements, and costs more or needs more promotions.
    """

    title: str
    layout: tuple[SiteLayout, ...]
    min_insync_replicas: int
    why_not: str
    is_possible: bool

    @property
    def copies(self) -> int:
        """Replicas and observers together."""
        return sum(site.replicas + site.observers for site in self.layout)


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """Lines that belong together, in their order: of a shell, or of a file (`is_file`)."""

    title: str
    lines: tuple[str, ...]
    is_file: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Design:
    """A placement that fulfils a wish, explained; `assignment`: each partition's brokers, leader first."""

    requirements: DesignRequirements
    layout: tuple[SiteLayout, ...]
    placement: Placement
    min_insync_replicas: int
    assignment: tuple[tuple[int, ...], ...]
    cluster: ClusterModel
    reasons: tuple[Reason, ...]
    survives: tuple[Survival, ...]
    alternatives: tuple[Alternative, ...]
    commands: tuple[CommandGroup, ...]
    warnings: tuple[str, ...] = ()

    @property
    def voters(self) -> int:
        """How many controllers vote."""
        return sum(site.voters for site in self.layout)

    @property
    def copies(self) -> int:
        """Replicas and observers of each partition together."""
        return self.placement.replication_factor

    def to_mapping(self) -> dict[str, Any]:
        """Return JSON values; the cluster is a document that `crosslog what-if` takes."""
        return {
            "layout": [asdict(one) for one in self.layout],
            "placement": self.placement.as_json(),
            "min_insync_replicas": self.min_insync_replicas,
            "promotion_policy": self.placement.policy.value if self.placement.observers else None,
            "copies": self.copies,
            "voters": self.voters,
            "assignment": [list(one) for one in self.assignment],
            "reasons": [asdict(one) for one in self.reasons],
            "survives": [asdict(one) for one in self.survives],
            "alternatives": [asdict(one) | {"copies": one.copies} for one in self.alternatives],
            "commands": [asdict(one) for one in self.commands],
            "warnings": list(self.warnings),
            "cluster": self.cluster.to_json(),
        }
