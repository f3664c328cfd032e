"""A cluster that is not there, hangs or speaks something else: a named fault, always in time."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest
from kio.schema.errors import ErrorCode

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection, SaslMechanism, SecurityProtocol
from jobs.cluster.errors import (
    ClusterFault,
    NameNotResolved,
    ProtocolMismatch,
    SecretMissing,
    SecretReplaced,
    TimedOut,
    TlsFailed,
    Unreachable,
)
from jobs.cluster.secrets import SecretRef
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import FakeBroker
from tests.jobs.cluster.protocol.transport.test_login import answered, handshake
from tests.waiting import PATIENCE, Stalls, eventually

BUDGET_S = 3.0
# The budget, the net below it, and what a busy machine adds.
IN_TIME_S = (BUDGET_S + 2.0) * PATIENCE


@pytest.fixture
def listen():
    """Start servers on free ports that treat every connection in one way; returns host:port."""
    with contextlib.ExitStack() as stack:

        def start(answer=None) -> str:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            if answer is not None:
                threading.Thread(target=_serve, args=(server, answer), daemon=True).start()
            return f"127.0.0.1:{server.getsockname()[1]}"

        yield start


def _serve(server: socket.socket, answer: bytes) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                connection.sendall(answer)


@pytest.fixture
def dead_port(listen) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def fault_of(servers: str, **settings) -> ClusterFault:
    values = {"alias": "east", "bootstrap_servers": servers} | settings
    connection = Connection.from_mapping(values)
    began = time.monotonic()
    with (
        ClusterClient(connection, timeout_s=BUDGET_S) as client,
        pytest.raises(ClusterFault) as caught,
    ):
        describe_cluster(client)
    assert time.monotonic() - began < IN_TIME_S
    return caught.value


def test_a_dead_port_is_unreachable(dead_port):
    fault = fault_of(dead_port)
    assert type(fault) is Unreachable
    assert dead_port in fault.message
    assert fault.field == "bootstrap_servers"


def test_a_name_that_dns_does_not_know_is_named():
    fault = fault_of("no-such-host.invalid:9092")
    assert type(fault) is NameNotResolved
    assert "no-such-host.invalid" in fault.message


def test_a_server_that_never_answers_is_given_up_in_time(listen):
    fault = fault_of(listen())
    assert type(fault) is TimedOut
    assert "did not answer within" in fault.message


def test_a_server_that_never_answers_tls_is_given_up_in_time(listen):
    assert type(fault_of(listen(), security_protocol="SSL")) is TimedOut


def test_tls_to_a_server_without_tls_fails_at_the_security_protocol(listen):
    fault = fault_of(listen(b"HTTP/1.1 400 Bad Request\r\n\r\n"), security_protocol="SSL")
    assert type(fault) is TlsFailed
    assert fault.field == "security_protocol"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", id="another-protocol"),
        pytest.param(b"", id="closes-at-once"),
        pytest.param(b"\x15\x03\x03\x00\x02\x02\x46", id="a-tls-alert"),
    ],
)
def test_a_server_that_does_not_speak_kafka_is_a_protocol_mismatch(listen, answer):
    fault = fault_of(listen(answer))
    assert type(fault) is ProtocolMismatch
    assert fault.field == "security_protocol"


def test_the_fault_of_the_live_part_of_a_bootstrap_list_is_told(listen, dead_port):
    assert isinstance(fault_of(f"{dead_port},{listen()}"), Unreachable | TimedOut)


def test_every_question_ends_in_time_not_only_the_first(listen):
    connection = Connection("east", listen())
    with ClusterClient(connection, timeout_s=1.5) as client:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(TimedOut):
                describe_topics(client)
            assert time.monotonic() - began < IN_TIME_S


def test_closing_does_not_wait_for_a_server_that_hangs(listen):
    client = ClusterClient(Connection("east", listen()), timeout_s=1.0)
    with pytest.raises(TimedOut):
        describe_cluster(client)
    began = time.monotonic()
    with Stalls() as stalls:
        client.close()
    assert time.monotonic() - began < 1.0 + stalls.seconds


def test_a_secret_that_is_not_there_is_told_at_its_field():
    fault = fault_of("127.0.0.1:9", security_protocol="SSL", ssl_ca="env:CROSSLOG_SECRET_NONE")
    assert type(fault) is SecretMissing
    assert fault.field == "ssl_ca"


@pytest.mark.parametrize("field", ["ssl_ca", "ssl_key"])
def test_a_file_that_is_no_certificate_is_told_without_its_content(monkeypatch, field):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2-is-not-a-certificate")
    settings = {field: "env:CROSSLOG_SECRET_X"}
    if field == "ssl_key":
        settings["ssl_certificate"] = "env:CROSSLOG_SECRET_X"
    fault = fault_of("127.0.0.1:9", security_protocol="SSL", **settings)
    assert type(fault) is TlsFailed
    assert fault.field.startswith("ssl_")
    assert "hunter2" not in str(fault)


def test_neither_client_nor_connection_show_a_secret(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2")
    connection = Connection.from_mapping(
        {
            "alias": "east",
            "bootstrap_servers": "127.0.0.1:9",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_username": "crosslog",
            "sasl_password": "env:CROSSLOG_SECRET_X",
        }
    )
    assert "hunter2" not in repr(connection) + repr(ClusterClient(connection))


def test_the_client_library_writes_nothing_to_stderr(dead_port, capfd):
    fault_of(dead_port)
    assert capfd.readouterr().err == ""


def test_a_consumer_that_meets_a_dead_port_leaves_its_fault(dead_port):
    with ClusterClient(Connection("east", dead_port)) as client:
        consumer = client.consumer({})
        end = time.monotonic() + IN_TIME_S
        while client.fault() is None and time.monotonic() < end:
            consumer.poll(0.05)
        consumer.close()
        assert isinstance(client.fault(), Unreachable)


def test_a_client_that_asks_nothing_connects_to_nothing():
    ClusterClient(Connection("east", "no-such-host.invalid:9092")).close()


async def test_a_consumer_with_a_secret_that_was_replaced_leaves_its_fault(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter1")
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = lambda asked: answered(
            error=ErrorCode.none
            if asked.message.auth_bytes == b"\0ada\0hunter2"
            else ErrorCode.sasl_authentication_failed
        )
        connection = Connection(
            "east",
            f"127.0.0.1:{broker.port}",
            SecurityProtocol.SASL_PLAINTEXT,
            sasl_mechanism=SaslMechanism.PLAIN,
            sasl_username="ada",
            sasl_password=SecretRef("env", "CROSSLOG_SECRET_X"),
        )
        with ClusterClient(connection) as client:
            consumer = client.consumer({})
            monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2")

            def is_told() -> bool:
                consumer.poll(0)
                return isinstance(client.fault(), SecretReplaced)

            await asyncio.to_thread(eventually, is_told)
            await asyncio.to_thread(consumer.close)
