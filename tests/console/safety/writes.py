"""What a request writes to the database, read from the statements that it sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WRITE = re.compile(r'\s*(?:INSERT INTO|REPLACE INTO|UPDATE|DELETE FROM) "?(\w+)"?', re.IGNORECASE)
# When a session was last used is noted now and then, whatever is asked.
_NOTES = {"django_session"}


@contextmanager
def noting_writes(connection: Any) -> Iterator[list[str]]:
    """Give the names of the tables that are written meanwhile."""
    tables: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = _WRITE.match(sql)
        if found is not None and found[1] not in _NOTES:
            tables.append(found[1])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield tables
