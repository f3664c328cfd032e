"""Writes that wait for a database only briefly: what a read writes beside it must not cost the read.

Source: SQLite's busy_timeout, PostgreSQL's lock_timeout.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, transaction

logger = logging.getLogger(__name__)

WAIT_MS = 300


@contextmanager
def brief_write(wait_ms: int = WAIT_MS) -> Iterator[None]:
    """A transaction that waits at most so long for other writers; raises `OperationalError`."""
    if connection.vendor != "sqlite":
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{wait_ms}ms"])
            yield
        return
    _wait_at_most(wait_ms)
    try:
        with transaction.atomic():
            yield
    finally:
        _wait_at_most(settings.DATABASES[DEFAULT_DB_ALIAS]["OPTIONS"]["timeout"] * 1000)


def write_or_leave(what: str, write: Callable[[], object]) -> None:
    """Do what may be left out: while the database takes no writes, it is logged and passed by."""
    try:
        with brief_write():
            write()
    except OperationalError as error:
        logger.warning("not written for now: %s (%s)", what, error)


def _wait_at_most(wait_ms: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(wait_ms)}")
