"""Plain functions that tests share."""

import time
from collections.abc import Callable


def wait_until(predicate: Callable[[], object], timeout: float = 10.0, every: float = 0.05) -> None:
    """Wait for a condition; fails with its name when it does not come true in time."""
    end = time.monotonic() + timeout
    while not predicate():
        if time.monotonic() > end:
            raise AssertionError(f"not true within {timeout} s: {predicate}")
        time.sleep(every)
