"""What may happen to a cluster: losses, returns, elections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobs.availability.what_if.model.cluster import ClusterModel


@dataclass(frozen=True, slots=True)
class Loss:
    """Brokers, racks and controllers that die together, at once, with SIGKILL. An empty one changes nothing.

    A rack takes its brokers and its controllers. An id that is broker and voter loses both, however named.
    """

    brokers: frozenset[int] = frozenset()
    racks: frozenset[str] = frozenset()
    controllers: frozenset[int] = frozenset()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Return:
    """Nodes that return and catch up. `is_clean`: after a clean shutdown (they stay in the ELR)."""

    brokers: frozenset[int] = frozenset()
    racks: frozenset[str] = frozenset()
    controllers: frozenset[int] = frozenset()
    is_clean: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class UncleanElection:
    """An unclean election of leaderless partitions; `topic` None: of all topics."""

    topic: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class PreferredElection:
    """Leadership goes back to the first replica where it is in the ISR; `topic` None: of all topics."""

    topic: str | None = None
    name: str = ""


Step = Loss | Return | UncleanElection | PreferredElection


class UnknownTarget(ValueError):
    """A step names a node, rack or topic that the cluster has not. `problems`: path -> sentence."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__("; ".join(f"{path}: {what}" for path, what in problems.items()))
        self.problems = problems


def check_steps(cluster: ClusterModel, steps: Sequence[Step]) -> None:
    """Raise `UnknownTarget` with every step's brokers, racks, controllers and topics that are not there."""
    problems: dict[str, str] = {}
    topics = {one.topic for one in cluster.partitions}
    for index, step in enumerate(steps):
        where = f"steps[{index}]"
        if isinstance(step, Loss | Return):
            problems |= {f"{where}.{path}": what for path, what in _unknown_nodes(cluster, step)}
        elif step.topic is not None and step.topic not in topics:
            problems[f"{where}.topic"] = f"Unknown topic: {step.topic}."
    if problems:
        raise UnknownTarget(problems)


def _unknown_nodes(cluster: ClusterModel, step: Loss | Return) -> Iterator[tuple[str, str]]:
    voters = {one.node_id for one in cluster.voters}
    racks = {*cluster.racks.values(), *cluster.voter_racks().values()} - {None}
    for one in sorted(step.brokers - set(cluster.brokers)):
        yield "brokers", f"Unknown broker: {one}. Brokers: {_some(sorted(cluster.brokers))}."
    for one in sorted(step.controllers - voters):
        known = _some(sorted(voters)) if voters else "not known"
        yield "controllers", f"Unknown voter: {one}. Voters: {known}."
    for rack in sorted(step.racks - racks):
        known = _some(sorted(str(one) for one in racks))
        there = f"racks are {known}" if racks else "no broker has a rack"
        yield "racks", f"Nothing is in rack {rack}; {there}."


def _some(known: Iterable[object]) -> str:
    found = list(map(str, known))
    more = f" and {len(found) - 20} more" if len(found) > 20 else ""  # noqa: PLR2004  a line of an error
    return ", ".join(found[:20]) + more


def nodes_of(cluster: ClusterModel, step: Loss | Return) -> frozenset[int]:
    """Return the ids of all nodes, brokers and voters alike, that a step is about."""
    racks = {**cluster.voter_racks(), **cluster.racks}
    inside = {id_ for id_, rack in racks.items() if rack is not None and rack in step.racks}
    return frozenset(inside.union(step.brokers, step.controllers))


def step_name(step: Step) -> str:
    """Return the name that a step was given, else what it does in words; empty for an empty loss."""
    if step.name:
        return step.name
    if isinstance(step, Loss | Return):
        verb = "lose" if isinstance(step, Loss) else "return of"
        parts = [f"rack {one}" for one in sorted(step.racks)]
        parts += [f"broker {one}" for one in sorted(step.brokers)]
        parts += [f"controller {one}" for one in sorted(step.controllers)]
        return f"{verb} {', '.join(parts)}" if parts else ""
    kind = "unclean" if isinstance(step, UncleanElection) else "preferred"
    return f"{kind} election of {step.topic or 'all topics'}"
