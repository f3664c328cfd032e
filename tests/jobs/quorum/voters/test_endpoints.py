"""Endpoints of voters that other nodes cannot reach, or that several voters share."""

import pytest

from jobs.quorum.voters.endpoints import endpoint_faults
from jobs.quorum.voters.voter_sets import Endpoint, ReplicaKey, VoterNode, VoterSet

ANY = "is no address that another node can call"
LOOPBACK = "a loopback address is reached by its own machine only"
SHARED = "requests reach one of them only"


def voters(*places):
    """Return voters 1, 2, ... with an endpoint each: HOST:PORT."""
    nodes = []
    for id_, place in enumerate(places, start=1):
        host, _, port = place.rpartition(":")
        nodes.append(VoterNode(ReplicaKey(id_), (Endpoint("CONTROLLER", host, int(port)),)))
    return VoterSet(tuple(nodes))


@pytest.mark.parametrize(
    ("places", "brokers", "expected"),
    [
        pytest.param(("c1:9093", "c2:9093", "c3:9093"), (), [], id="three machines"),
        pytest.param(("127.0.0.1:1", "127.0.0.1:2", "localhost:3"), (), [], id="one machine"),
        pytest.param(("localhost:1", "localhost:2"), ("b1",), [], id="one machine with a name"),
        pytest.param(("0.0.0.0:9093", "c2:9093"), (), [((1,), ANY)], id="any IPv4 address"),
        pytest.param((":::9093", "c2:9093"), (), [((1,), ANY)], id="any IPv6 address"),
        pytest.param((":9093", "c2:9093"), (), [((1,), ANY)], id="no host"),
        pytest.param(("localhost:9093", "c2:9093"), (), [((1,), LOOPBACK)], id="loopback beside others"),
        pytest.param(
            ("0.0.0.0:9093", "localhost:9093"), (), [((1,), ANY), ((2,), LOOPBACK)],
            id="one port at any address and at loopback",
        ),
        pytest.param(
            ("0.0.0.0:1", "localhost:2"), (), [((1,), ANY)], id="two ports at any address and at loopback"
        ),
        pytest.param(
            ("localhost:1", "localhost:2"), ("b1", "b2"), [((1,), LOOPBACK), ((2,), LOOPBACK)],
            id="loopback, brokers on two machines",
        ),
        pytest.param(
            ("localhost:9093", "127.0.0.1:9093"), (), [((1, 2), LOOPBACK), ((1, 2), SHARED)],
            id="one loopback port twice",
        ),
        pytest.param(("c1:9093", "C1:9093", "c2:9093"), (), [((1, 2), SHARED)], id="one name twice"),
        pytest.param(
            ("10.0.0.1:9093", "::ffff:10.0.0.1:9093"), (), [((1, 2), SHARED)], id="one address in two forms"
        ),
        pytest.param(("c1:9093", "c1:9094"), (), [], id="one host, two ports"),
        pytest.param(
            ("0.0.0.0:9093", "0.0.0.0:9093"), (), [((1, 2), ANY), ((1, 2), SHARED)], id="any address twice"
        ),
    ],
)  # fmt: skip
def test_endpoints_that_do_not_lead_to_their_voter(places, brokers, expected):
    faults = endpoint_faults(voters(*places), brokers)
    assert [(one.voter_ids, one.why.rstrip(".").removeprefix("0.0.0.0 ").removeprefix(":: ").removeprefix("an empty host ")) for one in faults] == expected  # fmt: skip


def test_voters_without_endpoints_are_not_judged():
    assert endpoint_faults(VoterSet.of_ids([1, 2, 3])) == []


def test_a_fault_names_voters_and_endpoint():
    (fault,) = endpoint_faults(voters("c1:9093", "c1:9093"))
    assert fault.sentence == (
        "Voters 1, 2 have the endpoint CONTROLLER://c1:9093: requests reach one of them only."
    )


def test_an_endpoint_with_an_ipv6_address_is_written_in_brackets():
    (fault,) = endpoint_faults(voters("fd00::1:9093", "fd00:0::1:9093"))
    assert str(fault.endpoint) == "CONTROLLER://[fd00::1]:9093"
