"""SASL on a connection: who gets in, who does not and why, and sessions that end."""

import base64
from dataclasses import replace
from datetime import timedelta

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from jobs.cluster.connection import SaslMechanism, SecurityProtocol
from jobs.cluster.errors import (
    AuthenticationFailed,
    ClusterFault,
    ProtocolMismatch,
    SecretMissing,
)
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.security import Credentials, Security, TokenSource
from jobs.cluster.secrets import SecretRef
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import PATIENT, FakeBroker
from tests.jobs.cluster.protocol.fake_cluster import cluster_of
from tests.jobs.cluster.protocol.scram_server import ScramServer
from tests.token_server import CLIENT, SECRET, token_server


def answered(content=b"", error=ErrorCode.none, message=None, lifetime_ms=0):
    return SaslAuthenticateResponse(
        error_code=error,
        error_message=message,
        auth_bytes=content,
        session_lifetime=timedelta(milliseconds=lifetime_ms),
    )


def handshake(error=ErrorCode.none, mechanisms=("PLAIN",)):
    return SaslHandshakeResponse(error_code=error, mechanisms=mechanisms)


async def log_in(broker, mechanism="PLAIN", tokens=None, **settings) -> BrokerConnection:
    security = Security(credentials=Credentials(mechanism, "ada", "hunter2", tokens))
    options = broker.options(security=security, **settings)
    return await BrokerConnection.open(broker.server, options)


async def fault_of(broker, mechanism="PLAIN") -> ClusterFault:
    with pytest.raises(ClusterFault) as caught:
        await log_in(broker, mechanism)
    assert "hunter2" not in str(caught.value)
    return caught.value


async def test_plain_sends_user_and_password():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered()
        (await log_in(broker)).close()
        assert broker.of(fake_broker.SASL_AUTHENTICATE)[0].auth_bytes == b"\0ada\0hunter2"


@pytest.mark.parametrize(
    ("mechanism", "hash_name"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")]
)
async def test_scram_proves_both_sides(mechanism, hash_name):
    async with FakeBroker() as broker:
        server = ScramServer(hash_name, "hunter2")
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = lambda asked: answered(
            server.answer(asked.message.auth_bytes)
        )
        (await log_in(broker, mechanism)).close()
        assert server.is_convinced


async def test_a_broker_that_does_not_know_the_password_is_not_trusted():
    async with FakeBroker() as broker:
        server = ScramServer("sha256", "hunter2", signature=b"v=AAAA")
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = lambda asked: answered(
            server.answer(asked.message.auth_bytes)
        )
        fault = await fault_of(broker, "SCRAM-SHA-256")
        assert type(fault) is AuthenticationFailed
        assert "may not be the real one" in fault.message


async def test_a_refused_password_is_told_with_the_brokers_words():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered(
            error=ErrorCode.sasl_authentication_failed, message="Invalid credentials"
        )
        fault = await fault_of(broker)
        assert type(fault) is AuthenticationFailed
        assert "Invalid credentials" in fault.message
        assert fault.field == "sasl_password"


@pytest.mark.parametrize("error", [ErrorCode.sasl_authentication_failed, ErrorCode.invalid_request])
async def test_a_broker_that_repeats_the_password_is_not_quoted(error):
    said = f"no: hunter2, {base64.b64encode(b'_ada_hunter2').decode()}\n{'x' * 999}"
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered(error=error, message=said)
        fault = await fault_of(broker)
    assert "aHVudGVyMg" not in fault.message
    assert "\n" not in fault.message
    assert len(fault.message) < 400


async def test_a_mechanism_that_the_broker_does_not_offer_is_told_with_those_it_does():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake(
            ErrorCode.unsupported_sasl_mechanism, ("GSSAPI", "PLAIN")
        )
        fault = await fault_of(broker, "SCRAM-SHA-256")
        assert type(fault) is AuthenticationFailed
        assert "GSSAPI, PLAIN" in fault.message
        assert fault.field == "sasl_mechanism"


async def test_a_listener_without_sasl_is_a_protocol_mismatch():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake(ErrorCode.illegal_sasl_state)
        assert type(await fault_of(broker)) is ProtocolMismatch


@pytest.fixture
def tokens():
    with token_server() as server:
        yield TokenSource("east", server.url, CLIENT, SECRET)


async def test_a_token_is_sent_as_its_mechanism_says(tokens):
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake(mechanisms=("OAUTHBEARER",))
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered()
        (await log_in(broker, "OAUTHBEARER", tokens=tokens)).close()
        (sent,) = broker.of(fake_broker.SASL_AUTHENTICATE)
        token = await tokens.token()
        assert sent.auth_bytes == f"n,,\1auth=Bearer {token}\1\1".encode()


async def test_a_refused_token_is_told_with_the_brokers_words(tokens):
    answers = iter(
        [
            answered(b'{"status":"invalid_token"}'),
            answered(error=ErrorCode.sasl_authentication_failed, message="it expired"),
        ]
    )
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake(mechanisms=("OAUTHBEARER",))
        broker.answers[fake_broker.SASL_AUTHENTICATE] = lambda _: next(answers)
        with pytest.raises(AuthenticationFailed, match="it expired"):
            await log_in(broker, "OAUTHBEARER", tokens=tokens)
        assert broker.of(fake_broker.SASL_AUTHENTICATE)[1].auth_bytes == b"\1"


async def test_a_session_is_not_used_up_to_its_end():
    now = [1000.0]
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered(lifetime_ms=60_000)
        timing = replace(PATIENT, clock=lambda: now[0], chance=lambda: 0.5)
        connection = await log_in(broker, timing=timing)
        now[0] += 53.9
        assert connection.is_usable
        now[0] += 0.2
        assert not connection.is_usable
        connection.close()


async def test_a_session_without_a_lifetime_lasts():
    now = [1000.0]
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered()
        connection = await log_in(broker, timing=replace(PATIENT, clock=lambda: now[0]))
        now[0] += 1e9
        assert connection.is_usable
        connection.close()


async def test_a_password_that_was_corrected_is_used_by_the_same_door(monkeypatch):
    monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter1")
    async with FakeBroker() as broker:
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = lambda asked: answered(
            error=ErrorCode.none
            if asked.message.auth_bytes == b"\0ada\0hunter2"
            else ErrorCode.sasl_authentication_failed
        )
        settings = {
            "security_protocol": SecurityProtocol.SASL_PLAINTEXT,
            "sasl_mechanism": SaslMechanism.PLAIN,
            "sasl_username": "ada",
            "sasl_password": SecretRef("env", "CROSSLOG_SECRET_X"),
        }
        async with cluster_of(broker, **settings) as cluster:
            with pytest.raises(AuthenticationFailed):
                await cluster.metadata()
            monkeypatch.delenv("CROSSLOG_SECRET_X")
            with pytest.raises(SecretMissing):
                await cluster.metadata()
            monkeypatch.setenv("CROSSLOG_SECRET_X", "hunter2")
            assert (await cluster.metadata()).brokers
