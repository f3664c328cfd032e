import contextlib
import http.server
import ipaddress
import socket
import threading
import time
from typing import ClassVar

import pytest

from console.frame.security.outbound import Outbound, OutboundFailed, OutboundRefused, resolve
from tests.waiting import Stalls

LOOPBACK = ipaddress.ip_network("127.0.0.0/8")


class Server(http.server.BaseHTTPRequestHandler):
    """Answers what its path asks for, and remembers who was asked for."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self):
        self.asked.append((self.headers["Host"], self.path))
        if self.path in ENDLESS:
            self.drip(*ENDLESS[self.path])
            return
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        if self.path == "/endless":
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                return
        elif self.path == "/slow":
            self.server.let_go.wait(10)
        else:
            self.wfile.write(b"hello")

    def drip(self, first: bytes, again: bytes):
        """Send something, then a little again and again: no single read waits for long."""
        try:
            self.wfile.write(first)
            while not self.server.let_go.wait(0.05):
                self.wfile.write(again)
        except OSError:
            return

    def log_message(self, *_):
        """Stay quiet."""


# What is sent at first, and what again and again.
ENDLESS = {
    "/status": (b"HTTP/1.1 200 ", b"O"),
    "/header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
    "/continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "/body": (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    "/length": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    "/chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
}


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads = True
    server.let_go = threading.Event()
    Server.asked.clear()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.let_go.set()
    server.shutdown()
    thread.join()
    server.server_close()


def guard(*addresses: str, **options) -> Outbound:
    """Make a guard that allows hooks.example; it resolves to these addresses, one after the other."""
    left = list(addresses or ("127.0.0.1",))
    values = {
        "hosts": ["hooks.example"],
        "schemes": ["http"],
        "networks": [LOOPBACK],
        "resolve": lambda host, port: [left.pop(0) if len(left) > 1 else left[0]],
        "timeout_s": 2.0,
    } | options
    return Outbound(**values)


def test_an_allowed_host_is_called_by_its_name_at_its_checked_address(server):
    port = server.server_address[1]
    answer = guard().call("GET", f"http://hooks.example:{port}/in?x=1")
    assert (answer.status, answer.body) == (200, b"hello")
    assert Server.asked == [(f"hooks.example:{port}", "/in?x=1")]


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://other.example/", id="another host"),
        pytest.param("http://hooks.example.evil.org/", id="a name that begins the same"),
        pytest.param("http://evil-hooks.example/", id="a name that ends the same"),
        pytest.param("http://hooks.example@evil.org/", id="the host as a user name"),
        pytest.param("http://user:secret@hooks.example/", id="with user and password"),
        pytest.param("https://hooks.example/", id="a scheme that is not allowed"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("gopher://hooks.example/", id="an old protocol"),
        pytest.param("//hooks.example/", id="no scheme"),
        pytest.param("http:///path", id="no host"),
        pytest.param("http://hooks.example:99999/", id="no port"),
        pytest.param("http://hooks.example/\r\nX-Injected: 1", id="a header in the path"),
        pytest.param("http://127.0.0.1/", id="an address instead of the name"),
        pytest.param("http://[::1]/", id="an IPv6 address"),
    ],
)
def test_what_is_not_allowed_is_not_even_resolved(url):
    def resolve(host, port):
        raise AssertionError(f"{host} was resolved")

    with pytest.raises(OutboundRefused) as refusal:
        guard(resolve=resolve).call("GET", url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fc00::1", "::ffff:10.0.0.1",
        "64:ff9b::10.0.0.1", "2002:0a00:0001::", "198.18.0.1", "64:ff9b:1::10.0.0.1", "64:ff9b:1::1.1.1.1",
        "::ffff:0:10.0.0.1", "::ffff:0:1.1.1.1", "::10.0.0.1", "::1.1.1.1", "2001:0:a00:1::fefe:fefe",
        "2600::5efe:10.0.0.1", "2600::200:5efe:127.0.0.1", "192.0.0.8", "192.88.99.1", "4000::1", "fec0::1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_refused(address):
    with pytest.raises(OutboundRefused, match="not public"):
        guard(address, networks=[]).check("http://hooks.example/")


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "::169.254.169.254",
        "::ffff:0:a9fe:a9fe",
        "64:ff9b:1::169.254.169.254",
        "2002:a9fe:a9fe::1",
        "2600::5efe:169.254.169.254",
        "fd20:ce::254",
    ],
)
def test_addresses_that_tell_credentials_are_never_called(address):
    everything = [ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")]
    with pytest.raises(OutboundRefused, match="never called"):
        guard(address, networks=everything).check("http://hooks.example/")


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"]
)
def test_a_public_address_is_called(address):
    assert guard(address, networks=[]).check("http://hooks.example/")[1] == address


@pytest.mark.parametrize(
    ("network", "address"),
    [
        ("10.0.0.0/8", "10.1.2.3"),
        ("10.0.0.0/8", "::ffff:10.1.2.3"),
        ("::1/128", "::1"),
        ("fd12::/16", "fd12::5"),
        ("fd12::/16", "fd12::5%eth0"),
    ],
)
def test_an_address_of_an_allowed_network_is_called(network, address):
    allowed = [ipaddress.ip_network(network)]
    assert guard(address, networks=allowed).check("http://hooks.example/")[1] == address


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "0x7f.1",
        "0",
        "[::1]",
        "[::ffff:7f00:1]",
    ],
)
def test_another_spelling_of_an_address_is_judged_as_what_the_system_calls(host):
    """Also where the settings name the host in that spelling."""
    asked = guard(hosts=[host.rstrip(".")], networks=[], resolve=resolve)
    with pytest.raises((OutboundRefused, OutboundFailed), match=r"not public|resolved"):
        asked.check(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://hooks.example/für", id="a path that is not ASCII"),
        pytest.param("http://hooks.example/?a=ü", id="a query that is not ASCII"),
        pytest.param("http://evil.org\\.hooks.example/", id="a backslash in the host"),
        pytest.param("http://[fe80::1%25eth0]/", id="a zone id"),
    ],
)
def test_what_is_no_address_of_a_web_server_is_refused(url):
    with pytest.raises(OutboundRefused, match=r"ASCII|name or a network address"):
        guard(hosts=["hooks.example", "*.hooks.example", "fe80::1%25eth0"]).call("GET", url)


def test_one_bad_address_among_good_ones_is_enough():
    with pytest.raises(OutboundRefused):
        guard(resolve=lambda host, port: ["93.184.216.34", "10.0.0.1"], networks=[]).check(
            "http://hooks.example/"
        )


def test_a_name_that_resolves_differently_the_second_time_changes_nothing(server):
    """DNS rebinding: what was checked is what is called."""
    url = f"http://hooks.example:{server.server_address[1]}/"
    rebinding = guard("127.0.0.1", "169.254.169.254")
    assert rebinding.call("GET", url).status == 200
    with pytest.raises(OutboundRefused):
        rebinding.call("GET", url)


def test_a_redirect_is_an_answer_and_not_followed(server):
    answer = guard().call("GET", f"http://hooks.example:{server.server_address[1]}/redirect")
    assert (answer.status, len(Server.asked)) == (302, 1)


def test_an_answer_without_end_is_cut(server):
    with pytest.raises(OutboundRefused, match="more than 1000000 bytes"):
        guard(largest_bytes=1_000_000, timeout_s=60).call(
            "GET", f"http://hooks.example:{server.server_address[1]}/endless"
        )


def test_an_answer_that_does_not_come_is_given_up(server):
    with pytest.raises(OutboundFailed, match=r"in time|longer than"):
        guard(timeout_s=0.3).call("GET", f"http://hooks.example:{server.server_address[1]}/slow")


@pytest.mark.parametrize("path", ENDLESS)
def test_an_answer_that_comes_a_byte_at_a_time_is_given_up_as_a_whole(server, path):
    start = time.monotonic()
    with Stalls() as stalls, pytest.raises(OutboundFailed):
        guard(timeout_s=0.5).call("GET", f"http://hooks.example:{server.server_address[1]}{path}")
    assert time.monotonic() - start < 2 + stalls.seconds


def test_a_greeting_of_tls_that_never_ends_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://hooks.example:{listener.getsockname()[1]}/"
        done = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            # A record of TLS of 16 KiB, that comes in slowly.
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"\x16\x03\x03\x40\x00")
                while not done.wait(0.05):
                    connection.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        start = time.monotonic()
        try:
            with Stalls() as stalls, pytest.raises(OutboundFailed):
                guard(schemes=["https"], timeout_s=0.5).call("GET", url)
        finally:
            done.set()
            thread.join()
        assert time.monotonic() - start < 2 + stalls.seconds


def test_nobody_there_is_said(server):
    with pytest.raises(OutboundFailed, match="did not answer"):
        guard().call("GET", "http://hooks.example:1/")


@pytest.mark.parametrize(
    ("allowed", "url", "fits"),
    [
        ("hooks.example", "http://HOOKS.example./", True),
        ("hooks.example:8443", "http://hooks.example:8443/", True),
        ("hooks.example:8443", "http://hooks.example/", False),
        ("*.example", "http://a.b.example/", True),
        ("*.example", "http://example/", False),
        ("*.example", "http://badexample/", False),
    ],
)
def test_how_hosts_are_allowed(allowed, url, fits):
    asked = guard(hosts=[allowed])
    if fits:
        asked.check(url)
    else:
        with pytest.raises(OutboundRefused):
            asked.check(url)


def test_the_guard_of_the_settings_allows_nothing_unless_it_is_set(settings):
    with pytest.raises(OutboundRefused):
        Outbound.from_settings().check("https://example.org/")
    settings.OUTBOUND_HOSTS, settings.OUTBOUND_NETWORKS = ["localhost"], ["127.0.0.0/8", "::1/128"]
    assert Outbound.from_settings().check("https://localhost/")[1] in {"127.0.0.1", "::1"}
