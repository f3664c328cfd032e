"""The client's side of SCRAM: who knows the password proves it, and so does the server. Pure.

Source: RFC 5802 and RFC 7677 without channel binding, as in KIP-84. User names and passwords are taken
as UTF-8 without SASLprep, as Kafka does it.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64

# Fewer make guessing cheap (RFC 7677); more would keep the event loop busy for seconds.
FEWEST_ITERATIONS, MOST_ITERATIONS = 4096, 1_000_000
_NO_BINDING = "n,,"


class ScramFailed(ValueError):
    """The server's message is wrong, or proves that it does not know the password."""


class ScramClient:
    """One exchange: `first()`, `final(answer to it)`, `verify(answer to that)`.

    `hash_name` is that of hashlib; `nonce` is random, printable, without a comma, and used once.
    """

    def __init__(self, hash_name: str, user: str, password: str, nonce: str) -> None:
        self._hash = hash_name
        self._password = password.encode()
        self._nonce = nonce
        name = user.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        """Return the client's first message."""
        return (_NO_BINDING + self._first_bare).encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the client's final message; raises `ScramFailed`."""
        said = _attributes(server_first)
        nonce = said.get("r", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramFailed("the server answered to another client")
        salted = self._salted(said)
        without_proof = f"c={_text(_NO_BINDING.encode())},r={nonce}"
        signed = ",".join((self._first_bare, server_first.decode(), without_proof)).encode()
        client_key = self._mac(salted, b"Client Key")
        signature = self._mac(hashlib.new(self._hash, client_key).digest(), signed)
        self._server_signature = self._mac(self._mac(salted, b"Server Key"), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without_proof},p={_text(proof)}".encode()

    def verify(self, server_final: bytes) -> None:
        """Check that the server knows the password too; raises `ScramFailed` when it does not."""
        said = _attributes(server_final)
        if "e" in said:
            raise ScramFailed(said["e"])
        if not self._server_signature or not hmac.compare_digest(
            _binary(said.get("v", "")), self._server_signature
        ):
            raise ScramFailed("the server does not know the password: it may not be the real one")

    def _salted(self, said: dict[str, str]) -> bytes:
        iterations = int(said["i"]) if said.get("i", "").isdecimal() else 0
        if not FEWEST_ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise ScramFailed(f"the server wants {iterations} iterations")
        return hashlib.pbkdf2_hmac(
            self._hash, self._password, _binary(said.get("s", "")), iterations
        )

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash)


def _attributes(message: bytes) -> dict[str, str]:
    """Read `a=value,b=value`; a value may contain `=`."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise ScramFailed("the server's message is no text") from None
    return {name: value for name, _, value in (part.partition("=") for part in parts)}


def _text(content: bytes) -> str:
    return b64encode(content).decode()


def _binary(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise ScramFailed("the server's message is not base64") from None
