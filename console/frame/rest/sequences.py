"""Pages of what no database holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework.pagination import Cursor
from rest_framework.request import Request

from console.frame.rest.api import Pagination

# Far behind the end of every sequence: a page there is empty.
_LAST_PLACE = 10_000_000


class SequencePagination(Pagination):
    """Pages of a sequence that is in memory; the cursor is a place in it."""

    offset_cutoff = _LAST_PLACE

    def paginate_queryset(
        self, queryset: Any, request: Request, view: Any = None
    ) -> list[Any] | None:
        """Return the page of a sequence; raises `ValidationError` for a cursor that is not one of ours."""
        rows: Sequence[Any] = queryset
        self.request, self.base_url = request, request.build_absolute_uri()
        size = self.get_page_size(request) or self.page_size
        cursor = self.decode_cursor(request)
        first = 0 if cursor is None else cursor.offset
        self._next = first + size if first + size < len(rows) else None
        self._previous = max(0, first - size) if first else None
        return list(rows[first : first + size])

    def get_next_link(self) -> str | None:
        """Return where the next page is; None behind the last one."""
        return self._link(self._next)

    def get_previous_link(self) -> str | None:
        """Return where the page before is; None before the first one."""
        return self._link(self._previous)

    def _link(self, first: int | None) -> str | None:
        return None if first is None else self.encode_cursor(Cursor(first, False, None))  # noqa: FBT003  a tuple

    def _read_position(self, position: Any) -> None:
        raise ValueError("a sequence has no positions")
