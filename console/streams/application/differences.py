"""All metadata as it is, beside what the application answers, where the two differ."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from console.streams.snapshots import Picture
from jobs.cluster.descriptions import TopicPartition
from jobs.streams.answers import ProcessAnswer
from jobs.streams.metadata_state import HostMetadata, NotKnowable

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """What runs on an instance, and what the application's metadata says of its endpoint."""

    place: str
    runs: str
    answered: str
    why: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The differences; `reason` says why the answers are not known, empty when they are."""

    reason: str
    same: int
    different: tuple[Difference, ...]


def compare(picture: Picture) -> Compared:
    """Compare what each instance has with what the application answers of it."""
    state = picture.answered
    if isinstance(state, NotKnowable):
        return Compared(state.reason, 0, ())
    hosts = {one.endpoint: one for one in state.all()}
    found = [one for each in picture.truth if (one := _difference(each, hosts)) is not None]
    known = {one.process.endpoint for one in picture.truth}
    for endpoint, host in hosts.items():
        if endpoint not in known:
            text = "No instance has this endpoint."
            found.append(Difference(endpoint, "", _told(host.partitions, host.stores), text))
    return Compared("", len(picture.truth) - len(found), tuple(found))


def _difference(one: ProcessAnswer, hosts: dict[str, HostMetadata]) -> Difference | None:
    place, runs = one.process.place, _told(one.partitions, one.stores)
    if one.process.endpoint is None:
        text = "It has no application.server: the metadata cannot name it."
        return Difference(place, runs, "", text)
    host = hosts.get(one.process.endpoint)
    if host is None:
        return Difference(place, runs, "", "The metadata does not have its endpoint.")
    more, less = host.partitions - one.partitions, one.partitions - host.partitions
    stores = host.stores != one.stores
    if not (more or less or stores or host.standby_partitions != one.standby_partitions):
        return None
    parts = []
    if more:
        parts.append(f"Answered but not active there: {named(more)}.")
    if less:
        parts.append(f"Active there but not answered: {named(less)}.")
    if stores:
        parts.append(f"Stores differ: {', '.join(sorted(host.stores ^ one.stores)[:MOST_NAMED])}.")
    if not parts:
        parts.append("Standby partitions differ.")
    return Difference(place, runs, _told(host.partitions, host.stores), " ".join(parts))


def named(places: Collection[TopicPartition]) -> str:
    """Return the first partitions by name, and how many more there are."""
    text = ", ".join(str(one) for one in sorted(places)[:MOST_NAMED])
    return f"{text} and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else text


def _told(partitions: Collection[TopicPartition], stores: Collection[str]) -> str:
    return f"{len(partitions):,} partitions, {len(stores):,} stores"
