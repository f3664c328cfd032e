"""Progress of long steps: a bar on a terminal, now and then a line in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self, TextIO

_BAR_WIDTH = 30
_LINE_EVERY_S = 5.0


class Progress:
    """Shows how far a step is; writes to stderr so that stdout stays for the answer."""

    def __init__(self, title: str, total: int, stream: TextIO | None = None) -> None:
        self.title = title
        self.total = total
        self.stream = stream or sys.stderr
        self.is_terminal = self.stream.isatty()
        self._shown_at = 0.0
        self._started_at = time.monotonic()

    def show(self, done: int, note: str = "") -> None:
        """Show `done` of `total`; a log gets at most one line in five seconds."""
        now = time.monotonic()
        if self.is_terminal:
            filled = _BAR_WIDTH * min(done, self.total) // max(self.total, 1)
            bar = "#" * filled + "." * (_BAR_WIDTH - filled)
            self._write(f"\r{self.title} [{bar}] {done}/{self.total} {note[:40]:40}")
        elif now - self._shown_at >= _LINE_EVERY_S:
            self._shown_at = now
            self._write(f"{self.title}: {done}/{self.total} {note}\n")

    def finish(self) -> None:
        """Say that the step is done and how long it took."""
        took = time.monotonic() - self._started_at
        start = "\r" if self.is_terminal else ""
        self._write(f"{start}{self.title}: done in {took:.1f} s{' ' * 50 if start else ''}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if error is None:
            self.finish()
        elif self.is_terminal:
            self._write("\n")
