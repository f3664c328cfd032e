"""Whether the endpoints of an application (`application.server`) take a TCP connection from here.

One connection per endpoint, closed at once; nothing is sent over it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from jobs.streams.application import Application
from jobs.streams.endpoints import host_and_port

MOST_ENDPOINTS = 50
CONNECT_S, BUDGET_S = 2.0, 10.0
_AT_ONCE = 16
_LAST_PORT = 65_535


class ProbeAnswer(StrEnum):
    """What came of a probe; `NOT_ALLOWED` and `NO_PORT`: no packet was sent."""

    CONNECTED = "connected"
    REFUSED = "refused"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    NO_NAME = "name not resolved"
    NOT_ALLOWED = "not allowed"
    NO_PORT = "no port"


class NotAllowed(ValueError):
    """An endpoint that may not be probed from here; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The probe of one endpoint; `instances` are the addresses from which its processes are connected.

    `address` is the one that was probed, None for none. `took_ms` is set with `CONNECTED`.
    """

    endpoint: str
    instances: tuple[str, ...]
    answer: ProbeAnswer
    address: str | None = None
    took_ms: int | None = None
    reason: str = ""

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)


# Returns the one address of a host and port that is called. Raises OSError without one, `NotAllowed`.
Resolve = Callable[[str, int], str]


def resolve(host: str, port: int) -> str:
    """Return the first address of a host; raises OSError, or ValueError for what is no name."""
    return str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])


def endpoints_of(application: Application) -> dict[str, tuple[str, ...]]:
    """Return the endpoints, and the hosts of the instances that have each."""
    found: dict[str, list[str]] = {}
    for one in application.processes:
        if one.endpoint is not None:
            found.setdefault(one.endpoint, []).append(one.client_host)
    return {endpoint: tuple(dict.fromkeys(own)) for endpoint, own in sorted(found.items())}


def probe_endpoints(
    endpoints: Mapping[str, Sequence[str]],
    resolve: Resolve = resolve,
    budget_s: float = BUDGET_S,
) -> tuple[Probe, ...]:
    """Probe the first `MOST_ENDPOINTS` endpoints, some at once; what the budget does not reach timed out."""
    chosen = list(islice(endpoints, MOST_ENDPOINTS))
    found: dict[str, Probe] = {}
    waiting, deadline = iter(chosen), time.monotonic() + budget_s
    lock = threading.Lock()

    def work() -> None:
        while time.monotonic() < deadline:
            with lock:
                endpoint = next(waiting, None)
            if endpoint is None:
                return
            found[endpoint] = _probe(endpoint, tuple(endpoints[endpoint]), resolve)

    # A name server that hangs must not keep the process.
    threads = [threading.Thread(target=work, daemon=True) for _ in chosen[:_AT_ONCE]]
    for one in threads:
        one.start()
    for one in threads:
        one.join(max(0.0, deadline - time.monotonic()))
    done = dict(found)
    return tuple(
        done.get(one) or Probe(one, tuple(endpoints[one]), ProbeAnswer.TIMED_OUT) for one in chosen
    )


def _probe(endpoint: str, instances: tuple[str, ...], resolve: Resolve) -> Probe:
    host, port = host_and_port(endpoint)
    if not host or not port or port > _LAST_PORT:
        return Probe(endpoint, instances, ProbeAnswer.NO_PORT)
    try:
        address = resolve(host, port)
    except NotAllowed as why:
        return Probe(endpoint, instances, ProbeAnswer.NOT_ALLOWED, reason=str(why))
    except (OSError, ValueError):
        return Probe(endpoint, instances, ProbeAnswer.NO_NAME)
    answer, took_ms, reason = _connect(address, port)
    return Probe(endpoint, instances, answer, address, took_ms, reason)


def _connect(address: str, port: int) -> tuple[ProbeAnswer, int | None, str]:
    begun = time.monotonic()
    try:
        socket.create_connection((address, port), CONNECT_S).close()
    except TimeoutError:
        return ProbeAnswer.TIMED_OUT, None, ""
    except ConnectionRefusedError:
        return ProbeAnswer.REFUSED, None, ""
    except OSError as error:
        return ProbeAnswer.FAILED, None, error.strerror or str(error)
    return ProbeAnswer.CONNECTED, round((time.monotonic() - begun) * 1000), ""
