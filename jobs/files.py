"""Atomic writes of files, and the cache folder."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def for_this_user_only(path: str | Path, flags: int) -> int:
    """Open a file that is readable only by its user when this makes it; an `opener` for `open`."""
    return os.open(path, flags, 0o600)


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside its place, make it lasting, and put it there; an older one is replaced."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.partial")
    try:
        with partial.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make what was put into a folder lasting."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cache_folder() -> Path:
    """Return the user's cache folder of crosslog (`CROSSLOG_CACHE`, else the XDG cache folder)."""
    chosen = os.environ.get("CROSSLOG_CACHE")
    if chosen:
        return Path(chosen)
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "crosslog"
