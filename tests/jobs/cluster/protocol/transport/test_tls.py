"""TLS on a connection: what fits goes through whole, what does not is named."""

import asyncio
import datetime as dt
import ssl
from dataclasses import replace

import pytest

from jobs.cluster.connection import Connection, SecurityProtocol
from jobs.cluster.errors import Remedy, TimedOut, TlsFailed
from jobs.cluster.protocol.metadata import metadata_request
from jobs.cluster.protocol.transport.apis import METADATA
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.security import security_of
from jobs.cluster.protocol.transport.transport_faults import Server, tls_fault
from jobs.cluster.secrets import SecretRef
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.certificates import Authority
from tests.jobs.cluster.protocol.fake_broker import PATIENT, FakeBroker, Hang
from tests.waiting import eventually_async

AUTHORITY = Authority()


@pytest.fixture
def trusting(monkeypatch):
    """What a client needs that trusts the authority."""
    monkeypatch.setenv("CROSSLOG_SECRET_CA", AUTHORITY.pem)
    return security_of(
        Connection(
            "east",
            "127.0.0.1:9",
            SecurityProtocol.SSL,
            ssl_ca=SecretRef("env", "CROSSLOG_SECRET_CA"),
        )
    )


async def fault_of(server, options) -> TlsFailed:
    with pytest.raises(TlsFailed) as caught:
        await BrokerConnection.open(server, options)
    return caught.value


async def test_large_requests_and_answers_arrive_whole(trusting, tmp_path):
    async with FakeBroker(tls=AUTHORITY.server(tmp_path)) as broker:
        connection = await BrokerConnection.open(broker.server, broker.options(security=trusting))
        name = "x" * 10_000_000
        broker.answers[fake_broker.METADATA] = lambda _: replace(broker.metadata(), cluster_id=name)
        asked = [metadata_request([f"{turn}-{n:0200}" for n in range(8000)]) for turn in range(3)]
        answers = await asyncio.gather(*(connection.request(METADATA, one) for one in asked))
        assert {answer.cluster_id for answer in answers} == {name}
        got = broker.of(fake_broker.METADATA)
        assert [[t.name for t in m.topics] for m in got] == [
            [t.name for t in m.topics] for m in asked
        ]
        connection.close()
        await eventually_async(lambda: broker.open == 0)


async def test_an_authority_that_is_not_ours_is_not_trusted(trusting, tmp_path):
    async with FakeBroker(tls=Authority().server(tmp_path)) as broker:
        fault = await fault_of(broker.server, broker.options(security=trusting))
        assert (fault.field, fault.remedy) == ("ssl_ca", Remedy.DOUBTFUL)


async def test_a_certificate_for_another_name_is_told(trusting, tmp_path):
    async with FakeBroker(tls=AUTHORITY.server(tmp_path, "another.example")) as broker:
        fault = await fault_of(broker.server, broker.options(security=trusting))
        assert fault.field == "bootstrap_servers"
        assert "another name" in fault.message
        assert fault.remedy is Remedy.DOUBTFUL


async def test_an_expired_certificate_is_told(trusting, tmp_path):
    yesterday = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    async with FakeBroker(tls=AUTHORITY.server(tmp_path, ends=yesterday)) as broker:
        fault = await fault_of(broker.server, broker.options(security=trusting))
        assert "not valid now" in fault.message
        assert fault.remedy is Remedy.OPERATOR


@pytest.mark.parametrize(
    "alert",
    [
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "TLSV1_ALERT_UNKNOWN_CA",
    ],
)
def test_a_client_certificate_that_is_refused_waits_for_a_person(alert):
    error = ssl.SSLError(1, f"[SSL: {alert}] (_ssl.c:1)")
    error.reason = alert
    fault = tls_fault(error, Server("127.0.0.1", 9), "east")
    assert (fault.field, fault.remedy) == ("ssl_certificate", Remedy.OPERATOR)


async def test_a_port_without_tls_is_told(trusting):
    async with FakeBroker() as broker:
        broker.answers[fake_broker.API_VERSIONS] = Hang

        async def speak(_, writer):
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        server = await asyncio.start_server(speak, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        fault = await fault_of(broker.server._replace(port=port), broker.options(security=trusting))
        server.close()
        assert "does not speak TLS" in fault.message
        assert fault.field == "security_protocol"


async def test_a_port_that_never_shakes_hands_is_given_up_in_time(trusting):
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with FakeBroker() as broker:
        server = broker.server._replace(port=silent.sockets[0].getsockname()[1])
        timing = replace(PATIENT, connect_timeout_s=0.3)
        with pytest.raises(TimedOut, match="did not finish the connection"):
            await BrokerConnection.open(server, broker.options(security=trusting, timing=timing))
    silent.close()
