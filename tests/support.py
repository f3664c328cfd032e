"""Plain functions that tests share."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

# What Kafka and its users answered and reported: one folder per subject, see the README there.
CONFORMANCE = Path(__file__).parent / "conformance"
REPORTED = CONFORMANCE / "reported"
STREAMS_LIVE = CONFORMANCE / "streams_live"
KRAFT_LOG = CONFORMANCE / "kraft_log" / "node-1"
METADATA_FOLDER = KRAFT_LOG / "__cluster_metadata-0"
# Why a test is skipped whose Java is only a runtime.
NO_COMPILER = "this Java is no JDK: install one (Debian: apt-get install default-jdk-headless)"


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


def conformance_cases(subject: str, *kinds: str) -> list[Any]:
    """Return the cases of some kinds of a subject as parameters of a test; each kind has some."""
    path = CONFORMANCE / subject / "cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    found = [pytest.param(case, id=case["id"]) for case in cases if case["kind"] in kinds]
    assert {case.values[0]["kind"] for case in found} == set(kinds), f"{path} lacks one of {kinds}"
    return found
