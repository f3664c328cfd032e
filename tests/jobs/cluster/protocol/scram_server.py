"""The server's side of SCRAM (RFC 5802), written apart from the client's."""

import base64
import hashlib
import hmac

ITERATIONS = 4096
SALT = b"a salt of a test"


class ScramServer:
    """Answers two messages; `is_convinced` when the client proved that it knows the password.

    `signature` replaces the true last message: a server that does not know the password.
    """

    def __init__(self, hash_name: str, password: str, signature: bytes | None = None) -> None:
        self.hash_name = hash_name
        self.salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), SALT, ITERATIONS)
        self.signature = signature
        self.is_convinced = False
        self.said: list[bytes] = []

    def answer(self, message: bytes) -> bytes:
        self.said.append(message)
        if len(self.said) == 1:
            nonce = message.split(b",r=")[1] + b"-and-ours"
            salt = base64.b64encode(SALT)
            self.said.append(b"r=%s,s=%s,i=%d" % (nonce, salt, ITERATIONS))
            return self.said[1]
        return self._check(message)

    def _check(self, final: bytes) -> bytes:
        without_proof, _, proof = final.rpartition(b",p=")
        signed = b",".join((self.said[0].removeprefix(b"n,,"), self.said[1], without_proof))
        client_key = self._mac(self.salted, b"Client Key")
        stored = hashlib.new(self.hash_name, client_key).digest()
        expected = bytes(a ^ b for a, b in zip(client_key, self._mac(stored, signed), strict=True))
        self.is_convinced = base64.b64decode(proof) == expected
        server_key = self._mac(self.salted, b"Server Key")
        own = b"v=" + base64.b64encode(self._mac(server_key, signed))
        return self.signature or own

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self.hash_name).digest()
