import struct

import pytest

from jobs.lab.probe import live_brokers, read_brokers


def answer(brokers, error=0):
    """Build a DescribeCluster response v0."""
    parts = struct.pack(">iB", 1, 0) + struct.pack(">ih", 0, error) + b"\x00" + b"\x04abc"
    parts += struct.pack(">i", 1) + bytes([len(brokers) + 1])
    for broker_id in brokers:
        parts += struct.pack(">i", broker_id) + b"\x0a127.0.0.1" + struct.pack(">i", 9092)
        parts += b"\x05dc-a" + b"\x00"
    return parts + struct.pack(">i", -(2**31)) + b"\x00"


def test_brokers_are_read_from_the_answer():
    assert read_brokers(answer([1, 2, 70_000]), "abc") == {1, 2, 70_000}


def test_an_answer_with_an_error_is_no_answer():
    assert read_brokers(answer([1], error=41), "abc") is None


def test_the_answer_of_another_cluster_on_the_same_port_is_no_answer():
    assert read_brokers(answer([1]), "other") is None


@pytest.mark.parametrize("length", range(1, 30, 4))
def test_a_cut_answer_is_refused(length):
    with pytest.raises(ValueError, match="ends too early"):
        read_brokers(answer([1])[:length], "abc")


def test_an_empty_port_is_no_answer(free_port):
    assert live_brokers(f"127.0.0.1:{free_port}", "abc") is None
