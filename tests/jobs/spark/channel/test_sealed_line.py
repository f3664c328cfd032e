"""The line to tasks on other machines: no other process reads along or can be the driver."""

import dataclasses
import json
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.spark.channel.line import DriverChannel, TaskChannel
from jobs.spark.channel.sealed_line import Seal, SealedSocket, client_context
from tests.waiting import PATIENCE, eventually


class Tap:
    """A wire between task and driver that keeps what passes it."""

    def __init__(self, place):
        self._place = place
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.seen = b""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        here, _ = self._server.accept()
        there = socket.create_connection(self._place)
        for one, other in ((here, there), (there, here)):
            threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one, other):
        while data := one.recv(4096):
            self.seen += data
            other.sendall(data)

    def close(self):
        self._server.close()


@pytest.mark.parametrize("is_sealed", [False, True], ids=["on this machine", "sealed"])
def test_a_listener_on_the_wire_reads_the_token_only_where_the_line_does_not_leave_the_machine(
    is_sealed,
):
    heard = []
    channel = DriverChannel("127.0.0.1", heard.append, is_sealed=is_sealed)
    tap = Tap(channel.address.place)
    address = dataclasses.replace(channel.address, port=tap.port)
    threading.Thread(target=TaskChannel, args=(address, 1), daemon=True).start()
    eventually(lambda: heard)
    channel.close()
    tap.close()
    assert (address.token.encode() in tap.seen) is not is_sealed


def test_a_task_does_not_send_its_token_to_a_false_driver():
    channel = DriverChannel("127.0.0.1", lambda event: None, is_sealed=True)
    other = DriverChannel("127.0.0.1", lambda event: None, is_sealed=True)
    address = dataclasses.replace(channel.address, port=other.address.port)
    try:
        with pytest.raises(ssl.SSLCertVerificationError):
            TaskChannel(address, 1)
    finally:
        channel.close()
        other.close()


def test_a_caller_that_begins_to_shake_hands_and_waits_is_hung_up_on():
    channel = DriverChannel("127.0.0.1", lambda event: None, is_sealed=True, hello_within_s=0.2)
    try:
        with socket.create_connection(channel.address.place) as stranger:
            stranger.sendall(b"\x16\x03\x01\x02\x00\x01")
            stranger.settimeout(20)
            assert stranger.recv(100) == b""
    finally:
        channel.close()


@pytest.fixture
def ends():
    """Both ends of a sealed connection."""
    seal = Seal.of_a_run()
    plain = socket.socketpair()
    server = SealedSocket(plain[0], seal.server_context(), server_side=True)
    client = SealedSocket(plain[1], client_context(seal.certificate), server_side=False)
    with ThreadPoolExecutor(1) as other:
        shaken = other.submit(server.shake_hands, 10.0)
        client.shake_hands(10.0)
        shaken.result(10)
    yield server, client
    server.close()
    client.close()


def test_both_ends_read_and_write_at_the_same_time_and_nothing_is_lost_or_mixed_up(ends):
    lines = [json.dumps({"number": n, "fill": "x" * (n % 5000)}).encode() for n in range(3000)]

    def say(end, part):
        for line in lines[part::4]:
            end.sendall(line + b"\n")

    with ThreadPoolExecutor(10) as pool:
        saying = [pool.submit(say, end, part) for end in ends for part in range(4)]
        heard = [
            pool.submit(lambda r: [next(r) for _ in lines], end.makefile("rb")) for end in ends
        ]
        for one in saying:
            one.result(60 * PATIENCE)
        for one in heard:
            assert sorted(line.rstrip() for line in one.result(60 * PATIENCE)) == sorted(lines)


def test_the_end_of_the_other_side_is_the_end_of_what_is_read(ends):
    server, client = ends
    server.sendall(b"last\n")
    server.shutdown(socket.SHUT_RDWR)
    assert client.makefile("rb").readlines() == [b"last\n"]
