"""Base of all archives: a folder with one writer and a manifest."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, TypeVar

from jobs.files import write_whole
from jobs.json_text import fault_of, parse_json

_Manifest = TypeVar("_Manifest")

MANIFEST, LOCK = "manifest.json", "lock"


class BadArchive(ValueError):
    """A folder that is no archive of its kind, or a damaged one; the message says which and why."""


class ArchiveBusy(RuntimeError):
    """Another process appends to the archive."""


def lock_archive(folder: Path) -> IO[bytes]:
    """Take a folder, made where it is missing, for this process until the file is closed.

    Raises `ArchiveBusy`, and OSError where the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / LOCK).open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise ArchiveBusy(f"another process appends to the archive {folder}") from None
    except OSError:
        lock.close()
        raise
    return lock


def values_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, nothing copied."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def write_manifest(folder: Path, version: int, values: Mapping[str, Any]) -> None:
    """Put a manifest into the folder of its archive, whole or not at all; dataclasses become objects."""
    document = {"version": version, **values}
    content = json.dumps(document, separators=(",", ":"), default=values_of).encode()
    write_whole(folder / MANIFEST, lambda file: file.write(content))


def load_manifest(
    folder: Path,
    version: int,
    make: Callable[[dict[str, Any]], _Manifest],
    *,
    also: int | None = None,
) -> _Manifest | None:
    """Read the manifest of an archive; None where there is none yet.

    `also` is an earlier version that can be read as well. `make` builds it from its values. Raises
    `BadArchive` for a damaged one or one of another version, and OSError where it cannot be read.
    """
    path = folder / MANIFEST
    try:
        document = parse_json(path.read_bytes())
        found = document.pop("version")
        if found in {version, also}:
            return make(document)
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadArchive(f"{path} is damaged: {fault_of(error)}.") from None
    raise BadArchive(f"{path} is of version {found}; this crosslog reads version {version}")
