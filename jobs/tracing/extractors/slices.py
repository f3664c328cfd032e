"""Texts of many records as places in a body of bytes: hashed and counted without a Python text for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from jobs.wire.rebatch.columns import slice_hashes
from jobs.wire.rebatch.table import Content, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """A text in UTF-8 for each record: `at` and `sizes` in `body`; a size of -1: absent."""

    body: Content
    at: Int64s
    sizes: Int64s

    def __len__(self) -> int:
        return len(self.at)

    @property
    def is_present(self) -> np.ndarray:
        """Which are there, as a mask."""
        return self.sizes >= 0

    def raw(self, index: int) -> bytes | None:
        """Return the bytes of a record."""
        at, size = int(self.at[index]), int(self.sizes[index])
        return None if size < 0 else bytes(self.body[at : at + size])

    def text(self, index: int) -> str | None:
        """Return the text of a record; bytes that are no UTF-8 are replaced."""
        raw = self.raw(index)
        return None if raw is None else raw.decode("utf-8", "replace")

    def hashes(self) -> Int64s:
        """Return hashes of 64 bits: the same for the same text, 0 where it is absent."""
        return slice_hashes(self.body, self.at, self.sizes)

    def or_else(self, other: Slices) -> Slices:
        """Return these, and the other's where they are absent."""
        if bool(self.is_present.all()) or not bool(other.is_present.any()):
            return self
        if not bool(self.is_present.any()):
            return other
        use = ~self.is_present
        if self.body is other.body:
            shift, body = 0, self.body
        else:
            shift, body = len(self.body), b"".join((self.body, other.body))
        at = np.where(use, other.at + shift, self.at)
        return Slices(body, at, np.where(use, other.sizes, self.sizes))


def slices_of(texts: Iterable[bytes | None]) -> Slices:
    """Return the slices of texts in UTF-8."""
    kept = list(texts)
    sizes = np.fromiter((-1 if one is None else len(one) for one in kept), np.int64, len(kept))
    ends = np.cumsum(np.maximum(sizes, 0))
    return Slices(b"".join(one for one in kept if one), ends - np.maximum(sizes, 0), sizes)


def absent(count: int) -> Slices:
    """Return slices of which none is there."""
    return Slices(b"", np.zeros(count, np.int64), np.full(count, -1, np.int64))


def mapped(slices: Slices, read: Callable[[bytes], bytes | None]) -> Slices:
    """Return what a function makes of each text; it is called once for equal texts."""
    codes, firsts = distinct(slices.hashes())
    made = slices_of(_made(slices, int(one), read) for one in firsts)
    return Slices(made.body, made.at[codes], made.sizes[codes])


def distinct(hashes: Int64s) -> tuple[Int64s, Int64s]:
    """Return for each record the code of its hash, and for each code its first record."""
    _, firsts, codes = np.unique(hashes, return_index=True, return_inverse=True)
    return codes.astype(np.int64), firsts.astype(np.int64)


def _made(slices: Slices, index: int, read: Callable[[bytes], bytes | None]) -> bytes | None:
    raw = slices.raw(index)
    return None if raw is None else read(raw)


@dataclass(slots=True)
class Codebook:
    """Numbers for texts that come again and again, as steps: `texts[code]`; -1: absent.

    At most `most` texts get a code of their own; later ones get that of `rest`.
    """

    most: int = 1 << 20
    rest: str = "(others)"
    texts: list[str] = field(default_factory=list)
    _codes: dict[int, int] = field(default_factory=dict)

    def codes(self, slices: Slices) -> Int64s:
        """Return the code of each text."""
        hashes = slices.hashes()
        inverse, firsts = distinct(hashes)
        found = [self._code(slices, int(one), int(hashes[one])) for one in firsts]
        return np.array(found, np.int64)[inverse] if found else np.zeros(0, np.int64)

    def _code(self, slices: Slices, index: int, hashed: int) -> int:
        if slices.sizes[index] < 0:
            return -1
        if hashed not in self._codes:
            is_full = len(self.texts) >= self.most
            text = self.rest if is_full else slices.text(index) or ""
            if not is_full or self.texts[-1] != self.rest:
                self.texts.append(text)
            if is_full:
                return len(self.texts) - 1
            self._codes[hashed] = len(self.texts) - 1
        return self._codes[hashed]


def merged_codes(books: Sequence[Sequence[str]]) -> tuple[list[str], list[Int64s]]:
    """Return the texts of several books once each, and for each book its codes in them."""
    numbers: dict[str, int] = {}
    found = [
        np.array([numbers.setdefault(text, len(numbers)) for text in book], np.int64)
        for book in books
    ]
    return list(numbers), found
