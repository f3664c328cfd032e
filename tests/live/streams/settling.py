"""When a Streams application has settled, and what its instances say then."""

from typing import Any

from jobs.lab.errors import LabError
from jobs.lab.streams.application import RUNNING, RUNNING_S, StreamsApplication
from tests.waiting import PATIENCE, eventually

KEYS = [f"customer-{number:04}" for number in range(200)]
# Orders and customers have 6 partitions, and so each task of by-customer; by-product has 4.
STATELESS = {f"0_{partition}" for partition in range(6)}
STATEFUL = {f"1_{partition}" for partition in range(6)} | {f"2_{p}" for p in range(4)}
Inside = dict[str, Any]


def tasks(inside: Inside, kind: str) -> list[str]:
    """The tasks of all threads of an instance; `kind` is active or standby."""
    threads = inside["metadataForLocalThreads"] or ()
    return sorted(task["id"] for thread in threads for task in thread[kind])


def hosts(inside: Inside) -> dict[str, Inside]:
    """The endpoints that an instance knows."""
    return {one["host"]: one for one in inside["metadataForAllStreamsClients"] or ()}


def is_settled(application: StreamsApplication, standbys: int) -> bool:
    """Every task is active once and has its standbys, every endpoint is known, every key is served once."""
    try:
        found = application.inside(KEYS)
    except LabError:  # an instance that starts has no door yet
        return False
    endpoints = {application.instances[name].endpoint for name in found} - {None}
    active = [task for inside in found.values() for task in tasks(inside, "active")]
    standby = [task for inside in found.values() for task in tasks(inside, "standby")]
    served = [key for inside in found.values() for key in inside["localGet"] or ()]
    return (
        all(inside["state"] == RUNNING for inside in found.values())
        and sorted(active) == sorted(STATELESS | STATEFUL)
        and sorted(standby) == sorted(STATEFUL) * standbys
        and sorted(served) == KEYS
        and all(set(hosts(inside)) == endpoints for inside in found.values())
    )


def wait_until_settled(application: StreamsApplication, standbys: int | None = None) -> None:
    """Wait for it; `standbys` None means as many as its settings say."""
    wanted = application.settings.standbys if standbys is None else standbys
    application.wait_until_running(RUNNING_S * PATIENCE)
    eventually(lambda: is_settled(application, wanted), RUNNING_S, every=0.5)
