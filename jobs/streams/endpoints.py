"""Values of `application.server` that other machines cannot reach, as cautions. Pure: names go to a resolver.

Kafka Streams checks the form of the value only and gives it to every instance as it is
(`HostInfo.buildFromEndpoint`).
"""

from __future__ import annotations

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from jobs.cluster.network_addresses import host_address, is_any_address, is_loopback_host
from jobs.streams.application import Application, Process, Protocol
from jobs.wire.streams_userdata import LATEST_VERSION

# Whether a name has an address here; None: not known.
Resolver = Callable[[str], bool | None]
_LAST_PORT = 65_535


class FaultKind(StrEnum):
    """What is wrong with an endpoint."""

    MISSING = "missing"
    SHARED = "shared"
    UNREACHABLE = "unreachable"
    UNRESOLVED = "unresolved"


class EndpointFault(NamedTuple):
    """What is wrong with the `application.server` of some instances, as a sentence."""

    kind: FaultKind
    processes: Collection[Process]
    sentence: str


def endpoint_cautions(
    application: Application,
    processes: Collection[Process] | None = None,
    resolver: Resolver | None = None,
) -> tuple[str, ...]:
    """Return a sentence for each endpoint of some processes (None: of all) that leads nowhere."""
    return tuple(one.sentence for one in endpoint_faults(application, processes, resolver))


def endpoint_faults(
    application: Application,
    processes: Collection[Process] | None = None,
    resolver: Resolver | None = None,
) -> tuple[EndpointFault, ...]:
    """Return the faults of the endpoints of some processes (None: of all).

    Where every member is connected by loopback, all runs on one machine: loopback is no fault there. An
    application none of whose processes has an endpoint does not use them.
    """
    every = application.processes
    chosen = every if processes is None else processes
    is_one_machine = all(is_loopback_host(one.client_host) for one in every)
    sharing: dict[tuple[str, int | None], list[Process]] = defaultdict(list)
    for one in every:
        if one.endpoint is not None:
            sharing[host_and_port(one.endpoint)].append(one)
    found: dict[str, EndpointFault] = {}
    judged = set()
    for one in chosen:
        if one.endpoint is None:
            if sharing and tells_endpoint(one, application.protocol):
                found[_without(one)] = EndpointFault(FaultKind.MISSING, (one,), _without(one))
            continue
        if one.endpoint in judged:
            continue
        judged.add(one.endpoint)
        own = sharing[host_and_port(one.endpoint)]
        for kind, why in _faults(one.endpoint, own, resolver, is_one_machine=is_one_machine):
            text = f"application.server {one.endpoint} {why} {_seen_at(own)}"
            found[text] = EndpointFault(kind, own, text)
    return tuple(found.values())


def names_in(application: Application) -> frozenset[str]:
    """Return the names of hosts in the endpoints of an application; addresses and loopback are none."""
    hosts = (
        host_and_port(one.endpoint)[0] for one in application.processes if one.endpoint is not None
    )
    return frozenset(
        one for one in hosts if one and not is_loopback_host(one) and not host_address(one)
    )


def _faults(
    endpoint: str, sharing: Collection[Process], resolver: Resolver | None, *, is_one_machine: bool
) -> Iterator[tuple[FaultKind, str]]:
    host, port = host_and_port(endpoint)
    is_anywhere = is_any_address(host)
    if not is_one_machine and (is_anywhere or is_loopback_host(host)):
        text = "leads nowhere from another machine: to each machine it is that machine itself."
        yield FaultKind.UNREACHABLE, text
    elif (
        host_address(host) is None
        and not is_anywhere
        and resolver is not None
        and resolver(host) is False
    ):
        text = "cannot be resolved from here; it may be where the application runs."
        yield FaultKind.UNRESOLVED, text
    if not port or port > _LAST_PORT:
        yield FaultKind.UNREACHABLE, "names no port that listens."
    if len(sharing) > 1:
        text = f"is that of {len(sharing)} instances: requests reach one of them only."
        yield FaultKind.SHARED, text


def tells_endpoint(process: Process, protocol: Protocol) -> bool:
    """Say whether what the process told could be read: else its endpoint is not known."""
    if protocol is Protocol.STREAMS:
        return True
    return any(one.version is not None and one.version <= LATEST_VERSION for one in process.threads)


def _without(process: Process) -> str:
    return f"The instance at {process.client_host} has no application.server: no other instance can name it."


def _seen_at(processes: Collection[Process]) -> str:
    hosts = sorted({one.client_host for one in processes})
    return f"Connected from {', '.join(hosts)}."


def host_and_port(endpoint: str) -> tuple[str, int | None]:
    """Return host, in small letters, and port; None where there is no number."""
    _, _, rest = endpoint.rpartition("://")
    host, colon, port = rest.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        return rest.strip("[]").lower(), None
    return host.removeprefix("[").removesuffix("]").lower(), int(port)


MOST_NAMES = 100
_NO_SUCH_NAME = {socket.EAI_NONAME, socket.EAI_NODATA}


def resolved(
    names: Iterable[str], budget_s: float, ask: Callable[[str], object] | None = None
) -> dict[str, bool]:
    """Return which names have an address; those are left out that are not answered in time.

    All are looked up at once, of many the first ones; `ask` raises socket.gaierror without an address.
    """
    found: dict[str, bool] = {}
    threads = [
        threading.Thread(target=_resolve, args=(name, ask or _ask, found), daemon=True)
        for name in sorted(set(names))[:MOST_NAMES]
    ]
    for one in threads:
        one.start()
    deadline = time.monotonic() + budget_s
    for one in threads:
        one.join(max(0.0, deadline - time.monotonic()))
    return dict(found)


def _resolve(name: str, ask: Callable[[str], object], found: dict[str, bool]) -> None:
    try:
        ask(name)
    except UnicodeError:
        found[name] = False
    except socket.gaierror as problem:
        # Where no server of names answers, nothing is known of the name.
        if problem.errno in _NO_SUCH_NAME:
            found[name] = False
    except OSError:
        return
    else:
        found[name] = True


def _ask(name: str) -> object:
    return socket.getaddrinfo(name, None)
