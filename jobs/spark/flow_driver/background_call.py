"""Questions to the clusters that may take long, asked beside the driver's loop, one at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a question: a value, or what it raised."""

    name: str
    value: object = None
    error: Exception | None = None


class BackgroundCall:
    """One question at a time, each in a thread that dies with the process."""

    def __init__(self) -> None:
        self._name = ""
        self._answers: list[CallResult] = []
        self._thread: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a question is open, or its answer was not taken yet."""
        return self._thread is not None

    def start(self, name: str, question: Callable[[], object]) -> None:
        """Begin with a question; only when not busy."""
        assert not self.is_busy  # noqa: S101  the caller asked
        self._thread = threading.Thread(
            target=self._work, args=(name, question), name=name, daemon=True
        )
        self._thread.start()

    def result(self) -> CallResult | None:
        """Return the answer when it is there."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread = None
        return self._answers.pop()

    def _work(self, name: str, question: Callable[[], object]) -> None:
        try:
            self._answers.append(CallResult(name, question()))
        except Exception as error:  # noqa: BLE001  it is raised or told where the answer is taken
            logger.info("a question failed name=%s error=%s", name, error)
            self._answers.append(CallResult(name, error=error))
