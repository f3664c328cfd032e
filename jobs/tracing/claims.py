"""Rules of claim checks: where pointers lead, and which pointers and objects have no counterpart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from jobs.wire.rebatch.table import Int64s

_SCHEMES = ("s3://", "s3a://", "s3n://")


def object_path(uri: str) -> str | None:
    """Return `bucket/key` of the URI of an S3 object, None for another one, or one with a version.

    URL encoding is decoded: some programs encode keys, others do not. It is compared with decoded keys.
    """
    scheme = next((one for one in _SCHEMES if uri.lower().startswith(one)), None)
    return unquote(uri[len(scheme) :]) if scheme and not {"?", "#"} & set(uri) else None


def store_path(text: str) -> str:
    """Return `bucket/prefix` of a store `s3://bucket/prefix`; raises ValueError."""
    path = text.strip().removeprefix("s3://").rstrip("/")
    if not text.strip().startswith("s3://") or not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise ValueError("A store is written as s3://bucket/prefix.")
    return path


def is_within(path: str, stores: Iterable[str]) -> bool:
    """Return whether an object or a prefix lies in one of these stores (`bucket/prefix`)."""
    return any(path == one or path.startswith(f"{one}/") for one in stores)


class Compared(NamedTuple):
    """`sizes`: of the object of each pointer, -1: it is not there; `orphans`: objects without pointer."""

    sizes: Int64s
    orphans: Int64s


def compare(
    pointers: Int64s, objects: Int64s, sizes: Int64s, changed_ms: Int64s, settled_ms: int
) -> Compared:
    """Compare hashes of pointers with those of the objects of a store that was listed after them.

    Of objects written at `settled_ms` or later, the pointer may not have been read: none is an orphan.
    """
    # The console reads this module: it does not need numpy.
    import numpy as np

    order = np.argsort(objects)
    at = np.searchsorted(objects[order], pointers)
    found = np.full(len(pointers), -1, np.int64)
    if len(objects):
        places = order[np.minimum(at, len(objects) - 1)]
        found = np.where(objects[places] == pointers, sizes[places], -1)
    is_orphan = ~np.isin(objects, pointers) & (changed_ms < settled_ms)
    return Compared(found, np.flatnonzero(is_orphan))
