"""Plain functions that tests share."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jobs.cluster.errors import ClusterFault

# Facts about other programs, kept beside the project because they are not ours.
CONFORMANCE = Path(__file__).parent.parent.parent / "shared" / "conformance"


class Clock:
    """A clock that stands still until a test moves it, in seconds."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


# A busy machine takes several times as long as a calm one, and nobody waits longer than needed.
PATIENCE = 3


def wait_until(predicate: Callable[[], object], timeout: float = 10.0, every: float = 0.05) -> None:
    """Wait for a condition; fails with its name when it does not come true in `PATIENCE` times `timeout`.

    What is dear to look at is looked at more seldom: the machine is left to what is waited for. A cluster
    that cannot be asked for a moment, because a test kills its nodes, is asked again.
    """
    end = time.monotonic() + timeout * PATIENCE
    while True:
        began, fault = time.monotonic(), None
        try:
            if predicate():
                return
        except ClusterFault as error:
            if not error.retriable:
                raise
            fault = error
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"not true within {timeout * PATIENCE} s: {predicate}") from fault
        took = now - began
        time.sleep(max(every, min(4 * took, took + 1.0)))


def tcp_ports_of(pid: int) -> list[int]:
    """The TCP ports at which a process listens. Linux only."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(str(entry.readlink()))
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text("utf-8").splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                ports.add(int(local.rpartition(":")[2], 16))
    return sorted(ports)


class Stalls:
    """Counts for how long this process was not run, while its block lasts; a bound on a time leaves that out.

    A thread sleeps for moments: what it oversleeps is time in which the machine was busy with others.
    """

    _MOMENT_S = 0.05

    def __init__(self) -> None:
        self.seconds = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> "Stalls":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _count(self) -> None:
        before = time.monotonic()
        while not self._stop.wait(self._MOMENT_S):
            now = time.monotonic()
            late_s = now - before - self._MOMENT_S
            if late_s > self._MOMENT_S:
                self.seconds += late_s
            before = now


def conformance_cases(file: str, *kinds: str) -> list[Any]:
    """Return the cases of some kinds as parameters of a test; one that skips where there is no file."""
    path = CONFORMANCE / file
    if not path.exists():
        reason = f"no conformance data beside the project: {path}"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no data")]
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in cases if case["kind"] in kinds]
