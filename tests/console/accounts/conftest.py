"""The provider of sign-in tests."""

import threading

import pytest

from console.frame.rest.throttling import BUCKETS
from tests.console.accounts.oidc_provider import CLIENT, SECRET, Server


@pytest.fixture
def provider(settings):
    BUCKETS.clear()
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = server.issuer, CLIENT
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OUTBOUND_SCHEMES, settings.OUTBOUND_NETWORKS = ["http"], ["127.0.0.0/8"]
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
