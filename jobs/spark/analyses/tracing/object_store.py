"""Objects of an S3-compatible store: which stores may be read, and what one of them has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from jobs.cluster.errors import InvalidFields
from jobs.tracing.claims import is_within, store_path

if TYPE_CHECKING:
    from jobs.wire.rebatch.table import Int64s

MOST_OBJECTS = 1_000_000


class Objects(NamedTuple):
    """Objects of a store: `bucket/key`, bytes, and when they were written (Unix ms)."""

    paths: list[str]
    sizes: Int64s
    changed_ms: Int64s


def allowed_store(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return `bucket/prefix` of a store that the installation allows to read; raises InvalidFields."""
    try:
        path = store_path(text)
        stores = [
            store_path(one)
            for one in environ.get("CROSSLOG_OBJECT_STORES", "").split(",")
            if one.strip()
        ]
    except ValueError as error:
        raise InvalidFields({"store": str(error)}) from None
    if not is_within(path, stores):
        raise InvalidFields(
            {"store": "It is not within one of the stores that CROSSLOG_OBJECT_STORES names."}
        )
    return path


def list_objects(path: str, environ: Mapping[str, str] = os.environ) -> Objects:
    """List a store with the credentials of the environment; raises OSError."""
    import numpy as np
    from pyarrow import fs  # type: ignore[import-untyped] # it has no types

    endpoint = urlsplit(environ.get("CROSSLOG_OBJECT_STORE_ENDPOINT", ""))
    more = (
        {"endpoint_override": endpoint.netloc, "scheme": endpoint.scheme} if endpoint.netloc else {}
    )
    selector = fs.FileSelector(path, recursive=True)
    store = fs.S3FileSystem(connect_timeout=10, request_timeout=60, **more)
    try:
        found = store.get_file_info(selector)
    except FileNotFoundError:
        # The bucket is there: it has no object with the prefix.
        found = []
    files = [one for one in found if one.type == fs.FileType.File]
    if len(files) > MOST_OBJECTS:
        raise OSError(f"it has more than {MOST_OBJECTS:,} objects")
    return Objects(
        [one.path for one in files],
        np.array([one.size for one in files], np.int64),
        np.array([one.mtime_ns // 1_000_000 for one in files], np.int64),
    )
