"""A token endpoint on this machine for OAUTHBEARER; its tokens are unsigned, as a broker takes by default."""

import base64
import contextlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from urllib.parse import parse_qs

CLIENT, SECRET = "crosslog-client", "hunter2"


class TokenServer:
    """Gives tokens to one client; `asked` are the forms that came in, `answer` replaces what it says."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lifetime_s = 300
        self.asked: list[dict[str, str]] = []
        self.answer: tuple[int, dict[str, str], bytes] | None = None

    def respond(
        self, form: dict[str, str], authorization: str
    ) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(form)
        if self.answer is not None:
            return self.answer
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != f"Basic {basic}":
            text = {"error": "invalid_client", "error_description": "this client is not known"}
            return 401, {}, json.dumps(text).encode()
        token = {"access_token": unsigned(CLIENT, self.lifetime_s), "token_type": "Bearer"}
        return 200, {}, json.dumps({**token, "expires_in": self.lifetime_s}).encode()


def unsigned(subject: str, lifetime_s: int) -> str:
    """Return a token without a signature (RFC 7519, 6)."""
    now = int(time.time())
    claims = {"sub": subject, "iat": now, "exp": now + lifetime_s, "scope": "kafka"}
    parts = ({"alg": "none"}, claims)
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts)
    return ".".join(text.rstrip("=") for text in texts) + "."


@contextlib.contextmanager
def token_server() -> Iterator[TokenServer]:
    """Run a token endpoint."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            form = {k: v[0] for k, v in parse_qs(self.rfile.read(size).decode()).items()}
            status, headers, body = found.respond(form, self.headers.get("Authorization", ""))
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = TokenServer(f"http://127.0.0.1:{server.server_port}/token")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
