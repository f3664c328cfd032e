"""The console's tests once more on PostgreSQL, where its server programs are installed."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.times import TO_FILE
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
# The rooms that keep state; the frame and the API around them have no queries of their own.
ROOMS = ("accounts", "clusters", "quorum", "replication", "runs", "schedules")
# What writes many rows at once, locks them, and is append-only.
FEW = (
    "accounts/test_audit.py",
    "clusters/collection",
    "replication/flows",
    "runs",
    "schedules/test_firing.py",
    "test_migrations.py",
)


def as_nobody() -> dict[str, object]:
    """PostgreSQL refuses to run as root; `nobody` exists everywhere."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid}


@pytest.fixture
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of this test's own, on a socket in its folder and a free port."""
    debian = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    places = os.pathsep.join([os.environ["PATH"], *debian])
    programs = [shutil.which(name, path=places) for name in ("initdb", "postgres")]
    if None in programs:
        pytest.skip(
            "there is no PostgreSQL server: install one (Debian: apt-get install postgresql)"
        )
    initdb, postgres = programs
    folder = Path("/tmp") / f"crosslog-pg-{os.getpid()}"  # short: a socket's path has a limit
    folder.mkdir()
    who = as_nobody()
    if who:
        os.chown(folder, who["user"], who["group"])
    data = folder / "data"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = subprocess.run(
        [initdb, "-D", data, "-U", "crosslog", "-A", "trust", "-E", "UTF8", "--no-sync"],
        cwd=folder, check=False, capture_output=True, text=True, **who,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    options = ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"]
    server = subprocess.Popen(
        [postgres, "-D", data, "-k", folder, "-p", str(port), *options],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who,
    )  # fmt: skip
    try:
        # The socket is there before the server answers at it.
        status = data / "postmaster.pid"
        eventually(lambda: status.exists() and "ready" in status.read_text(), 60)
        yield f"postgresql://crosslog@127.0.0.1:{port}/postgres"
    finally:
        server.terminate()
        server.wait(30 * PATIENCE)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.timeout(2700)
@pytest.mark.parametrize(
    "rooms",
    [
        pytest.param(FEW, id="writing and locking"),
        pytest.param(ROOMS, id="every room", marks=pytest.mark.campaign("postgresql")),
    ],
)
def test_the_console_works_on_postgresql_as_on_sqlite(database_url, rooms):
    command = [sys.executable, "-m", "pytest", *(f"tests/console/{room}" for room in rooms), "-q"]
    environment = {**os.environ, "TEST_DATABASE_URL": database_url}
    environment.pop(TO_FILE, None)
    run = subprocess.run(
        [*command, "-p", "no:cacheprovider"], cwd=ROOT, env=environment, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-4000:]
    # Proof that it was not SQLite again.
    assert "passed" in run.stdout
    assert "postgresql" in environment["TEST_DATABASE_URL"]
