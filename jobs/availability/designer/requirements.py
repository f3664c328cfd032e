"""Requirements of a placement: sites, RPO, RTO, observers; and their validation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
MOST_SITES, MOST_PARTITIONS, MOST_COPIES = 8, 1_000, 9
_VOTERS = (3, 5, 7, 9)
_LARGEST_ID = 2**31 - 1


class ObserverSupport(StrEnum):
    """How a cluster supports observers; the value is stable, for programs."""

    PROMOTES_ITSELF = "promotes-itself"
    FENCED_STANDBY = "fenced-standby"
    NONE = "none"


class WritableAfter(StrEnum):
    """The failure after which writes with acks=all must continue without an operator."""

    NOTHING = "nothing"
    BROKER = "broker"
    SITE = "site"


class LossAllowed(StrEnum):
    """RPO: the acceptable loss of acknowledged records when a site is lost permanently.

    BOUNDED: records that no other site has yet. ANY: the loss of a site is not considered.
    """

    ZERO = "zero"
    BOUNDED = "bounded"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Site:
    """A site (rack, data centre); without brokers it is a witness, which holds controllers only.

    `standbys` are those of `brokers` that run (or are planned) as fenced standby brokers.
    """

    name: str
    brokers: tuple[int, ...] = ()
    standbys: tuple[int, ...] = ()

    @property
    def is_witness(self) -> bool:
        """Whether it can hold controllers only."""
        return not self.brokers


@dataclass(frozen=True, slots=True)
class DesignRequirements:
    """Requirements of a topic's placement.

    `rto_s`: maximum seconds until writes resume after a failure of `writable_after`; None: no requirement.
    `preferred_site`: the site of the leaders, None: all sites with sync replicas. `majority_site`: with
    two sites, the one that holds the majority of the voters; setting it accepts that its loss needs an
    operator. `most_copies` limits replicas and observers together. `session_timeout_ms` is the
    brokers' broker.session.timeout.ms, the time until a failed one is detected.
    """

    sites: tuple[Site, ...]
    rpo: LossAllowed = LossAllowed.ZERO
    rto_s: float | None = None
    writable_after: WritableAfter = WritableAfter.SITE
    observers: ObserverSupport = ObserverSupport.NONE
    topic: str = "TOPIC"
    partitions: int = 1
    preferred_site: str | None = None
    majority_site: str | None = None
    most_copies: int | None = None
    voters: int | None = None
    session_timeout_ms: int = 9_000
    is_existing_topic: bool = False

    @property
    def data_sites(self) -> tuple[Site, ...]:
        return tuple(site for site in self.sites if not site.is_witness)

    @property
    def names_standbys(self) -> bool:
        """Whether standby brokers are given; else the designer chooses them."""
        return any(site.standbys for site in self.sites)


class ImpossibleRequirements(ValueError):
    """Requirements that no placement meets; `problems` maps a field like `sites[1].name` to the options."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
        self.problems = dict(problems)


class InvalidRequirements(ImpossibleRequirements):
    """Contradictory or malformed requirements; `problems` as in `ImpossibleRequirements`."""


def check_requirements(requirements: DesignRequirements) -> dict[str, str]:
    """Return the errors of requirements: field -> sentence; the first of each field."""
    problems: dict[str, str] = {}
    for name, sentence in (
        *_sites(requirements),
        *_names(requirements),
        *_numbers(requirements),
        *_quorum(requirements),
    ):
        problems.setdefault(name, sentence)
    return problems


def _sites(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    if not requirements.data_sites:
        yield "sites", "Name at least one site with brokers."
    if len(requirements.sites) > MOST_SITES:
        yield "sites", f"At most {MOST_SITES} sites."
    names: set[str] = set()
    seen: dict[int, str] = {}
    for index, site in enumerate(requirements.sites):
        where = f"sites[{index}]"
        if not site.name.strip():
            yield f"{where}.name", "A site needs a name: the broker.rack of its brokers."
        elif site.name in names:
            yield f"{where}.name", f"Site {site.name} is listed twice."
        names.add(site.name)
        yield from _brokers(where, site, seen)


def _brokers(where: str, site: Site, seen: dict[int, str]) -> Iterator[tuple[str, str]]:
    for broker in site.brokers:
        if not 0 <= broker <= _LARGEST_ID:
            yield f"{where}.brokers", f"{broker} is not a broker id."
        elif broker in seen:
            yield f"{where}.brokers", f"Broker {broker} is also in site {seen[broker]}."
        seen[broker] = site.name
    strange = [one for one in site.standbys if one not in site.brokers]
    if strange:
        yield f"{where}.standbys", f"Broker {strange[0]} is not a broker of {site.name}."


def _names(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    data = [site.name for site in requirements.data_sites]
    if requirements.preferred_site is not None and requirements.preferred_site not in data:
        yield (
            "preferred_site",
            f"{requirements.preferred_site} is not a site with brokers. Sites: {_list(data)}.",
        )
    if not _TOPIC.fullmatch(requirements.topic) or requirements.topic in {".", ".."}:
        yield (
            "topic",
            "A topic's name has 1 to 249 of the letters a-z, A-Z, digits, dot, underscore and hyphen.",
        )
    if requirements.names_standbys and requirements.observers is not ObserverSupport.FENCED_STANDBY:
        yield "observers", "Standby brokers need observers=fenced-standby."


def _numbers(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    if not 1 <= requirements.partitions <= MOST_PARTITIONS:
        yield "partitions", f"From 1 to {MOST_PARTITIONS:,} partitions."
    # Neither NaN nor infinite.
    if requirements.rto_s is not None and not 0 < requirements.rto_s < 1e12:  # noqa: PLR2004
        yield "rto_s", "The recovery time must be a number of seconds, more than 0."
    if requirements.rto_s is not None and requirements.writable_after is WritableAfter.NOTHING:
        yield (
            "rto_s",
            "A recovery time needs writable_after site or broker. Set that, or leave the time out.",
        )
    if requirements.most_copies is not None and requirements.most_copies < 1:
        yield "most_copies", "At least one copy is needed."
    if requirements.voters is not None and requirements.voters not in _VOTERS:
        yield "voters", f"An odd number of voters is required: {_list([str(n) for n in _VOTERS])}."
    if requirements.session_timeout_ms < 1:
        yield "session_timeout_ms", "broker.session.timeout.ms is at least 1."


def _quorum(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    sites = [site.name for site in requirements.sites]
    if requirements.majority_site is not None:
        if requirements.majority_site not in sites:
            yield (
                "majority_site",
                f"{requirements.majority_site} is not a site. Sites: {_list(sites)}.",
            )
        elif len(sites) > 2:  # noqa: PLR2004  three sites share the voters
            yield (
                "majority_site",
                f"With {len(sites)} sites no site needs the majority of the voters. Leave it out.",
            )
    elif requirements.writable_after is WritableAfter.SITE and len(sites) == 2:  # noqa: PLR2004
        yield (
            "sites",
            "With two sites one of them holds the majority of the voters, and its loss stops all elections "
            "and promotions. Add a third site for one controller (a witness without brokers), or set "
            "majority_site: the loss of that site then needs an operator.",
        )


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 sync replica`, `3 observers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _list(words: list[str]) -> str:
    return ", ".join(words) or "none"
