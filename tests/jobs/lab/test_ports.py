import os
import socket
import sys

import pytest

from jobs.lab.errors import PortTaken
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import check_free, find_base_port, is_free, owner_of


def test_a_free_port_passes(free_port):
    check_free([free_port])


@pytest.mark.skipif(sys.platform != "linux", reason="run on Linux: /proc is read")
def test_a_taken_port_is_refused_with_its_owner_and_a_way_out(listener):
    port = listener.getsockname()[1]
    words = rf"Port {port} .* taken by process {os.getpid()} .*another with --base-port"
    with pytest.raises(PortTaken, match=words):
        check_free([port])


@pytest.mark.skipif(sys.platform != "linux", reason="run on Linux: /proc is read")
def test_the_owner_is_found_although_a_lower_descriptor_was_closed_meanwhile():
    lower = os.open(os.devnull, os.O_RDONLY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.close(lower)  # the listing of descriptors takes this number, and is gone when it is read
        assert owner_of(listener.getsockname()[1]).startswith(f"process {os.getpid()} ")


def test_ports_that_were_found_are_not_found_again_before_somebody_listens():
    found = [find_base_port(lambda base: [ClusterPlan("a", 1, base)]) for _ in range(12)]
    assert len(set(found)) == 12


def test_the_found_base_port_is_free_for_every_planned_port():
    def plans(base_port):
        return [ClusterPlan("a", 2, base_port), ClusterPlan("b", 1, base_port + 100)]

    found = plans(find_base_port(plans))
    assert all(is_free(port) for plan in found for port in plan.ports())
