"""`crosslog follow-metadata` and `crosslog import-metadata`: a cluster's metadata log into an archive."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from jobs.archives import ArchiveBusy, BadArchive
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.commands import command
from jobs.quorum.log.archive import UNPACKED, LogArchive
from jobs.quorum.log.archive_manifest import Manifest
from jobs.quorum.log.batches import LogBroken
from jobs.quorum.log.follower import Heard, Mode, follow
from jobs.quorum.log.importer import Imported, NotALogFolder, import_folder
from jobs.quorum.log.source import MetadataSource, read_source_file
from jobs.quorum.log.uploads import UploadRefused, unpack_upload
from jobs.quorum.timeline.anomalies import UNFINISHED


def run(arguments: argparse.Namespace) -> int:
    """Run `follow-metadata`; returns its exit code."""
    try:
        source = read_source_file(arguments.connection)
    except InvalidFields as error:
        return command.refuse(error, arguments.connection)
    return _with_archive(arguments.into, lambda archive: _follow(source, archive, arguments))


def run_import(arguments: argparse.Namespace) -> int:
    """Run `import-metadata`; returns its exit code."""
    return _with_archive(
        arguments.into,
        lambda archive: max([_take(path, archive, arguments) for path in arguments.sources]),
    )


def _with_archive(folder: Path, work: Callable[[LogArchive], int]) -> int:
    try:
        with LogArchive(folder) as archive:
            return work(archive)
    except (ArchiveBusy, BadArchive, LogBroken, NotALogFolder, UploadRefused) as error:
        return command.say(error)
    except OSError as error:
        return command.refuse(error, folder)


def _follow(source: MetadataSource, archive: LogArchive, arguments: argparse.Namespace) -> int:
    stop = threading.Event()
    told = _FollowPrinter(archive, stop, arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    try:
        follow(source, archive, stop, told)
    except ClusterFault as fault:
        code = command.refuse(fault)
        return command.FINDING if told.last_fault == str(fault) else code
    return command.OK if told.has_read_log else command.FINDING


class _FollowPrinter:
    """Prints what is news, and ends the following when it has caught up, or never will."""

    def __init__(
        self, archive: LogArchive, stop: threading.Event, arguments: argparse.Namespace
    ) -> None:
        self._archive = archive
        self._stop = stop
        self._is_short: bool = arguments.until_caught_up
        self._as_json: bool = arguments.json
        self.last_fault = ""
        self.has_read_log = False

    def __call__(self, heard: Heard) -> None:
        """Take note of one request."""
        fault = str(heard.fault) if heard.fault else ""
        step = heard.step
        is_news = fault != self.last_fault or heard.is_news
        if step is not None:
            is_news |= bool(step.batches or step.snapshot or step.dropped_from is not None)
            self.has_read_log |= heard.is_at_end
        if is_news:
            self._print(heard)
        self.last_fault = fault
        is_final = heard.fault is not None and not heard.fault.retriable
        if self._is_short and (heard.is_at_end or heard.mode is Mode.POLLING or is_final):
            self._stop.set()

    def _print(self, heard: Heard) -> None:
        known = self._archive.manifest
        if self._as_json:
            command.print_json(_document(heard, known))
        elif heard.fault is not None:
            command.say(f"{heard.fault} {heard.fault.hint}")
            sys.stderr.writelines(f"  not seen: {what}\n" for what in heard.lost)
        elif heard.step is not None:
            sys.stdout.write(_line(heard, known))
        sys.stdout.flush()


def _document(heard: Heard, known: Manifest) -> dict[str, object]:
    fault, step = heard.fault, heard.step
    return {
        "mode": heard.mode.value,
        "next_offset": known.next_offset,
        "high_watermark": known.high_watermark,
        "leader_id": known.leader_id,
        "leader_epoch": known.leader_epoch,
        "is_at_end": heard.is_at_end,
        "batches": step.batches if step else 0,
        "bytes": step.size_bytes if step else 0,
        "snapshot": list(step.snapshot) if step and step.snapshot else None,
        "missing": asdict(step.missing) if step and step.missing else None,
        "dropped_from": step.dropped_from if step else None,
        "quorum": asdict(heard.quorum) if heard.quorum else None,
        "fault": {"code": fault.code, "message": fault.message, "hint": fault.hint}
        if fault
        else None,
        "not_seen": list(heard.lost),
    }


def _line(heard: Heard, known: Manifest) -> str:
    step = heard.step
    parts = [f"up to offset {known.next_offset} in epoch {known.leader_epoch}"]
    if step is not None and step.missing is not None:
        parts.append(f"missing {step.missing.from_offset} to {step.missing.to_offset - 1}")
    if step is not None and step.snapshot is not None:
        parts.append(f"snapshot {step.snapshot.end_offset}-{step.snapshot.epoch}")
    if step is not None and step.dropped_from is not None:
        parts.append(f"the quorum truncated its log from {step.dropped_from} on")
    return f"{', '.join(parts)}\n"


def _take(path: Path, archive: LogArchive, arguments: argparse.Namespace) -> int:
    now_ms = int(time.time() * 1000)
    if path.is_dir():
        found = import_folder(path, archive, now_ms=now_ms)
    else:
        with tempfile.TemporaryDirectory(dir=archive.folder, prefix=UNPACKED) as folder:
            unpacked = unpack_upload(path, Path(folder) / "node")
            found = import_folder(unpacked, archive, now_ms=now_ms)
    known = archive.manifest
    damaged = [asdict(one) for one in known.damaged]
    told = {"source": str(path), "next_offset": known.next_offset, "damaged": damaged}
    command.print_answer(
        arguments, lambda: found._asdict() | told, _import_lines(path, found, known)
    )
    return command.FINDING if found.problems or found.conflicts else command.OK


def _import_lines(path: Path, found: Imported, known: Manifest) -> Iterator[str]:
    yield (
        f"{path}: {found.batches} batches, {found.size_bytes} bytes, {len(found.snapshots)} snapshots; "
        f"the archive reaches to offset {known.next_offset}."
    )
    yield from (f"  {problem}" for problem in found.problems)
    if found.tail:
        yield f"  {UNFINISHED} before offset {known.next_offset}: {found.tail}."
    if found.conflicts:
        yield f"  {found.conflicts} batches differ from the archive."
