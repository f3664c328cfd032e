"""A mail server, a receiver of webhooks and a folder, for tests of deliveries."""

import contextlib
import socket
import threading

import pytest

from tests.console.delivery.mail_server import MailServers
from tests.console.delivery.receiver import Receiver


@pytest.fixture(autouse=True)
def home(settings, tmp_path):
    settings.CROSSLOG_HOME = tmp_path / "home"
    return settings.CROSSLOG_HOME


@pytest.fixture
def mail_servers(settings):
    servers = MailServers(settings)
    yield servers
    servers.end()


@pytest.fixture
def mailbox(mail_servers):
    return mail_servers.start()


@pytest.fixture
def receiver(settings):
    receiver = Receiver()
    settings.WEBHOOK_KEY = "a key of twenty letters"
    settings.OUTBOUND_SCHEMES, settings.OUTBOUND_HOSTS = ["http"], ["127.0.0.1"]
    settings.OUTBOUND_NETWORKS = ["127.0.0.0/8"]
    yield receiver
    receiver.end()


@pytest.fixture
def folder(settings, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    settings.REPORT_FOLDER = str(folder)
    return folder


@pytest.fixture
def silent(mail_servers, settings):
    """A mail server that takes connections and says a letter now and then, never a whole line."""
    settings.EMAIL_TIMEOUT = 0.3
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings.EMAIL_PORT = server.getsockname()[1]
        over, held = threading.Event(), []

        def drip():
            server.settimeout(0.05)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    held.append(server.accept()[0])
                for one in held:
                    try:
                        one.sendall(b"2")
                    except OSError:
                        continue

        thread = threading.Thread(target=drip)
        thread.start()
        yield held
        over.set()
        thread.join()
        for one in held:
            one.close()
