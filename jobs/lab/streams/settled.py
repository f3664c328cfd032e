"""When an application has settled: what its instances say of themselves fits together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.lab.errors import LabError
from jobs.lab.streams.application import RUNNING, StreamsApplication

STORE = "totals-by-customer"
KEYS = [f"customer-{number:04}" for number in range(200)]
# Orders and customers have 6 partitions, and so each task of by-customer; by-product has 4.
STATELESS = {f"0_{partition}" for partition in range(6)}
STATEFUL = {f"1_{partition}" for partition in range(6)} | {f"2_{p}" for p in range(4)}
Inside = dict[str, Any]
_ROUTING = ("metadataForAllStreamsClients", "queryMetadataForKey", "streamsMetadataForStore")


def tasks(inside: Inside, kind: str) -> list[str]:
    """The tasks of all threads of an instance; `kind` is active or standby."""
    threads = inside["metadataForLocalThreads"] or ()
    return sorted(task["id"] for thread in threads for task in thread[kind])


def hosts(inside: Inside) -> dict[str, Inside]:
    """The endpoints that an instance knows."""
    return {one["host"]: one for one in inside["metadataForAllStreamsClients"] or ()}


def is_settled(application: StreamsApplication, standbys: int) -> bool:
    """Every task is active once and has its standbys, every endpoint is known, every key is served once."""
    return bool(settled_inside(application, standbys))


def settled_inside(application: StreamsApplication, standbys: int) -> dict[str, Inside]:
    """Return what each instance says of itself and of `KEYS`; empty: the application has not settled."""
    try:
        found = application.inside(KEYS)
    except LabError:  # an instance that starts has no door yet
        return {}
    endpoints = {application.instances[name].endpoint for name in found} - {None}
    active = [task for inside in found.values() for task in tasks(inside, "active")]
    standby = [task for inside in found.values() for task in tasks(inside, "standby")]
    served = [key for inside in found.values() for key in inside["localGet"] or ()]
    fits = (
        all(inside["state"] == RUNNING for inside in found.values())
        and sorted(active) == sorted(STATELESS | STATEFUL)
        and sorted(standby) == sorted(STATEFUL) * standbys
        and sorted(served) == KEYS
        and all(set(hosts(inside)) == endpoints for inside in found.values())
    )
    return found if fits else {}


def route_alike(before: Mapping[str, Inside], after: Mapping[str, Inside]) -> bool:
    """Whether instances route keys now as they did before."""
    return all(before[name][one] == after[name][one] for name in before for one in _ROUTING)
