"""Files that people upload: small ones are kept in memory, larger ones not at all, archives on disk."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import (
    MemoryFileUploadHandler,
    StopUpload,
    TemporaryFileUploadHandler,
)
from django.http import HttpRequest

LARGEST_UPLOAD_BYTES = 5 * 1024 * 1024
# What stands around a file in a form: other fields, boundaries.
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


def is_too_large(request: HttpRequest) -> bool:
    """Say whether a request came with more than a form with a file can hold."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return length.isdecimal() and int(length) > LARGEST_UPLOAD_BYTES + _AROUND_BYTES
