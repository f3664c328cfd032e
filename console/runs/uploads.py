"""Lists that people upload for analyses: kept in the archive by what is in them, until unused for a week."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings

from jobs.cluster.errors import InvalidFields
from jobs.files import write_whole
from jobs.numbers import format_bytes

KEEP_UNUSED = timedelta(days=7)
_NAME = re.compile(r"[0-9a-f]{64}\.(csv|parquet)")
_PARQUET = b"PAR1"
_LOOKED_AT = 64 * 1024
GONE = (
    "There is no uploaded file of this name: it was removed after "
    f"{KEEP_UNUSED.days} days unused, or never uploaded. Upload it again."
)


@dataclass(frozen=True, slots=True)
class Upload:
    """A list that is kept; `name` is what arguments of the type FILE hold."""

    path: Path
    bytes: int
    used_at: datetime

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def kept_until(self) -> datetime:
        """When it is removed unless it is used before."""
        return self.used_at + KEEP_UNUSED

    @property
    def label(self) -> str:
        """What people read: its form, its size and how its checksum begins."""
        form = "Parquet" if self.path.suffix == ".parquet" else "CSV"
        return (
            f"{form}, {format_bytes(self.bytes)} (SHA-256 {self.name[:12]}\N{HORIZONTAL ELLIPSIS})"
        )


def too_large() -> str:
    """Return the sentence about a file that is too large."""
    return f"It is larger than {settings.ANALYSIS_UPLOAD_MB} MiB: split it, or write it as Parquet."


def store(field: str, file: Any, now: datetime) -> Upload:
    """Keep an uploaded file of Django's; the same content is kept once.

    Raises InvalidFields at `field` for what is neither CSV nor Parquet, and when there is no room.
    """
    suffix, problem = _form_of(file)
    if problem:
        raise InvalidFields({field: problem})
    checksum = sha256()
    for chunk in file.chunks():
        checksum.update(chunk)
    path = _folder() / f"{checksum.hexdigest()}{suffix}"
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_whole(path, lambda out: [out.write(chunk) for chunk in file.chunks()])
        _touch(path, now)
        return _upload(path)
    except OSError as error:
        text = f"It could not be kept in {_folder()}: {error.strerror}. Tell an administrator."
        raise InvalidFields({field: text}) from None


def find(name: str) -> Upload | None:
    """Return a list by its name; None for one that is not kept (any more)."""
    if not _NAME.fullmatch(name):
        return None
    try:
        return _upload(_folder() / name)
    except FileNotFoundError:
        return None


def use(name: str, now: datetime) -> Upload | None:
    """Return what `find` does, and keep it for another week."""
    found = find(name)
    if found is not None:
        _touch(found.path, now)
    return found


def label_of(name: str) -> str:
    """Return what people read about a list, also of one that is gone."""
    found = find(name)
    return found.label if found else f"{name[:12]}\N{HORIZONTAL ELLIPSIS} (removed)"


def remove_unused(now: datetime) -> int:
    """Remove lists that were not used for a week; return how many."""
    limit, removed = (now - KEEP_UNUSED).timestamp(), 0
    for path in _folder().glob("*"):
        if path.stat().st_mtime < limit:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _form_of(file: Any) -> tuple[str, str]:
    """Return the ending for its content, and why it cannot be used; what is in a list its analysis checks."""
    file.seek(0)
    head = file.read(_LOOKED_AT)
    if not head:
        return "", "It is empty."
    if head.startswith(_PARQUET):
        file.seek(max(0, file.size - len(_PARQUET)))
        is_whole = file.size > 2 * len(_PARQUET) and file.read() == _PARQUET
        return ".parquet", "" if is_whole else "It begins like Parquet, but its end is missing."
    # A character may be cut in two at the end of what is looked at.
    texts = (head[: len(head) - cut] for cut in range(4))
    is_text = b"\0" not in head and any(_is_utf8(text) for text in texts)
    return ".csv", "" if is_text else "It is neither Parquet nor CSV (text in UTF-8)."


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _touch(path: Path, now: datetime) -> None:
    os.utime(path, (now.timestamp(), now.timestamp()))


def _upload(path: Path) -> Upload:
    found = path.stat()
    return Upload(path, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


def _folder() -> Path:
    return Path(settings.CROSSLOG_ARCHIVE) / "uploads"
