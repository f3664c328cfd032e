"""One TCP connection per endpoint: what came of it, and what is never connected to."""

import socket
import threading

import pytest

from jobs.streams.probes import (
    MOST_ENDPOINTS,
    NotAllowed,
    ProbeAnswer,
    endpoints_of,
    probe_endpoints,
)
from tests.jobs.streams.test_answers import classic


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def to_loopback(_host, _port):
    return "127.0.0.1"


def probed(endpoint, resolve=to_loopback):
    (one,) = probe_endpoints({endpoint: ("10.0.0.1",)}, resolve)
    return one


def test_an_endpoint_that_listens_is_connected_to_at_the_address_of_its_name(listening):
    one = probed(f"shop.example:{listening}")
    assert (one.answer, one.address, one.instances) == ("connected", "127.0.0.1", ("10.0.0.1",))
    assert one.took_ms >= 0


def test_a_closed_port_refuses(closed):
    one = probed(f"shop.example:{closed}")
    assert (one.answer, one.took_ms) == (ProbeAnswer.REFUSED, None)


def refusing(_host, _port):
    raise NotAllowed("It is private.")


def unknown(_host, _port):
    raise OSError("no such name")


def no_name(_host, _port):
    raise UnicodeError("label too long")


@pytest.mark.parametrize(
    ("resolve", "answer", "reason"),
    [
        (refusing, "not allowed", "It is private."),
        (unknown, "name not resolved", ""),
        (no_name, "name not resolved", ""),
    ],
)
def test_without_an_address_nothing_is_connected_to(listening, resolve, answer, reason):
    one = probed(f"localhost:{listening}", resolve)
    assert (one.answer, one.address, one.reason) == (answer, None, reason)


@pytest.mark.parametrize("endpoint", ["shop", "shop:0", "shop:65536", "shop:x", ":80", ""])
def test_an_endpoint_without_host_or_port_is_not_probed(endpoint):
    assert probed(endpoint).answer == ProbeAnswer.NO_PORT


def test_each_endpoint_is_resolved_once_and_only_the_first_ones_are():
    asked = []

    def resolve(host, _port):
        asked.append(host)
        raise NotAllowed("no")

    found = probe_endpoints({f"h{n:03}:1": () for n in range(80)}, resolve)
    assert [one.endpoint for one in found] == [f"h{n:03}:1" for n in range(MOST_ENDPOINTS)]
    assert sorted(asked) == [f"h{n:03}" for n in range(MOST_ENDPOINTS)]


def test_what_hangs_ends_with_the_budget():
    let_go = threading.Event()

    def hang(_host, _port):
        let_go.wait(30)
        raise NotAllowed("late")

    found = probe_endpoints({"a:1": (), "b:1": ()}, hang, budget_s=0.05)
    let_go.set()
    assert [one.answer for one in found] == ["timed out", "timed out"]


def test_instances_with_one_endpoint_are_probed_together():
    assert endpoints_of(classic(second_endpoint="h1:1")) == {"h1:1": ("10.0.0.1", "10.0.0.2")}
    assert list(endpoints_of(classic(second_endpoint=""))) == ["h1:1"]
