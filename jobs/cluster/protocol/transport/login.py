"""SASL on a connection: SaslHandshake, then the messages of the mechanism in SaslAuthenticate."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest
from kio.schema.sasl_authenticate.v2.response import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.sasl_handshake.v1.response import SaslHandshakeResponse

from jobs.cluster.errors import AuthenticationFailed, ClusterFault, ProtocolMismatch
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE, Api
from jobs.cluster.protocol.transport.primitives import milliseconds
from jobs.cluster.protocol.transport.scram import ScramClient, ScramFailed
from jobs.cluster.protocol.transport.security import Credentials
from jobs.cluster.protocol.transport.transport_faults import Server
from jobs.cluster.untrusted_text import register_secret, shortened

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_NONCE_BYTES = 24


class Asks(Protocol):
    """The part of a connection that a login needs."""

    @property
    def cluster(self) -> str:
        """The alias of the cluster."""

    @property
    def server(self) -> Server:
        """Whom the connection leads to."""

    async def request(self, api: Api[_Request, _Answer], request: _Request, /) -> _Answer: ...


async def log_in(asks: Asks, credentials: Credentials) -> int:
    """Authenticate a new connection; returns how long the session may last, in ms (0: for ever).

    Raises `AuthenticationFailed`, `ProtocolMismatch` and the connection's faults.
    KIP-43, KIP-152, KIP-368.
    """
    register_secret(credentials.password)
    exchange = _EXCHANGES[credentials.mechanism]
    await _agree(asks, credentials.mechanism)
    return await exchange(asks, credentials)


async def _agree(asks: Asks, mechanism: str) -> None:
    answer: SaslHandshakeResponse = await asks.request(
        SASL_HANDSHAKE, SaslHandshakeRequest(mechanism=mechanism)
    )
    if answer.error_code is ErrorCode.unsupported_sasl_mechanism:
        offered = shortened(", ".join(answer.mechanisms)) or "none"
        raise AuthenticationFailed(
            f"{asks.server} does not offer {mechanism} (it offers: {offered}).",
            cluster=asks.cluster,
            hint="Choose a mechanism that is in sasl.enabled.mechanisms of the listener.",
            field="sasl_mechanism",
        )
    if answer.error_code is ErrorCode.illegal_sasl_state:
        raise ProtocolMismatch(
            f"{asks.server} answers, but does not ask for SASL authentication.",
            cluster=asks.cluster,
            hint="Choose the security protocol without SASL, or the port of the SASL listener.",
        )
    fault = answer_fault(answer.error_code, _where(asks))
    if fault is not None:
        raise fault


async def _plain(asks: Asks, credentials: Credentials) -> int:
    """RFC 4616."""
    answer = await _say(asks, f"\0{credentials.user}\0{credentials.password}".encode())
    return milliseconds(answer.session_lifetime)


async def _scram(asks: Asks, credentials: Credentials) -> int:
    client = ScramClient(
        _HASHES[credentials.mechanism],
        credentials.user,
        credentials.password,
        secrets.token_urlsafe(_NONCE_BYTES),
    )
    try:
        first = await _say(asks, client.first())
        last = await _say(asks, client.final(first.auth_bytes))
        client.verify(last.auth_bytes)
    except ScramFailed as error:
        raise _refused(asks, str(error)) from None
    return milliseconds(last.session_lifetime)


async def _token(asks: Asks, credentials: Credentials) -> int:
    """RFC 7628, KIP-255: a refusal is a challenge, and the broker's error comes after one more message."""
    if credentials.tokens is None:
        raise _refused(asks, "there is no token endpoint")
    token = await credentials.tokens.token()
    answer = await _say(asks, f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    if answer.auth_bytes:
        await _say(asks, b"\x01")
        raise _refused(asks, answer.auth_bytes.decode(errors="replace"))
    return milliseconds(answer.session_lifetime)


_EXCHANGES: dict[str, Callable[[Asks, Credentials], Awaitable[int]]] = {
    "PLAIN": _plain,
    "OAUTHBEARER": _token,
    **dict.fromkeys(_HASHES, _scram),
}


async def _say(asks: Asks, message: bytes) -> SaslAuthenticateResponse:
    answer = await asks.request(SASL_AUTHENTICATE, SaslAuthenticateRequest(auth_bytes=message))
    if answer.error_code is ErrorCode.sasl_authentication_failed:
        raise _refused(asks, answer.error_message or "no reason given")
    fault = answer_fault(answer.error_code, _where(asks), answer.error_message)
    if fault is not None:
        raise fault
    return answer


def _refused(asks: Asks, reason: str) -> ClusterFault:
    return AuthenticationFailed(
        f"{asks.server} refused the user name, secret or token ({shortened(reason)}).",
        cluster=asks.cluster,
    )


def _where(asks: Asks) -> Where:
    return Where(asks.cluster, asks.server.broker_id, "Authenticating")
