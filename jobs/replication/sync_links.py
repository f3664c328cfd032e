"""How a reader of offset syncs knows that none is missing: what crosslog notes beside them.

Compaction drops syncs, and MirrorMaker 2 tells only some. Beside the first of the syncs of a partition that
are written together stands the pair that was told before it, and how many they are; they have offsets of the
topic one after the other. Where that is what a reader finds, no sync is missing between two of them, so every
record between has the difference of the first. MirrorMaker 2 does not look at headers.
"""

from __future__ import annotations

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.sync_tracker import Pair

FOLLOWS_HEADER = "crosslog.follows"
TOGETHER_HEADER = "crosslog.together"

Headers = tuple[tuple[bytes, bytes | None], ...]


def link_headers(follows: Pair | None, together: int) -> Headers:
    """Return the headers of the first of `together` syncs; `follows` None: nobody knows what was told."""
    found: list[tuple[bytes, bytes | None]] = []
    if follows is not None:
        found.append((FOLLOWS_HEADER.encode(), b"%d:%d" % follows))
    if together > 1:
        found.append((TOGETHER_HEADER.encode(), b"%d" % together))
    return tuple(found)


class SyncLinks:
    """Says of each sync, in the order of their topic, which one it follows; keeps one number a topic."""

    def __init__(self) -> None:
        self._where: TopicPartition | None = None
        self._last: Pair | None = None
        self._next_offset = 0
        self._left = 0

    def follows(
        self, at: int, where: TopicPartition, pair: Pair, headers: object = None
    ) -> Pair | None:
        """Return the pair that was told right before; None: not known. `at` is the record's own offset.

        The answer holds only where the reader's last sync of this partition is that pair.
        """
        notes = _notes(headers)
        is_next = self._left > 0 and (where, at) == (self._where, self._next_offset)
        follows = self._last if is_next and not notes else _pair(notes.get(FOLLOWS_HEADER))
        together = self._left if is_next and not notes else _number(notes.get(TOGETHER_HEADER))
        self._where, self._last = where, pair
        self._next_offset, self._left = at + 1, max(0, together - 1)
        return follows


def _notes(headers: object) -> dict[str, bytes]:
    pairs = headers if isinstance(headers, list | tuple) else ()
    known = (FOLLOWS_HEADER, TOGETHER_HEADER)
    return {name: value for name, value in pairs if name in known and isinstance(value, bytes)}


def _pair(value: bytes | None) -> Pair | None:
    upstream, _, downstream = (value or b"").partition(b":")
    return (int(upstream), int(downstream)) if upstream.isdigit() and downstream.isdigit() else None


def _number(value: bytes | None) -> int:
    return int(value) if value is not None and value.isdigit() else 1
