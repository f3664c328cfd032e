"""What the live server still works on: a page that is closed leaves requests behind."""

import threading
import time
from typing import Any, Self

from django.core.signals import request_finished, request_started


class OpenRequests:
    """Counts the requests that began since it was made and did not end yet; to be left as a context.

    Tests without a browser leave answers unclosed, so a count from the beginning never ends.
    """

    # A request that a closed page sent at last may only just be taken from its connection.
    STILL_S = 0.1

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._changed_at = time.monotonic()

    def __enter__(self) -> Self:
        request_started.connect(self._begin)
        request_finished.connect(self._end)
        return self

    def __exit__(self, *_: object) -> None:
        request_started.disconnect(self._begin)
        request_finished.disconnect(self._end)

    def are_done(self) -> bool:
        """Return whether nothing is open, and was not for a moment."""
        with self._lock:
            return self._open <= 0 and time.monotonic() - self._changed_at > self.STILL_S

    def _begin(self, **_: Any) -> None:
        self._add(1)

    def _end(self, **_: Any) -> None:
        self._add(-1)

    def _add(self, number: int) -> None:
        with self._lock:
            self._open += number
            self._changed_at = time.monotonic()
