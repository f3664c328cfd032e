"""What kafka-dump-log prints about segments and snapshots, taken apart."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support import CONFORMANCE

FOLDER = CONFORMANCE / "kraft_log"

_NUMBERS = re.compile(r"(\w+): (-?\d+)")
_CONTROL = re.compile(r"\] (\w+):? (\{.*\})$")
# Before Kafka 3.5 it only says of which type a control record is.
_BARE_CONTROL = re.compile(r"\] controlType: (\w+)\(\d+\)$")
_TYPES = {
    "LeaderChange": "LEADER_CHANGE",
    "SnapshotHeader": "SNAPSHOT_HEADER",
    "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
}


@dataclass
class Dumped:
    """A file: its batches' header fields, and (offset, time, type, data) of each record."""

    batches: list[dict[str, int]] = field(default_factory=list)
    records: list[tuple[int, int, str, Any]] = field(default_factory=list)


def parse_dump(text: str) -> dict[str, Dumped]:
    """Return what was printed, by the file's name."""
    files: dict[str, Dumped] = {}
    for line in text.split("\n"):
        if line.startswith("Dumping "):
            current = files.setdefault(Path(line.removeprefix("Dumping ")).name, Dumped())
        elif line.startswith("baseOffset: "):
            current.batches.append({name: int(text) for name, text in _NUMBERS.findall(line)})
        elif line.startswith("| offset: "):
            current.records.append(_record(line))
    return files


def expected_dump() -> dict[str, Dumped]:
    return parse_dump((FOLDER / "expected_dump.txt").read_text(encoding="utf-8"))


def _record(line: str) -> tuple[int, int, str, Any]:
    numbers = dict(_NUMBERS.findall(line.partition(" payload: ")[0]))
    place = int(numbers["offset"]), int(numbers["CreateTime"])
    if " payload: " in line:
        payload = json.loads(line.partition(" payload: ")[2])
        return *place, payload["type"], payload["data"]
    if bare := _BARE_CONTROL.search(line):
        return *place, bare[1], None
    control = _CONTROL.search(line)
    assert control, line
    return *place, _TYPES[control[1]], json.loads(control[2])
