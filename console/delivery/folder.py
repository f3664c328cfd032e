"""Reports as files in a folder below REPORT_FOLDER, for programs that pick them up or a share."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from console.delivery.results import Refused, TryAgain, quoted
from jobs.files import write_whole

Write = Callable[[Path, Callable[[BinaryIO], object]], None]


def send_test(address: str, now: datetime, write: Write = write_whole) -> str:
    """Write a small file; raises `Refused`, `TryAgain`."""
    text = f"crosslog can write reports into this folder ({now:%Y-%m-%d %H:%M:%S} UTC).\n"
    return put(address, {"crosslog-test.txt": text.encode()}, write)


def put(address: str, files: Mapping[str, bytes], write: Write = write_whole) -> str:
    """Write files into a folder below REPORT_FOLDER; raises `Refused`, `TryAgain`."""
    root = Path(settings.REPORT_FOLDER)
    try:
        if not root.is_dir():
            # It is not made: what is not mounted would be written to another disk.
            raise TryAgain(_no_root(root), is_away=True)
        folder = _inside(root, address)
        for name, content in files.items():
            write(folder / name, lambda file, content=content: file.write(content))  # type: ignore[misc]  # the loop's own value
    except OSError as error:
        raise TryAgain(_why(error, root / address)) from None
    return f"Written to {folder}: {', '.join(files)}."


def _inside(root: Path, address: str) -> Path:
    """Return a folder below the root, made when it is not there; a link that leads out is refused."""
    inside = Path(os.path.realpath(root))
    folder = inside
    for name in Path(address).parts:
        # Of links in a circle it gives back the link, for which no folder can be made.
        folder = Path(os.path.realpath(folder / name))
        if not folder.is_relative_to(inside):
            raise Refused(f"{root / address} leads out of REPORT_FOLDER by a link: {folder}.")
        folder.mkdir(mode=0o750, exist_ok=True)
    return folder


def _no_root(root: Path) -> str:
    if root.is_symlink():
        return f"{root} (REPORT_FOLDER) is a link to no folder, or to itself: point it to one."
    if root.exists():
        return f"{root} (REPORT_FOLDER) is no folder: move it away, or name another folder."
    return f"There is no folder {root} (REPORT_FOLDER): mount or make it."


def _why(error: OSError, folder: Path) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"The disk of {folder} is full: make room, it is tried again."
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"crosslog may not write to {folder}: {error.strerror}. Give its user the right to."
    if error.errno in {errno.EEXIST, errno.ENOTDIR, errno.ELOOP}:
        where = error.filename or folder
        return f"{where} is a file, or a link to itself, where a folder is needed: move it away."
    return f"Writing to {folder} failed: {quoted(error.strerror or str(error))}."
