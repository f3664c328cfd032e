"""Routing of an application: endpoints that are missing, shared or lead nowhere; tasks routed elsewhere."""

from dataclasses import replace

import pytest

from tests.jobs.streams.audit.seeing import (
    BEYOND,
    application,
    conditions,
    found,
    not_known,
    streams_application,
    thread,
)

ENDPOINTS = {"streams_endpoint_missing", "streams_endpoint_shared", "streams_endpoint_unreachable"}
RIGHT = application(thread(1, (0, 1)), thread(2, (2, 3)))


@pytest.mark.parametrize(
    ("of", "code"),
    [
        pytest.param(
            application(thread(1, (0, 1)), thread(2, (2, 3), endpoint=None)),
            "streams_endpoint_missing", id="one instance without application.server",
        ),
        pytest.param(
            application(thread(1, (0, 1)), thread(2, (2, 3), endpoint="h1:80")),
            "streams_endpoint_shared", id="two instances with one application.server",
        ),
        pytest.param(
            application(
                thread(1, (0, 1)), thread(2, (2, 3), endpoint="h1:80"), routes={"h1:80": (0, 1)}
            ),
            "streams_endpoint_shared", id="the routing lost the tasks of one of two that share",
        ),
        pytest.param(
            application(thread(1, (0, 1)), thread(2, (2, 3), endpoint="localhost:80")),
            "streams_endpoint_unreachable", id="loopback on several machines",
        ),
        pytest.param(
            application(thread(1, (0, 1)), thread(2, (2, 3), endpoint="10.9.9.9:80")),
            "streams_endpoint_elsewhere", id="another address than the broker sees",
        ),
        pytest.param(
            application(
                thread(1, (0, 1)), thread(2, (2, 3)), routes={"h1:80": (0, 1, 2), "h2:80": (3,)}
            ),
            "streams_routed_elsewhere", id="a task is routed to another instance",
        ),
        pytest.param(
            streams_application(thread(1.1, (0, 1)), thread(1.2, (2, 3))),
            "streams_threads_share_endpoint", id="two threads of the streams protocol",
        ),
    ],
)  # fmt: skip
def test_a_fault_of_the_routing_is_found(of, code):
    assert found(of) == {code}


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(RIGHT, id="each instance has its own"),
        pytest.param(
            application(thread(1, (0, 1), endpoint=None), thread(2, (2, 3), endpoint=None)),
            id="no instance has an application.server",
        ),
        pytest.param(
            application(thread(1, (0, 1), endpoint="http://H1:80"), routes={"h1:80": (0, 1)}),
            id="the routing has no scheme",
        ),
        pytest.param(
            streams_application(thread(1, (0, 1)), thread(2, (2, 3))),
            id="one thread of the streams protocol per instance",
        ),
        pytest.param(
            application(thread(1, (0, 1), endpoint="10.0.0.1:80")), id="the address that is seen"
        ),
    ],
)
def test_a_right_routing_has_no_finding(of):
    assert found(of) == set()


def test_a_missing_endpoint_says_what_is_visible_and_the_share_of_keys_of_the_actual_map():
    of = application(thread(1, (0, 2)), thread(2, (1, 3), endpoint=None))
    one = conditions(of, misrouted=0.4375)["streams_endpoint_missing"]
    assert one.text == (
        "has 1 of 2 instances without application.server: 10.0.0.2. 2 of 4 source partitions are visible. "
        "It sends 43.8 % of the keys of its worst store to wrong instances."
    )
    assert one.evidence == {"instances": 1, "places": ["10.0.0.2"], "misrouted_percent": 43.75}


def test_a_share_that_is_not_known_is_said_as_not_known():
    of = application(thread(1, (0, 2)), thread(2, (1, 3), endpoint=None))
    one = conditions(of)["streams_endpoint_missing"]
    assert one.text.endswith("The share of keys that it sends to wrong instances is not known.")
    assert one.evidence["misrouted_percent"] is None


def test_without_the_size_of_a_source_topic_the_number_of_partitions_is_not_known():
    of = application(thread(1, (0, 2)), thread(2, (1, 3), endpoint=None))
    of = replace(of, subtopologies={"0": replace(of.subtopologies["0"], partitions=None)})
    text = conditions(of)["streams_endpoint_missing"].text
    assert "2 source partitions are visible, of how many is not known." in text


def test_several_instances_are_one_condition_with_the_first_of_them():
    of = application(thread(1, (0,)), *(thread(n, endpoint=None) for n in range(2, 40)))
    one = conditions(of)["streams_endpoint_missing"]
    assert "has 38 of 39 instances without application.server" in one.text
    assert "and 33 more" in one.text
    assert len(one.evidence["places"]) == 20


@pytest.mark.parametrize(
    ("of", "codes"),
    [
        pytest.param(
            application(thread(1, (0,)), left_out=BEYOND),
            ENDPOINTS | {"streams_routed_elsewhere"}, id="beyond the limits",
        ),
        pytest.param(
            application(thread(1, (0,)), thread(2, endpoint=None, version=None)),
            ENDPOINTS, id="bytes of an instance that cannot be read",
        ),
        pytest.param(
            streams_application(thread(1, (0,)), left_out=BEYOND),
            ENDPOINTS | {"streams_threads_share_endpoint"}, id="streams protocol beyond the limits",
        ),
    ],
)  # fmt: skip
def test_endpoints_that_are_not_all_seen_are_not_judged(of, codes):
    assert codes <= not_known(of)


def test_of_instances_behind_one_address_it_is_not_known_whether_loopback_reaches_them():
    first, second = (
        thread(1, (0, 1), endpoint="localhost:80"),
        thread(2, (2, 3), endpoint="localhost:81"),
    )
    of = application(first, replace(second, client_host=first.client_host))
    assert "streams_endpoint_unreachable" in not_known(of)


def test_the_running_instance_and_the_routed_one_are_named():
    of = application(thread(1, (0, 1)), thread(2, (2, 3)), routes={"h1:80": (0, 1, 2)})
    one = conditions(of)["streams_routed_elsewhere"]
    assert one.text == "routes 2 tasks elsewhere: 0_2 runs at h2:80 and is routed to h1:80."
    assert one.evidence["first_tasks"] == ["0_2", "0_3"]
