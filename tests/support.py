"""Plain functions that tests share."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Facts about other programs, kept beside the project because they are not ours.
CONFORMANCE = Path(__file__).parent.parent.parent / "shared" / "conformance"


def wait_until(predicate: Callable[[], object], timeout: float = 10.0, every: float = 0.05) -> None:
    """Wait for a condition; fails with its name when it does not come true in time."""
    end = time.monotonic() + timeout
    while not predicate():
        if time.monotonic() > end:
            raise AssertionError(f"not true within {timeout} s: {predicate}")
        time.sleep(every)


def conformance_cases(file: str, *kinds: str) -> list[Any]:
    """Return the cases of some kinds as parameters of a test; one that skips where there is no file."""
    path = CONFORMANCE / file
    if not path.exists():
        reason = f"no conformance data beside the project: {path}"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no data")]
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in cases if case["kind"] in kinds]
