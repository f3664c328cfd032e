"""Something that runs beside us, for programs that follow many things at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Thread(Protocol):
    """Something that runs beside us; a fake of it runs at once in tests."""

    def is_alive(self) -> bool:
        """Return whether it runs."""
        ...

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        ...


def start_thread(run: Callable[[], None], name: str) -> Thread:
    """Run something beside us."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
