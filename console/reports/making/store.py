"""The files of reports, in a folder per run below the home."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from console.frame.errors import ActionRefused
from console.reports.models import ReportRun
from jobs.files import write_whole
from jobs.reports.rendering.formats import FILE_KINDS, Format

_GONE = (
    "The files of this report are not in the home folder of this machine any more. Make it again."
)


def folder_of(run: ReportRun) -> Path:
    """Return the folder of a run, which may not be there."""
    return Path(settings.CROSSLOG_HOME) / "reports" / str(run.pk)


def write_files(
    run: ReportRun,
    contents: Mapping[Format, bytes],
    name: str,
    parts: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """Store the files of a run, all or none, and return what `ReportRun.files` says of them.

    `name` is that of the files without a suffix; `parts` are stored beside them, by their names. Raises
    OSError (a full disk).
    """
    folder = folder_of(run)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    told: dict[str, Any] = {}
    try:
        for format_, content in contents.items():
            file_name = f"{name}.{FILE_KINDS[format_].suffix}"
            write_whole(folder / file_name, lambda file, content=content: file.write(content))  # type: ignore[misc]  # the loop's own value
            digest = hashlib.sha256(content).hexdigest()
            told[format_.value] = {"name": file_name, "bytes": len(content), "sha256": digest}
        for part, content in (parts or {}).items():
            write_whole(folder / part, lambda file, content=content: file.write(content))  # type: ignore[misc]  # as above
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return told


def read_file(run: ReportRun, format_: Format) -> bytes:
    """Return a file of a run; raises `ActionRefused` when it has none of this format, or it is gone."""
    told = run.files.get(format_.value)
    if told is None:
        raise ActionRefused("no_file", f"This report has no {format_.value.upper()} file.")
    return _read(folder_of(run) / str(told["name"]))


def read_part(run: ReportRun, part: str) -> bytes:
    """Return what is stored beside the files of a run; raises `ActionRefused` when it is not there."""
    return _read(folder_of(run) / part)


def list_parts(run: ReportRun) -> list[str]:
    """Return the names of all that is stored of a run."""
    return sorted(path.name for path in folder_of(run).glob("*"))


def remove_files(run: ReportRun) -> None:
    """Remove what is stored of a run."""
    shutil.rmtree(folder_of(run), ignore_errors=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ActionRefused("files_gone", _GONE) from None
