"""One console for a home, and one for a database: a second one would collect, clean up and act twice."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from console.frame.processes.supervisor import StartFailed

# Any number that no other program uses for an advisory lock of PostgreSQL: "crosslog" in ASCII.
_KEY = int.from_bytes(b"crosslog", "big")
_OTHER_DATABASE = "End that one first, or set DATABASE_URL to another database."


@contextmanager
def single_instance(home: Path) -> Iterator[None]:
    """Hold the home folder; raises `StartFailed` when another process holds it."""
    instead = "choose another folder with CROSSLOG_HOME."
    refused = f"crosslog already runs with the folder {home} ({{holder}}). "
    refused += "End that one first, or set CROSSLOG_HOME to another folder."
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartFailed(f"{home} cannot be written ({error.strerror}); {instead}") from None
    with _held(home / "up.lock", f"{home} cannot be written ({{reason}}); {instead}", refused):
        yield


@contextmanager
def single_instance_on_database() -> Iterator[None]:
    """Hold the database as its only console; raises `StartFailed` when another one holds it."""
    database = connections.create_connection("default")
    if database.vendor == "sqlite":
        path = Path(str(database.settings_dict["NAME"]))
        try:
            path.stat()
        except FileNotFoundError:
            pass  # It is made.
        except OSError as error:
            text = f"{path} cannot be opened ({error.strerror}). Set DATABASE_URL to another one."
            raise StartFailed(text) from None
        refused = f"Another crosslog ({{holder}}) runs with the database {path}. {_OTHER_DATABASE}"
        lock = Path(f"{os.path.realpath(path)}.up.lock")  # the same for every name of the file
        with _held(lock, f"{lock} cannot be written ({{reason}}).", refused):
            yield
        return
    try:
        _take_advisory_lock(database)
        yield
    finally:
        database.close()


@contextmanager
def _held(path: Path, unwritable: str, refused: str) -> Iterator[None]:
    """Hold a file; the kernel frees it even when this process is killed."""
    try:
        lock = path.open("a+")
    except OSError as error:
        raise StartFailed(unwritable.format(reason=error.strerror)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StartFailed(refused.format(holder=lock.read().strip())) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        yield


def _take_advisory_lock(database: BaseDatabaseWrapper) -> None:
    """Take a lock of the session, which PostgreSQL frees with the connection."""
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_KEY])
        (is_ours,) = cursor.fetchone()
    if not is_ours:
        name, host = database.settings_dict["NAME"], database.settings_dict["HOST"]
        place = f"{name} on {host or 'this machine'}"
        raise StartFailed(f"Another crosslog runs with the database {place}. {_OTHER_DATABASE}")
