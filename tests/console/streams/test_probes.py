"""Probes of endpoints through the guard of outbound calls: by page and over REST, with a trail."""

import ipaddress
import socket

import pytest

from console.accounts.models import AuditEntry
from console.frame.rest.throttling import BUCKETS
from console.frame.security.outbound import Outbound
from console.streams.application.probes import PROBES_PER_MIN, probe_application
from tests.console.making import make_cluster
from tests.console.streams.making import SHOP, group, make_streams, member

pytestmark = pytest.mark.django_db
PAGE, API = f"/streams/east/{SHOP}/probes/", f"/api/v1/streams/{SHOP}/probes/"
LOOPBACK = ipaddress.ip_network("127.0.0.0/8")


@pytest.fixture(autouse=True)
def _buckets():
    BUCKETS.clear()


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def shop(listening):
    found = group(
        member(1, (0, 1), endpoint=f"127.0.0.1:{listening}"),
        member(2, (2, 3), endpoint="169.254.169.254:80"),
    )
    return make_streams(make_cluster("east"), found)


def test_only_what_the_guard_allows_is_connected_to(shop, operator):
    guard = Outbound(hosts=["127.0.0.1", "169.254.169.254"], networks=[LOOPBACK])
    found = probe_application(shop, operator, guard)
    assert [one.answer for one in found.probes] == ["connected", "not allowed"]


@pytest.mark.parametrize(
    ("hosts", "networks", "why"),
    [
        ([], [LOOPBACK], "OUTBOUND_HOSTS does not name 127.0.0.1"),
        (["127.0.0.1"], [], "not public"),
    ],
    ids=["name", "network"],
)
def test_an_endpoint_that_is_not_allowed_gets_no_packet(shop, operator, hosts, networks, why):
    resolved = []

    def resolve(host, _port):
        resolved.append(host)
        return [host]

    found = probe_application(shop, operator, Outbound(hosts, networks=networks, resolve=resolve))
    one = found.probes[0]
    assert (one.answer, one.address, resolved) == ("not allowed", None, hosts)
    assert why in one.reason


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(operator, listening):
    found = group(member(1, (0, 1, 2, 3), endpoint=f"shop.example:{listening}"))
    row = make_streams(make_cluster("east"), found)
    turns = iter([["127.0.0.1"], ["169.254.169.254"]])
    guard = Outbound(
        ["shop.example"], networks=[LOOPBACK], resolve=lambda _host, _port: next(turns)
    )
    (one,) = probe_application(row, operator, guard).probes
    assert (one.answer, one.address) == ("connected", "127.0.0.1")


def test_a_port_that_was_not_checked_is_not_connected_to(operator, listening):
    found = group(member(1, (0, 1, 2, 3), endpoint=f"shop.example/x:{listening}"))
    row = make_streams(make_cluster("east"), found)
    guard = Outbound(
        ["shop.example:443"], networks=[LOOPBACK], resolve=lambda _host, _port: ["127.0.0.1"]
    )
    (one,) = probe_application(row, operator, guard).probes
    assert (one.answer, one.address) == ("not allowed", None)


@pytest.fixture
def allowed(settings):
    settings.OUTBOUND_HOSTS, settings.OUTBOUND_NETWORKS = ["127.0.0.1"], ["127.0.0.0/8"]


def test_the_page_shows_the_answers_and_writes_the_trail(helper, allowed):
    text = " ".join(helper.post(PAGE).content.decode().split())
    assert "Connected" in text
    assert "Not probed: OUTBOUND_HOSTS does not name 169.254.169.254:80" in text
    entry = AuditEntry.objects.get(action="streams.probe")
    assert (entry.subject, entry.cluster) == (SHOP, "east")
    assert entry.after == {"connected": 1, "not allowed": 1}


def test_the_page_alone_probes_nothing(helper):
    assert "No endpoint has been probed" in helper.get(PAGE).content.decode()
    assert not AuditEntry.objects.filter(action="streams.probe").exists()


def test_rest_gives_the_same(helper, allowed):
    told = helper.post(API).json()
    assert [one["answer"] for one in told["probes"]] == ["connected", "not allowed"]
    assert told["left_out"] == 0


def test_who_may_only_look_does_not_probe(visitor):
    assert visitor.post(API).status_code == visitor.post(PAGE).status_code == 403
    assert "Probe endpoints" not in visitor.get(f"/streams/east/{SHOP}/").content.decode()


def test_a_person_probes_a_few_times_a_minute(helper):
    statuses = [helper.post(API).status_code for _ in range(PROBES_PER_MIN + 1)]
    assert statuses[:-1] == [200] * PROBES_PER_MIN
    assert statuses[-1] in {409, 429}
