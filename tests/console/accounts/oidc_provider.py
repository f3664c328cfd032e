"""An OpenID provider that tests run themselves: real HTTP, real keys, unfriendly on demand."""

import base64
import hashlib
import http.server
import json
import time
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)
OTHER = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)
CLIENT, SECRET = "crosslog", "planted-client-secret"


class Provider(http.server.BaseHTTPRequestHandler):
    """A small OpenID provider; `claims`, `key` and the like are what a test makes of it."""

    def do_GET(self):
        if self.path in self.server.instead:
            self.server.instead[self.path](self)
        elif self.path == "/.well-known/openid-configuration":
            self.answer(self.server.description())
        elif self.path == "/jwks":
            self.answer({"keys": [KEY.as_dict(private=False)]})
        else:
            self.send_error(404)

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        form = {k: v[0] for k, v in parse_qs(self.rfile.read(length).decode()).items()}
        self.server.forms.append(form)
        if self.path in self.server.instead:
            self.server.instead[self.path](self)
            return
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        sent = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        if sent != self.server.challenge or form.get("code") != "the-code":
            self.answer({"error": "invalid_grant"}, 400)
            return
        token = {"access_token": "opaque", "token_type": "Bearer", "expires_in": 60}
        self.answer(
            token | ({"id_token": self.server.id_token()} if self.server.has_id_token else {})
        )

    def answer(self, document, status=200):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Stay quiet."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Provider)
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.claims, self.metadata, self.header = {}, {}, {}
        self.key, self.has_id_token, self.algorithm = KEY, True, "RS256"
        self.instead = {}
        self.forms, self.challenge, self.nonce = [], "", ""

    def description(self):
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        } | self.metadata

    def id_token(self):
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "4711",
            "aud": CLIENT,
            "exp": now + 60,
            "iat": now,
            "nonce": self.nonce,
            "preferred_username": "eva",
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": "one"} | self.header
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


def go_there(client, provider, target="/account/tokens/") -> dict[str, str]:
    """Begin a sign-in; return the browser's request to the provider."""
    answer = client.get(f"/login/oidc/?next={target}")
    assert answer.status_code == 302, answer
    asked = {k: v[0] for k, v in parse_qs(urlsplit(answer["Location"]).query).items()}
    provider.challenge, provider.nonce = asked["code_challenge"], asked["nonce"]
    return asked


def come_back(client, asked, **changes):
    return client.get("/login/oidc/back/", {"code": "the-code", "state": asked["state"]} | changes)


def is_signed_in(client) -> bool:
    return "_auth_user_id" in client.session
