"""What somebody wants of a placement: sites, what may be lost, what must go on; and what is wrong with it."""

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
    """Whether a cluster can have observers; the value is stable, for programs."""

    PROMOTES_ITSELF = "promotes-itself"
    FENCED_STANDBY = "fenced-standby"
    NONE = "none"


class WritableAfter(StrEnum):
    """After the loss of what writes with acks=all must go on without a person."""

    NOTHING = "nothing"
    BROKER = "broker"
    SITE = "site"


class LossAllowed(StrEnum):
    """RPO: what may be lost of acked records when a site dies for good.

    BOUNDED: what another site does not have yet. ANY: the loss of a site is not looked at.
    """

    ZERO = "zero"
    BOUNDED = "bounded"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Site:
    """A site (rack, data centre); without brokers it is a witness, which holds controllers only.

    `standbys` are those of `brokers` that run (or shall run) as fenced standby brokers.
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
    """What somebody wants of a topic's placement.

    `rto_s`: writes must go on within so many seconds after what `writable_after` names; None: no wish.
    `preferred_site`: where leaders are to be, None: in all sites with sync replicas. `majority_site`: with
    two sites, the one that holds the majority of the voters; naming it accepts that its loss is not survived
    without a person. `most_copies` limits replicas and observers together. `session_timeout_ms` is the
    brokers' broker.session.timeout.ms, after which a dead one is noticed.
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
        """Whether somebody says which brokers are the standbys; else the designer chooses them."""
        return any(site.standbys for site in self.sites)


class ImpossibleRequirements(ValueError):
    """A wish that nothing fulfils; `problems` maps a field like `sites[1].name` to what would be possible."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
        self.problems = dict(problems)


class InvalidRequirements(ImpossibleRequirements):
    """A wish that contradicts itself or is malformed; `problems` as in `ImpossibleRequirements`."""


def check_requirements(requirements: DesignRequirements) -> dict[str, str]:
    """Return what is wrong with a wish in itself: field -> sentence; the first of each field."""
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
        yield "sites", f"At most {MOST_SITES} sites can be designed for."
    names: set[str] = set()
    seen: dict[int, str] = {}
    for index, site in enumerate(requirements.sites):
        where = f"sites[{index}]"
        if not site.name.strip():
            yield f"{where}.name", "A site needs a name: the broker.rack of its brokers."
        elif site.name in names:
            yield f"{where}.name", f"There is a site {site.name} already."
        names.add(site.name)
        yield from _brokers(where, site, seen)


def _brokers(where: str, site: Site, seen: dict[int, str]) -> Iterator[tuple[str, str]]:
    for broker in site.brokers:
        if not 0 <= broker <= _LARGEST_ID:
            yield f"{where}.brokers", f"{broker} is no id of a broker."
        elif broker in seen:
            yield f"{where}.brokers", f"Broker {broker} stands in site {seen[broker]} already."
        seen[broker] = site.name
    strange = [one for one in site.standbys if one not in site.brokers]
    if strange:
        yield f"{where}.standbys", f"Broker {strange[0]} is none of the brokers of {site.name}."


def _names(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    data = [site.name for site in requirements.data_sites]
    if requirements.preferred_site is not None and requirements.preferred_site not in data:
        yield (
            "preferred_site",
            f"{requirements.preferred_site} is no site with brokers; they are {_list(data)}.",
        )
    if not _TOPIC.fullmatch(requirements.topic) or requirements.topic in {".", ".."}:
        yield (
            "topic",
            "A topic's name has 1 to 249 of the letters a-z, A-Z, digits, dot, underscore and hyphen.",
        )
    if requirements.names_standbys and requirements.observers is not ObserverSupport.FENCED_STANDBY:
        yield "observers", "Standby brokers are named, so observers must be fenced-standby."


def _numbers(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    if not 1 <= requirements.partitions <= MOST_PARTITIONS:
        yield "partitions", f"Between 1 and {MOST_PARTITIONS:,} partitions can be laid out at once."
    # Neither NaN nor infinite.
    if requirements.rto_s is not None and not 0 < requirements.rto_s < 1e12:  # noqa: PLR2004
        yield "rto_s", "The time until writes go on must be a number of seconds, more than 0."
    if requirements.rto_s is not None and requirements.writable_after is WritableAfter.NOTHING:
        yield "rto_s", "Say after what writes must go on (writable_after), or leave the time out."
    if requirements.most_copies is not None and requirements.most_copies < 1:
        yield "most_copies", "At least one copy is needed."
    if requirements.voters is not None and requirements.voters not in _VOTERS:
        yield "voters", f"An odd number of voters is wanted: {_list([str(n) for n in _VOTERS])}."
    if requirements.session_timeout_ms < 1:
        yield "session_timeout_ms", "broker.session.timeout.ms is at least 1."


def _quorum(requirements: DesignRequirements) -> Iterator[tuple[str, str]]:
    sites = [site.name for site in requirements.sites]
    if requirements.majority_site is not None:
        if requirements.majority_site not in sites:
            yield (
                "majority_site",
                f"{requirements.majority_site} is no site; they are {_list(sites)}.",
            )
        elif len(sites) > 2:  # noqa: PLR2004  three sites share the voters
            yield (
                "majority_site",
                f"With {len(sites)} sites none needs to hold the majority of the voters: leave it out.",
            )
    elif requirements.writable_after is WritableAfter.SITE and len(sites) == 2:  # noqa: PLR2004
        yield (
            "sites",
            "With two sites one of them holds the majority of the voters, and its loss stops every "
            "election and promotion. Possible would be a third site for one controller (a witness "
            "without brokers), or to name the majority_site, whose loss is then not survived without a "
            "person.",
        )


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 sync replica`, `3 observers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _list(words: list[str]) -> str:
    return ", ".join(words) or "none"
