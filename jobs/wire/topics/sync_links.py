"""How a reader of offset syncs knows that none is missing: what crosslog notes beside them.

Compaction drops syncs, and MirrorMaker 2 tells only some. Beside the first of the syncs of a partition that
are written together stands the pair that was told before it, and how many they are; they have offsets of the
topic one after the other. Where that is what a reader finds, no sync is missing between two of them, so every
record between has the difference of the first. MirrorMaker 2 does not look at headers.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from jobs.wire.batches.records import Headers

FOLLOWS_HEADER = "crosslog.follows"
TOGETHER_HEADER = "crosslog.together"
# Decimal digits of a number in a note; with more it is none.
MOST_DIGITS = 18

Pair = tuple[int, int]


def link_headers(follows: Pair | None, together: int) -> Headers:
    """Return the headers of the first of `together` syncs; `follows` None: nobody knows what was told."""
    found: list[tuple[bytes, bytes | None]] = []
    if follows is not None:
        found.append((FOLLOWS_HEADER.encode(), b"%d:%d" % follows))
    if together > 1:
        found.append((TOGETHER_HEADER.encode(), b"%d" % together))
    return tuple(found)


class Note(NamedTuple):
    """What stands beside a sync: the pair told before it (None: not known), and how many come together."""

    follows: Pair | None = None
    together: int = 1


class SyncLinks:
    """Says of each sync, in the order of their topic, which one it follows; keeps one number a topic."""

    def __init__(self) -> None:
        self._where: Hashable = None
        self._last: Pair | None = None
        self._next_offset = 0
        self._left = 0

    def follows(self, at: int, where: Hashable, pair: Pair, headers: object = None) -> Pair | None:
        """Return the pair that was told right before; None: not known. `at` is the record's own offset.

        The answer holds only where the reader's last sync of this partition is that pair.
        """
        note = note_of(headers)
        if note is None:
            is_next = self._left > 0 and (where, at) == (self._where, self._next_offset)
            note = Note(self._last, self._left) if is_next else Note()
        self._where, self._last = where, pair
        self._next_offset, self._left = at + 1, max(0, note.together - 1)
        return note.follows


def note_of(headers: object) -> Note | None:
    """Return what headers say, as the client library gives them or from a batch; None: nothing of this.

    Of several headers of one name the last counts; what cannot be read counts as absent.
    """
    values: dict[bytes, bytes] = {}
    for name, value in headers if isinstance(headers, list | tuple) else ():
        raw = name.encode("utf-8", "replace") if isinstance(name, str) else name
        if raw in _NAMES and isinstance(value, bytes):
            values[raw] = value
    if not values:
        return None
    upstream, _, downstream = values.get(_NAMES[0], b"").partition(b":")
    pair = (_decimal(upstream), _decimal(downstream))
    together = _decimal(values.get(_NAMES[1], b""))
    follows = None if pair[0] is None or pair[1] is None else (pair[0], pair[1])
    return Note(follows, 1 if together is None else together)


_NAMES = (FOLLOWS_HEADER.encode(), TOGETHER_HEADER.encode())


def _decimal(value: bytes) -> int | None:
    return int(value) if value.isdigit() and len(value) <= MOST_DIGITS else None
