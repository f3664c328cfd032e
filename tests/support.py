"""Plain functions that tests share."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

# Facts about other programs, kept beside the project because they are not ours.
CONFORMANCE = Path(__file__).parent.parent.parent / "shared" / "conformance"
# What people who run Kafka reported, as it came.
REPORTED = Path(__file__).parent / "conformance" / "reported"


class Clock:
    """A clock that only a test moves, in seconds."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


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


def conformance_cases(file: str, *kinds: str) -> list[Any]:
    """Return the cases of some kinds as parameters of a test; one that skips where there is no file."""
    path = CONFORMANCE / file
    if not path.exists():
        reason = f"no conformance data beside the project: {path}"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="no data")]
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in cases if case["kind"] in kinds]
