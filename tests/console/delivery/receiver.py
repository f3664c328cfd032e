"""A receiver of webhooks on this machine; it checks signatures by the library of Standard Webhooks."""

import base64
import http.server
import json
import threading
from datetime import UTC, datetime

from standardwebhooks import Webhook


class Receiver:
    """Answers POST with `status` and `answer`; keeps (headers, raw body).

    The next answers are those of `first`, if it has any: a status, or None for a call that hangs until the
    end. `taken` has what was answered with 2xx.
    """

    def __init__(self):
        self.status, self.answer = 200, b""
        self.first, self.over = [], threading.Event()
        self.got, self.taken = [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                status = receiver.first.pop(0) if receiver.first else receiver.status
                if status is None:
                    receiver.over.wait()
                    return
                if status // 100 == 2:
                    receiver.taken.append((dict(self.headers), body))
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1/elsewhere")
                self.end_headers()
                self.wfile.write(receiver.answer)

            def log_message(self, *_):
                """Stay quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}/in?token=abc"

    @property
    def body(self):
        return json.loads(self.got[-1][1])

    def is_signed(self, key):
        """Whether the last call was signed with this key."""
        headers, body = self.got[-1]
        at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
        secret = key if key.startswith("whsec_") else base64.b64encode(key.encode()).decode()
        expected = Webhook(secret).sign(headers["webhook-id"], at, body.decode())
        return headers["webhook-signature"] == expected

    def end(self):
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
