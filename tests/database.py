"""The migrated database of the tests, made once for one state of the migrations and then copied.

Migrating takes seconds, for a single test as for ten thousand. Where a copy lies in pytest's own cache it is
loaded before Django migrates, which then finds nothing to do. SQLite in memory only: PostgreSQL migrates.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import django
import pytest
from django.conf import settings
from django.db import transaction
from pytest_django import DjangoDbBlocker

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
# The name that Django gives to a test's SQLite in memory.
MEMORY = "file:memorydb_default?mode=memory&cache=shared"


@pytest.fixture(scope="session")
def kept_database(request: pytest.FixtureRequest) -> Path | None:
    """Where the migrated database is kept, there or not; None: it is not."""
    cache = getattr(request.config, "cache", None)
    if cache is None or settings.DATABASES["default"]["NAME"] != ":memory:":
        return None
    return Path(cache.mkdir("migrated")) / f"{state_of_migrations()}.sqlite3"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(kept_database: Path | None) -> Iterator[None]:
    """Load what was migrated before, where it is kept; what is in memory lives by this connection."""
    with closing(sqlite3.connect(MEMORY, uri=True)) as memory:
        if kept_database is not None and kept_database.exists():
            with closing(sqlite3.connect(kept_database)) as file:
                file.backup(memory)
        yield


@pytest.fixture(scope="session")
def alone(kept_database: Path | None) -> Iterator[Callable[[], None]]:
    """Of several workers with nothing kept, one migrates and the others wait until this is called."""
    if kept_database is None or kept_database.exists():
        yield lambda: None
        return
    with kept_database.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.close


@pytest.fixture(scope="session")
def django_db_setup(
    alone: Callable[[], None], django_db_setup: None, kept_database: Path | None
) -> None:
    """Keep what was migrated for the next time."""
    if kept_database is not None and not kept_database.exists():
        made = kept_database.with_suffix(f".{os.getpid()}")
        with (
            closing(sqlite3.connect(MEMORY, uri=True)) as memory,
            closing(sqlite3.connect(made)) as file,
        ):
            memory.backup(file)
        made.replace(kept_database)
    alone()


@pytest.fixture(scope="session")
def put_database(django_db_setup: None, kept_database: Path | None) -> Callable[[Path], None]:
    """Puts a migrated database where a program looks for its own; where none is kept, it migrates.

    That a console makes its own is what `test_up` and the demo show.
    """

    def put(path: Path) -> None:
        if kept_database is not None:
            shutil.copyfile(kept_database, path)

    return put


@pytest.fixture(scope="module")
def data_of_file(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Callable[[Callable[[], T]], T]]:
    """Calls what makes data that all tests of a file share: for fixtures of a file's scope.

    They lie in a transaction around those of the tests: what a test does to them is rolled back with it. The
    objects themselves are shared, too: hand out copies (`copy.deepcopy`).
    """
    around = transaction.atomic()

    def make(data: Callable[[], T]) -> T:
        with django_db_blocker.unblock():
            return data()

    make(around.__enter__)
    yield make
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


def state_of_migrations() -> str:
    """Return a digest of every migration and of Django's version."""
    digest = hashlib.sha256(django.__version__.encode())
    for path in sorted(ROOT.glob("console/**/migrations/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
