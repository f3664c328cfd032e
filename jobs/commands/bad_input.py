"""What is said of a file or value that cannot be used: one sentence with its path, on stderr."""

from __future__ import annotations

import sys
from pathlib import Path

BAD_INPUT = 2


def refuse(error: OSError | ValueError, path: Path | None = None) -> int:
    """Say why a file cannot be used, and return the exit code; `path` is for errors that name none."""
    named = getattr(error, "filename", None) or path
    said = _reason(error).rstrip(".\n")
    sys.stderr.write(f"{named}: {said}.\n" if named else f"{said}.\n")
    return BAD_INPUT


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"It cannot be read: {error.strerror}"
    if isinstance(error, UnicodeDecodeError):
        return f"Byte {error.start} is not UTF-8"
    return str(error)
