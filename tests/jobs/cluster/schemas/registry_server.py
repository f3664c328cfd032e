"""A schema registry on this machine: the documented routes, requests counted, faults on demand."""

import contextlib
import json
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

USER, PASSWORD = "reader", "pelargonium:9"


class RegistryServer:
    """Schemas by id and by subject; `serialized` texts are those of `?format=serialized`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.schemas: dict[int, dict[str, Any]] = {}
        self.serialized: dict[int, str] = {}
        self.subjects: dict[tuple[str, int], int] = {}
        self.requests: list[str] = []
        self.needs_sign_in = False
        self.faults: dict[int, tuple[int, bytes]] = {}
        # A request waits for it.
        self.open = threading.Event()
        self.open.set()

    def add(
        self,
        text: str,
        kind: str = "AVRO",
        subject: str = "s",
        references: dict[str, str] | None = None,
        serialized: str = "",
    ) -> int:
        """Register a schema as version 1 of its subject; references are subjects by name."""
        schema_id = len(self.schemas) + 1
        used = [{"name": k, "subject": v, "version": 1} for k, v in (references or {}).items()]
        schema: dict[str, Any] = {"schema": text, **({"references": used} if used else {})}
        # A registry leaves the default type out.
        self.schemas[schema_id] = schema if kind == "AVRO" else {**schema, "schemaType": kind}
        self.serialized[schema_id] = serialized
        self.subjects[subject, 1] = schema_id
        return schema_id

    def respond(self, path: str, authorization: str) -> tuple[int, bytes]:
        self.requests.append(path)
        self.open.wait(20)
        given = b64decode(authorization.removeprefix("Basic ")).decode()
        if self.needs_sign_in and given != f"{USER}:{PASSWORD}":
            return 401, b'{"error_code": 401, "message": "Unauthorized"}'
        parts = urlsplit(path)
        form = parse_qs(parts.query).get("format", [""])[0]
        match parts.path.strip("/").split("/"):
            case ["schemas", "ids", number]:
                return self._schema(int(number), form, {}, 40403)
            case ["subjects", subject, "versions", version]:
                schema_id = self.subjects.get((subject, int(version)), 0)
                more = {"subject": subject, "version": int(version), "id": schema_id}
                return self._schema(schema_id, form, more, 40401)
        return 404, b"<html>no such page</html>"

    def _schema(
        self, schema_id: int, form: str, more: dict[str, Any], code: int
    ) -> tuple[int, bytes]:
        if schema_id in self.faults:
            return self.faults[schema_id]
        if schema_id not in self.schemas:
            return 404, json.dumps({"error_code": code, "message": "not found"}).encode()
        found = {**more, **self.schemas[schema_id]}
        if form == "serialized":
            found["schema"] = self.serialized[schema_id]
        return 200, json.dumps(found).encode()


@contextlib.contextmanager
def registry_server() -> Iterator[RegistryServer]:
    """Run a registry."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = found.respond(self.path, self.headers.get("Authorization", ""))
            with contextlib.suppress(BrokenPipeError):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = RegistryServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.open.set()
        server.shutdown()
        server.server_close()
        thread.join()
