"""Files that people upload: small ones in memory, larger ones not at all; archives and lists on disk."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import (
    MemoryFileUploadHandler,
    SkipFile,
    StopUpload,
    TemporaryFileUploadHandler,
)
from django.http import HttpRequest

LARGEST_UPLOAD_BYTES = 5 * 1024 * 1024
# Allowance for the other fields and the boundaries of a form.
_AROUND_BYTES = 512 * 1024


class BoundedUpload(MemoryFileUploadHandler):
    """Keep files of up to LARGEST_UPLOAD_BYTES; of a larger one nothing reaches memory or disk."""

    def handle_raw_input(self, input_data: Any, META: Any, content_length: int, *rest: Any) -> None:  # noqa: N803  Django's name
        """Take every file: how large one is shows only while it comes."""
        self.activated = True
        self.taken = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Take a part of a file, or give the file up; the rest is read and thrown away."""
        self.taken += len(raw_data)
        if self.taken > LARGEST_UPLOAD_BYTES:
            raise StopUpload(connection_reset=False)
        return super().receive_data_chunk(raw_data, start)


class BoundedFile(TemporaryFileUploadHandler):
    """Put a file of up to METADATA_UPLOAD_MB on disk; of a larger one nothing stays."""

    taken = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a part of the file, or give it up."""
        self.taken += len(raw_data)
        if self.taken > settings.METADATA_UPLOAD_MB * 1024 * 1024:
            raise StopUpload(connection_reset=True)
        super().receive_data_chunk(raw_data, start)


class BoundedList(TemporaryFileUploadHandler):
    """Put a list of up to ANALYSIS_UPLOAD_MB on disk; a larger one is skipped, the rest of the form is read.

    `too_large` are the fields whose files were skipped.
    """

    taken = 0

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.too_large: set[str] = set()

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin with another file."""
        self.taken = 0
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Take a part of the file, or give it up."""
        self.taken += len(raw_data)
        if self.taken > settings.ANALYSIS_UPLOAD_MB * 1024 * 1024:
            self.too_large.add(str(self.field_name))
            raise SkipFile
        super().receive_data_chunk(raw_data, start)


def too_large_in(request: Any) -> set[str]:
    """Return the fields of a request whose files `BoundedList` skipped; read the request before."""
    return {
        name
        for one in request.upload_handlers
        if isinstance(one, BoundedList)
        for name in one.too_large
    }


def is_too_large(request: HttpRequest) -> bool:
    """Say whether a request came with more than a form with a file can hold."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return length.isdecimal() and int(length) > LARGEST_UPLOAD_BYTES + _AROUND_BYTES
