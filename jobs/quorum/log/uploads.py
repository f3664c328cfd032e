"""Uploaded archives of a log folder (tar, tar.gz, zip), size-bounded and validated.

Two passes: the first one only lists, and refuses the whole upload for anything that an honest archive of a
folder does not have; the second one writes the files that belong to a metadata log, and no others.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

LOG_FOLDER = "__cluster_metadata-0"
# Segments, snapshots and the small files beside them; indexes are of no use to a reader.
_IN_FOLDER = re.compile(
    r"\d{20}\.log|\d{20}-\d{10}\.checkpoint|leader-epoch-checkpoint|partition\.metadata|quorum-state"
)
_LOG = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)")
_BESIDE = frozenset({"meta.properties", "bootstrap.checkpoint"})
_CHUNK = 1 << 20
_STEP = 16 << 20
_LONGEST_NAME = 4096
# What the directory of an honest zip has per entry: 46 bytes, a path and extra fields.
_DIRECTORY_ENTRY_BYTES = 512
_ZIP, _GZIP = b"PK", b"\x1f\x8b"
# What Python's readers raise for damaged archives, as found by damaging many.
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class UploadRefused(ValueError):
    """An upload that is not taken; the message says which entry and why."""


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How much an upload may expand to: bytes of all entries together, taken or not, and their number.

    Beyond `free_bytes` it may not be larger than `most_expanded` times the upload: a metadata log shrinks to
    a fifth, zeros to a thousandth.
    """

    total_bytes: int = 8 << 30
    entries: int = 20_000
    free_bytes: int = 256 << 20
    most_expanded: int = 100

    def check_expansion(self, size_bytes: int, packed_bytes: int) -> None:
        """Raise `UploadRefused` for bytes that expand further than a log's."""
        if size_bytes > max(self.free_bytes, self.most_expanded * packed_bytes):
            raise UploadRefused(
                f"It expands to more than {self.most_expanded} times its size, as zeros do and no log: leave "
                "out space that was reserved ahead, or mount the folder and import it from there."
            )


class _Entry(NamedTuple):
    """A regular file of an upload: its path inside, and how to read it."""

    path: PurePosixPath
    open: Callable[[], IO[bytes]]


def unpack_upload(upload: Path, into: Path, limits: UploadLimits = UploadLimits()) -> Path:
    """Write the metadata log of an upload below `into`, a new folder; returns the folder of the log.

    `meta.properties` and `bootstrap.checkpoint` stand beside it where the upload has them. Raises
    `UploadRefused`, and OSError when it cannot be written; then `into` is gone again.
    """
    into.mkdir(parents=True, exist_ok=False)
    try:
        with _opened(upload, limits) as entries:
            _write_all(upload, entries, into, limits)
    except BaseException:
        shutil.rmtree(into, ignore_errors=True)
        raise
    return into / LOG_FOLDER


def _write_all(upload: Path, entries: list[_Entry], into: Path, limits: UploadLimits) -> None:
    folder = _log_folder(upload, entries)
    (into / LOG_FOLDER).mkdir()
    left = limits.total_bytes
    for entry in entries:
        target = _target(entry.path, folder, into)
        if target is not None:
            left -= _write(entry, target, left)


def _log_folder(upload: Path, entries: list[_Entry]) -> PurePosixPath:
    """Return the one folder of the upload that has a metadata log."""
    found = {one.path.parent for one in entries if _LOG.fullmatch(one.path.name)}
    # Other topics of the same log directory have segments, too.
    found = {folder for folder in found if folder.name == LOG_FOLDER} or found
    if not found:
        raise UploadRefused(
            f"{upload.name} has no segment (20 digits and .log) and no snapshot (.checkpoint) of a "
            f"metadata log: pack the folder {LOG_FOLDER} of a controller's metadata.log.dir."
        )
    if len(found) > 1:
        names = ", ".join(sorted(map(str, found))[:3])
        raise UploadRefused(
            f"{upload.name} has {len(found)} folders with logs ({names}): "
            f"upload one node's {LOG_FOLDER} at a time."
        )
    return found.pop()


def _target(path: PurePosixPath, folder: PurePosixPath, into: Path) -> Path | None:
    """Return where an entry belongs; None for what is not needed."""
    if path.parent == folder and _IN_FOLDER.fullmatch(path.name):
        return into / LOG_FOLDER / path.name
    if path.name in _BESIDE and path.parent in {folder, folder.parent}:
        return into / path.name
    return None


def _write(entry: _Entry, target: Path, most_bytes: int) -> int:
    """Write one file; returns its size, which is counted, not read from the header."""
    size = 0
    try:
        file = target.open("xb")
    except FileExistsError:
        raise UploadRefused(f"{entry.path} is there twice.") from None
    with file, entry.open() as content:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > most_bytes:
                raise UploadRefused(f"{entry.path} expands to more than the allowed size.")
            file.write(chunk)
    return size


