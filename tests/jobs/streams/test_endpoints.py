"""An `application.server` that other machines cannot reach is a caution, with the addresses seen."""

import pytest

from jobs.streams.answers import metadata_for_key
from jobs.streams.application import Application, Protocol, Thread
from jobs.streams.assembly import application_of
from jobs.streams.endpoints import endpoint_cautions, names_in
from tests.jobs.streams.written import observation, two_processes
from tests.support import conformance_cases

FAR = ("10.0.0.1", "10.0.0.2")
SELF = "leads nowhere from another machine"


def running(*endpoints, hosts=FAR, protocol=Protocol.STREAMS, **more):
    threads = [
        Thread(f"m{n}", f"c{n}", f"/{hosts[n % 2]}", f"p{n}", endpoint=one, **more)
        for n, one in enumerate(endpoints)
    ]
    return Application("app", protocol, "Stable", 0, tuple(threads), {}, {}, {}, None, {})


def told(*endpoints, resolver=None, **more):
    return endpoint_cautions(running(*endpoints, **more), resolver=resolver)


@pytest.mark.parametrize(
    "endpoint",
    [
        "0.0.0.0:7071", "[::]:7071", ":::7071", ":7071", "127.0.0.1:7071", "127.3.2.1:7071",
        "[::1]:7071", "[::ffff:127.0.0.1]:7071", "localhost:7071", "LOCALHOST:7071",
        "app.localhost:7071", "http://localhost:7071",
    ],
)  # fmt: skip
def test_an_endpoint_that_is_every_machine_itself_is_a_caution_with_the_address_seen(endpoint):
    (found,) = told(endpoint, "h2:7072")
    assert found.startswith(f"application.server {endpoint} {SELF}")
    assert found.endswith("Connected from 10.0.0.1.")


@pytest.mark.parametrize(
    "endpoint", ["h1:7071", "[fd00::a1]:7071", "http://h1:7071", "10.0.0.1:7071", "192.168.3.4:80"]
)
def test_an_endpoint_of_a_machine_is_taken_as_it_is(endpoint):
    assert told(endpoint, "h2:7072") == ()


@pytest.mark.parametrize("host", ["127.0.0.1", "0:0:0:0:0:0:0:1"])
def test_one_machine_for_all_is_no_fault(host):
    assert told("localhost:7071", "0.0.0.0:7072", hosts=(host, host)) == ()


@pytest.mark.parametrize("endpoint", ["h1:0", "h1", "h1:70000"])
def test_an_endpoint_without_a_port_is_a_caution(endpoint):
    (found,) = told(endpoint, "h2:7072")
    assert "names no port" in found


@pytest.mark.parametrize("case", conformance_cases("streams_partitioning", "endpoint_conflict"))
def test_an_endpoint_of_two_instances_is_told_once_with_both_addresses(case):
    assert (case["given"], case["expected"]) == ("two processes, one endpoint", "conflict")
    (found,) = told("h1:7071", "H1:7071")[:1]
    assert "is that of 2 instances" in found
    assert found.endswith("Connected from 10.0.0.1, 10.0.0.2.")


def test_an_instance_without_an_endpoint_among_others_is_a_caution():
    (found,) = told("h1:7071", None)
    assert found.startswith("The instance at 10.0.0.2 has no application.server")


def test_without_any_endpoint_nothing_is_missed():
    assert told(None, None) == ()


def test_an_instance_whose_bytes_cannot_be_read_is_not_judged():
    assert told("h1:7071", None, protocol=Protocol.CLASSIC, version=12) == ()


@pytest.mark.parametrize(
    ("answer", "count"),
    [(False, 1), (True, 0), (None, 0)],
    ids=["no address", "has one", "unknown"],
)
def test_a_name_without_an_address_here_is_a_caution_only_where_that_is_known(answer, count):
    asked = []

    def resolver(name):
        asked.append(name)
        return answer if name == "h1" else True

    found = told("h1:7071", "10.0.0.2:7072", resolver=resolver)
    assert len(found) == count
    assert all("cannot be resolved from here" in one for one in found)
    assert asked == ["h1"], "addresses are not asked for"


def test_only_names_of_other_machines_are_asked_for():
    application = running("h1:1", "http://H3:2", "10.0.0.2:3", "localhost:4", "[fd00::1]:5", None)
    assert names_in(application) == {"h1", "h3"}


def test_an_application_and_a_lookup_of_a_key_carry_the_caution():
    application = application_of(observation(two_processes(second_endpoint="0.0.0.0:2")))
    assert any(SELF in one for one in application.cautions)
    answers = [metadata_for_key(application, "totals", str(n).encode()) for n in range(8)]
    assert all(any(SELF in one for one in answer.cautions) for answer in answers)
