"""`crosslog dump-log`: what log segments and snapshots hold, batch by batch and record by record."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jobs.commands import command
from jobs.quorum.log.file_source import FileSource
from jobs.quorum.timeline.anomalies import UNFINISHED
from jobs.visible import print_lines
from jobs.wire.batches.log_batches import BatchAt, DamageKind, LogDamage, scan_batches
from jobs.wire.batches.record_batch import COMPRESSION_MASK, Codec
from jobs.wire.errors import Damaged, RecordFormatError
from jobs.wire.metadata.log import LogRecord
from jobs.wire.metadata.records import UNDECODABLE, UNKNOWN_RECORD
from jobs.wire.metadata.snapshots import check_snapshot, parse_segment_name, parse_snapshot_name
from jobs.wire.topics.internal_logs import (
    LogKind,
    kind_of_folder,
    largest_batch_bytes,
    records_of_batch,
)

_BOOTSTRAP = "bootstrap.checkpoint"
_AUTO = "auto"


class _NoLog(ValueError):
    """A file of something else."""


@dataclass(slots=True)
class _Seen:
    """What was met that is worth a word at the end."""

    damages: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    foreign_tags: int = 0
    tails: list[LogDamage] = field(default_factory=list)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    seen = _Seen()
    for path in arguments.files:
        try:
            _dump(path, arguments, seen)
        except OSError as error:
            return command.refuse(error, path)
        except _NoLog as error:
            return command.say(f"{path}: {error}")
        except RecordFormatError as error:
            return command.say(f"{path}: {error}", command.FINDING)
    _tell(seen)
    return command.FINDING if seen.damages else command.OK


def _dump(path: Path, arguments: argparse.Namespace, seen: _Seen) -> None:
    """Print one file; raises OSError, `_NoLog`, and when strict `RecordFormatError`."""
    kind = _kind(path, arguments.records)
    with FileSource(path) as source:
        if not arguments.json:
            sys.stdout.write(f"{path}: {_title(path, kind)}\n")
        for found in _items(source, path, kind, strict=arguments.strict):
            line = _json_line(found, path) if arguments.json else _text_line(found)
            if line:
                print_lines([line])
            _count(found, seen)


def _refuse_foreign(found: LogDamage, path: Path) -> None:
    """Raise `_NoLog` for a file that neither its name nor any of its bytes call a log."""
    is_named = _is_snapshot(path) or parse_segment_name(path.name) is not None
    if not is_named and found.position == 0 and found.kind is DamageKind.FOREIGN_MAGIC:
        raise _NoLog(f"it is no log: {found.problem}")


def _items(
    source: FileSource, path: Path, kind: LogKind, *, strict: bool
) -> Iterator[BatchAt | LogRecord | LogDamage]:
    for found in scan_batches(
        source, expected_offset=_first_offset(path), largest_bytes=largest_batch_bytes(kind)
    ):
        if isinstance(found, LogDamage):
            _refuse_foreign(found, path)
            if strict:
                raise Damaged(-1 if found.offset is None else found.offset, _of(found))
            # An unfinished end is normal in the newest segment only.
            kind_ = found.kind if _is_newest(path) or not found.is_tail else DamageKind.CUT_OFF
            yield replace(found, kind=kind_, file=path.name)
            continue
        yield found
        yield from records_of_batch(found, kind, strict=strict)
    if _is_snapshot(path):
        problem = check_snapshot(source).problem
        if problem is not None and strict:
            raise RecordFormatError(path.name, problem)
        if problem is not None:
            yield LogDamage(0, None, DamageKind.UNUSABLE_SNAPSHOT, problem)


def _is_newest(path: Path) -> bool:
    """Whether no later segment lies beside a segment."""
    base = parse_segment_name(path.name)
    later = (parse_segment_name(one.name) for one in path.absolute().parent.iterdir())
    return base is not None and not any(one is not None and one > base for one in later)


def _kind(path: Path, wanted: str) -> LogKind:
    if wanted != _AUTO:
        return LogKind(wanted)
    return kind_of_folder(path.absolute().parent.name) or LogKind.METADATA


def _is_snapshot(path: Path) -> bool:
    return path.name == _BOOTSTRAP or parse_snapshot_name(path.name) is not None


def _first_offset(path: Path) -> int | None:
    return 0 if _is_snapshot(path) else parse_segment_name(path.name)


def _title(path: Path, kind: LogKind) -> str:
    name = parse_snapshot_name(path.name)
    if name is not None:
        state = ", never finished" if name.is_partial else ", marked as deleted" * name.is_deleted
        return f"snapshot of all before offset {name.offset}, epoch {name.epoch}{state}"
    base_offset = parse_segment_name(path.name)
    where = "" if base_offset is None else f" from offset {base_offset}"
    return f"log of {kind}{where}"


def _json_line(found: BatchAt | LogRecord | LogDamage, path: Path) -> str | None:
    if isinstance(found, BatchAt):
        return None
    return json.dumps(to_mapping(found) | {"file": str(path)}, ensure_ascii=False)


def to_mapping(found: LogRecord | LogDamage) -> dict[str, Any]:
    """Return a record or a damage as JSON values; foreign tags are named, never shown."""
    if isinstance(found, LogDamage):
        return {
            "tail" if found.is_tail else "damage": found.kind.value,
            "offset": found.offset,
            "position": found.position,
            "problem": found.problem,
        }
    told: dict[str, Any] = {
        "offset": found.offset,
        "type": found.type,
        "version": found.version,
        "data": found.data,
        "epoch": found.epoch,
        "timestamp_ms": found.timestamp_ms,
        "is_control": found.is_control,
        "batch_offset": found.batch_offset,
        "position": found.position,
    }
    tags = [
        {"path": one.path, "tag": one.tag, "size_bytes": len(one.content)}
        for one in found.unknown
        if one.tag is not None
    ]
    return told | ({"unknown_tags": tags} if tags else {})


def _text_line(found: BatchAt | LogRecord | LogDamage) -> str:
    if isinstance(found, LogDamage):
        return f"{'TAIL' if found.is_tail else 'DAMAGE'} {_of(found)}"
    if isinstance(found, LogRecord):
        values = json.dumps(found.data, ensure_ascii=False)
        tags = ", ".join(
            f"{one.path} tag {one.tag}".strip() for one in found.unknown if one.tag is not None
        )
        version = "" if found.version < 0 else f" v{found.version}"
        return (
            f"  {found.offset} {found.type}{version} {values}{f'  unknown: {tags}' if tags else ''}"
        )
    header = found.header
    flags = ("control, " if header.is_control else "") + (
        "transactional, " if header.is_transactional else ""
    )
    number = header.attributes & COMPRESSION_MASK
    codec = Codec(number).name.lower() if number <= Codec.ZSTD else str(number)
    return (
        f"batch {header.base_offset} to {header.last_offset} at byte {found.position}: {flags}"
        f"epoch {header.partition_leader_epoch}, {_time(header.max_timestamp)}, "
        f"{header.record_count} records, {header.size_bytes} bytes, compression {codec}, CRC {header.crc}"
    )


def _time(timestamp_ms: int) -> str:
    try:
        at = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{timestamp_ms} ms"
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _of(damage: LogDamage) -> str:
    where = "" if damage.offset is None else f", offset {damage.offset}"
    return f"{damage.kind} at byte {damage.position}{where}: {damage.problem}"


def _count(found: BatchAt | LogRecord | LogDamage, seen: _Seen) -> None:
    if isinstance(found, BatchAt):
        return
    if isinstance(found, LogDamage) and found.is_tail:
        seen.tails.append(found)
        return
    if isinstance(found, LogDamage) or found.type == UNDECODABLE:
        seen.damages += 1
        return
    seen.foreign_tags += sum(one.tag is not None for one in found.unknown)
    if found.type.startswith("UNKNOWN_"):
        name = f"apiKey {found.data['apiKey']}" if found.type == UNKNOWN_RECORD else found.type
        seen.unknown[f"{name} version {found.version}"] += 1


def _tell(seen: _Seen) -> None:
    for name, count in seen.unknown.most_common():
        command.say(f"{count} records of a kind that this version does not know: {name}")
    if seen.foreign_tags:
        command.say(f"{seen.foreign_tags} tagged fields that this version does not know")
    for tail in seen.tails:
        command.say(f"{UNFINISHED} before offset {tail.expected}: {tail.sentence}")
    if seen.damages:
        command.say(f"{seen.damages} places are damaged")
