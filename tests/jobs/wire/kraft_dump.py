"""What kafka-dump-log prints about segments and snapshots, taken apart."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.wire.batches.log_batches import BytesSource, scan_batches
from jobs.wire.metadata.log import read_log
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


def expected_dump(folder: Path = FOLDER) -> dict[str, Dumped]:
    return parse_dump((folder / "expected_dump.txt").read_text(encoding="utf-8"))


def read_as_dumped(content: bytes, *, strict: bool = True) -> Dumped:
    """Return what crosslog's decoders read of a file, in the form of what was printed of it."""
    batches = [
        {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.record_count,
            "baseSequence": header.base_sequence,
            "lastSequence": -1,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "position": position,
            "CreateTime": header.max_timestamp,
            "size": header.size_bytes,
            "magic": header.magic,
            "crc": header.crc,
        }
        for position, header, _ in scan_batches(BytesSource(content))
    ]
    read = list(read_log(content, strict=strict))
    assert not any(one.unknown for one in read)
    return Dumped(batches, [(one.offset, one.timestamp_ms, one.type, one.data) for one in read])


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
