"""How a reader of offset syncs knows that none is missing: what crosslog notes beside them.

Compaction drops syncs, and MirrorMaker 2 tells only some. Beside the first of the syncs of a partition that
are written together stands the pair that was told before it, and how many they are; they have offsets of the
topic one after the other. Where that is what a reader finds, no sync is missing between two of them, so every
record between has the difference of the first. MirrorMaker 2 does not look at headers.

One record may also stand for several syncs: a chain beside it begins with the pair that was told before it,
and names those that come between that one and the record's own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from jobs.wire.batches.records import Headers
from jobs.wire.batches.varints import encode_varlong, read_varlong
from jobs.wire.errors import RecordFormatError

FOLLOWS_HEADER = "crosslog.follows"
TOGETHER_HEADER = "crosslog.together"
CHAIN_HEADER = "crosslog.chain"
# A chain is short: who has more to tell writes records.
LONGEST_CHAIN_BYTES = 16 * 1024
# All chains of one record batch together; a batch with more is damaged. They tell 4 million syncs at most.
LARGEST_CHAINS_BYTES = 8 * 1024 * 1024
HIGHEST = 1 << 62
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


def chain_header(chain: Sequence[Pair]) -> Headers:
    """Return the header of a sync that stands for all pairs of a chain but the first, and for itself."""
    return ((CHAIN_HEADER.encode(), encode_chain(chain)),)


def encode_chain(chain: Sequence[Pair]) -> bytes:
    """Return pairs as the value of a header: the first one, then of each how much both offsets grew.

    Numbers are varlongs; of the second offset stands how much more it grew than the first.
    """
    found = [encode_varlong(chain[0][0]), encode_varlong(chain[0][1])]
    for before, pair in pairwise(chain):
        grown = pair[0] - before[0]
        found += [encode_varlong(grown), encode_varlong(pair[1] - before[1] - grown)]
    return b"".join(found)


def decode_chain(value: object) -> tuple[Pair, ...]:
    """Return the pairs that `encode_chain` wrote; none where the bytes are something else.

    Both offsets of each are at least 0 and higher than those of the one before.
    """
    if not isinstance(value, bytes) or len(value) > LONGEST_CHAIN_BYTES:
        return ()
    found: list[Pair] = []
    at, upstream, downstream = 0, 0, 0
    try:
        while at < len(value):
            grown, at = read_varlong(value, at)
            more, at = read_varlong(value, at)
            upstream, downstream = upstream + grown, downstream + more + (grown if found else 0)
            is_higher = not found or (upstream > found[-1][0] and downstream > found[-1][1])
            if (
                not is_higher
                or min(upstream, downstream) < 0
                or max(upstream, downstream) >= HIGHEST
            ):
                return ()
            found.append((upstream, downstream))
    except RecordFormatError:
        return ()
    return tuple(found)


class Note(NamedTuple):
    """What stands beside a sync: the pair told before it (None: not known), and how many come together.

    `chain` is the value of that header.
    """

    follows: Pair | None = None
    together: int = 1
    chain: object = None


class SyncLinks:
    """Says of each sync, in the order of their topic, which one it follows; keeps one number a topic."""

    def __init__(self) -> None:
        self._where: Hashable = None
        self._last: Pair | None = None
        self._next_offset = 0
        self._left = 0

    def told(
        self, at: int, where: Hashable, pair: Pair, headers: object = None
    ) -> list[tuple[Pair, Pair | None]]:
        """Return what a record tells, in order: pairs, its own last, each with the one told right before.

        None: that is not known. `at` is the record's own offset. The answer holds only where the reader's
        last sync of this partition is the pair that the first one follows.
        """
        note = note_of(headers)
        if note is None:
            is_next = self._left > 0 and (where, at) == (self._where, self._next_offset)
            note = Note(self._last, self._left) if is_next else Note()
        chain = decode_chain(note.chain)
        if chain and chain[-1][0] < pair[0] and chain[-1][1] < pair[1]:
            note = Note(chain[-1])
        else:
            chain = ()
        self._where, self._last = where, pair
        self._next_offset, self._left = at + 1, max(0, note.together - 1)
        return [*((change, before) for before, change in pairwise(chain)), (pair, note.follows)]

    def follows(self, at: int, where: Hashable, pair: Pair, headers: object = None) -> Pair | None:
        """Return the pair that was told right before a record's own, see `told`."""
        return self.told(at, where, pair, headers)[-1][1]


def chain_bytes(headers: Headers) -> int:
    """Return how long the chain is that counts of a record in a batch, sound or not; 0 without any."""
    values = [value for name, value in headers if name == _CHAIN]
    return len(values[-1] or b"") if values else 0


def note_of(headers: object) -> Note | None:
    """Return what headers say, as the client library gives them or from a batch; None: nothing of this.

    Of several headers of one name the last counts; what cannot be read counts as absent. But whoever has a
    chain, be it a bad one, does not follow the record before it only by its place.
    """
    values: dict[bytes, bytes] = {}
    chain: object = None
    is_chained = False
    for name, value in headers if isinstance(headers, list | tuple) else ():
        raw = name.encode("utf-8", "replace") if isinstance(name, str) else name
        if raw == _CHAIN:
            is_chained, chain = True, value
        elif raw in _NAMES and isinstance(value, bytes):
            values[raw] = value
    if not values and not is_chained:
        return None
    upstream, _, downstream = values.get(_NAMES[0], b"").partition(b":")
    pair = (_decimal(upstream), _decimal(downstream))
    together = _decimal(values.get(_NAMES[1], b""))
    follows = None if pair[0] is None or pair[1] is None else (pair[0], pair[1])
    return Note(follows, 1 if together is None else together, chain)


_NAMES = (FOLLOWS_HEADER.encode(), TOGETHER_HEADER.encode())
_CHAIN = CHAIN_HEADER.encode()


def _decimal(value: bytes) -> int | None:
    return int(value) if value.isdigit() and len(value) <= MOST_DIGITS else None
