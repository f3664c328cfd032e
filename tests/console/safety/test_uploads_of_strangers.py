"""Of an upload by somebody who may not send one, nothing reaches memory or disk."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.console.safety.world import make_person

pytestmark = pytest.mark.django_db

BOUNDARY = "xxxxxxxxxx"
HEAD = (
    f"--{BOUNDARY}\r\n"
    'Content-Disposition: form-data; name="file"; filename="log.tar"\r\n'
    "Content-Type: application/octet-stream\r\n\r\n"
).encode()
SIZE = 100_000_000


class Body:
    """An upload that is as long as is asked for, and counts what is read of it."""

    def __init__(self) -> None:
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        size = min(size if size >= 0 else SIZE, SIZE - self.taken)
        content = HEAD if self.taken == 0 else b""
        self.taken += size
        return content[:size] + bytes(size - len(content[:size]))

    def readline(self, size: int = -1) -> bytes:
        return self.read(min(size, 1000) if size >= 0 else 1000)


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("quorum:import", "nobody"),
        ("quorum:import", "an outsider"),
        ("replication:mirror-config", "nobody"),
        ("replication:mirror-config", "an outsider"),
        ("api-quorum-import-list", "nobody"),
    ],
)
def test_nothing_is_read_of_it(name, who):
    client = Client(enforce_csrf_checks=True)
    if who != "nobody":
        client.force_login(make_person("otto"))
    # Anybody can send a cookie of the right form, whatever is in it.
    client.cookies["crosslog_csrf"] = "x" * 32
    body = Body()
    answer = client.post(
        reverse(name),
        content_type=f"multipart/form-data; boundary={BOUNDARY}",
        **{"wsgi.input": body, "CONTENT_LENGTH": str(SIZE)},
    )
    assert answer.status_code in {302, 401, 403}
    assert body.taken == 0