@contextlib.contextmanager
def _opened(upload: Path, limits: UploadLimits) -> Iterator[list[_Entry]]:
    """List the entries of an upload; whatever is wrong with it, also later, is `UploadRefused`."""
    with upload.open("rb") as file:
        magic = file.read(2)
        file.seek(0)
        try:
            if magic == _ZIP:
                with zipfile.ZipFile(_ZipReads(file, limits.entries)) as archive:
                    yield _zip_entries(archive, limits, upload.stat().st_size)
            else:
                plain = gzip.GzipFile(fileobj=file) if magic == _GZIP else file
                packed = file.tell if magic == _GZIP else None
                bounded = _Bounded(plain, limits, packed)  # type: ignore[arg-type]  # both are binary files
                with tarfile.open(fileobj=bounded, mode="r:") as tar:
                    yield _tar_entries(tar, limits)
        except UploadRefused:
            raise
        except (*_DAMAGED, gzip.BadGzipFile) as error:
            raise _not_whole(upload, error) from None
        except OSError as error:
            # A position that cannot be comes back from the system as an invalid argument.
            if error.errno != errno.EINVAL:
                raise
            raise _not_whole(upload, error) from None


def _tar_entries(tar: tarfile.TarFile, limits: UploadLimits) -> list[_Entry]:
    found, total = [], 0
    for count, member in enumerate(tar, 1):
        total += max(0, member.size)
        _check_amount(count, total, limits)
        path = _checked_path(member.name)
        if member.isdir():
            continue
        if not member.isreg() or member.sparse is not None:
            raise UploadRefused(
                f"{member.name} is a link, a device or sparse: only plain files are taken."
            )

        def opened(member: tarfile.TarInfo = member) -> IO[bytes]:
            content = tar.extractfile(member)
            if content is None:
                raise UploadRefused(f"{member.name} cannot be read.")
            return content

        found.append(_Entry(path, opened))
    return found


def _zip_entries(archive: zipfile.ZipFile, limits: UploadLimits, upload_bytes: int) -> list[_Entry]:
    found, total, packed = [], 0, 0
    for count, member in enumerate(archive.infolist(), 1):
        total, packed = total + member.file_size, packed + member.compress_size
        _check_amount(count, total, limits)
        # A directory may name any size, and entries may share their bytes.
        limits.check_expansion(total, min(packed, upload_bytes))
        path = _checked_path(member.filename)
        kind = stat.S_IFMT(member.external_attr >> 16)
        if member.is_dir():
            continue
        if kind not in {0, stat.S_IFREG}:
            raise UploadRefused(
                f"{member.filename} is a link or a device: only plain files are taken."
            )
        if member.flag_bits & 1:
            raise UploadRefused(f"{member.filename} is encrypted.")

        def opened(member: zipfile.ZipInfo = member) -> IO[bytes]:
            return archive.open(member)

        found.append(_Entry(path, opened))
    return found


def _not_whole(upload: Path, error: Exception) -> UploadRefused:
    why = str(error) or type(error).__name__
    return UploadRefused(f"{upload.name} is no whole tar, tar.gz or zip: {why}.")


def _check_amount(count: int, total: int, limits: UploadLimits) -> None:
    if count > limits.entries:
        raise UploadRefused(f"There are more than {limits.entries} entries.")
    if total > limits.total_bytes:
        raise UploadRefused(
            f"It expands to more than {limits.total_bytes} bytes: upload fewer segments, "
            "or mount the folder and import it from there."
        )


def _checked_path(name: str) -> PurePosixPath:
    """Return the path of an entry; raises `UploadRefused` for one that leads out of the archive."""
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", name)
    if leads_out or "\\" in name or "\0" in name or len(name) > _LONGEST_NAME:
        raise UploadRefused(f"{name[:100]!r} is no path inside a folder.")
    return path


class _Bounded(io.RawIOBase):
    """A file of which no more is read or skipped than allowed, and never much of it at once.

    A header of a tar may announce any length for a name, and tarfile reads it into memory whole. `packed`
    says how many bytes of a compressed file were read so far; None: it is not compressed.
    """

    def __init__(
        self, file: IO[bytes], limits: UploadLimits, packed: Callable[[], int] | None
    ) -> None:
        self._file = file
        self._limits = limits
        self._packed = packed
        # What entries need besides their content: a header each, and padding.
        self._most = limits.total_bytes + (limits.total_bytes >> 4) + (64 << 20)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= 2 * _CHUNK or self._file.tell() + size > self._most:
            raise UploadRefused("It announces more bytes than an honest archive has.")
        content = self._file.read(size)
        self._check()
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_SET and offset > self._most:
            raise UploadRefused("It expands to more than the allowed size.")
        # What is skipped is expanded all the same: never much of it before it is looked at.
        while self._packed and whence == io.SEEK_SET and offset - self._file.tell() > _STEP:
            before = self._file.tell()
            if self._file.seek(before + _STEP) < before + _STEP:
                break
            self._check()
        return self._file.seek(offset, whence)

    def _check(self) -> None:
        if self._packed is not None:
            self._limits.check_expansion(self._file.tell(), self._packed())

    def tell(self) -> int:
        return self._file.tell()


class _ZipReads(io.RawIOBase):
    """A zip of which never more is read at once than the directory of the allowed entries has.

    zipfile reads a directory whole, and makes an object of every entry, before anybody can count them.
    """

    def __init__(self, file: IO[bytes], entries: int) -> None:
        self._file = file
        self._most = max(_CHUNK, entries * _DIRECTORY_ENTRY_BYTES)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        content = self._file.read(self._most + 1 if size < 0 else min(size, self._most + 1))
        if len(content) > self._most:
            raise UploadRefused("Its directory has more entries than an honest archive.")
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()
