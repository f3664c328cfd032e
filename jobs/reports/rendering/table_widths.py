"""How wide the columns of a printed table are, how small its letters, and where long names break. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

# Of DejaVu Sans, in em: digits have 0.636, names a little less.
_CHARACTER = 0.61
# How much wider headings are.
_BOLD = 1.14
_PADDING = 8.0
_SIZES = (8.0, 7.5, 7.0, 6.5, 6.0)
_SMALL_SIZES = (5.5, 5.0, 4.5, 4.0)
_MOST_NEEDED, _MOST_WANTED, _MOST_NUMERIC = 14, 60, 30
_FEWEST = 4
# Least characters of a text in a narrow table: a date.
_TIGHT = 10
# Characters that stay together in a name without separators.
_CHUNK = 4
BREAK = "\N{ZERO WIDTH SPACE}"
_AFTER = re.compile(r"([._:/@=,;-]+)")


@dataclass(frozen=True, slots=True)
class Widths:
    """The size of letters and the widths of the columns in points; `is_flipped`: on a page on its side."""

    size: float
    columns: tuple[float, ...]
    is_flipped: bool

    def room(self, column: int) -> int:
        """Return how many characters a line of a column holds."""
        inner = self.columns[column] - _PADDING
        return max(1, int(inner / (self.size * _CHARACTER) + 0.1))


def widths_of(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    upright: float,
    flipped: float,
) -> Widths:
    """Return the widths of a table on a page whose text is `upright` points wide, `flipped` on its side."""
    needed, wanted, least_needed = [], [], []
    for at, head in enumerate(heads):
        longest = max((len(row[at]) for row in rows), default=0)
        number = min(longest, _MOST_NUMERIC)
        word = math.ceil(_BOLD * max(map(len, head.split()), default=0))
        least = number if numeric[at] else min(longest, _MOST_NEEDED)
        needed.append(max(_FEWEST, least, min(word, _MOST_NEEDED)))
        tight = min(least, number if numeric[at] else _TIGHT)
        least_needed.append(max(_FEWEST, tight, min(word, _MOST_NEEDED)))
        most = number if numeric[at] else min(longest, _MOST_WANTED)
        wanted.append(max(needed[-1], most, min(len(head), 2 * _MOST_NEEDED)))
    for size in _SIZES:
        if _width(needed, size) <= upright:
            return Widths(size, _shared(needed, wanted, size, upright), is_flipped=False)
    if _width(least_needed, _SIZES[-1]) <= upright:
        shared = _shared(least_needed, wanted, _SIZES[-1], upright)
        return Widths(_SIZES[-1], shared, is_flipped=False)
    for size in (*_SIZES, *_SMALL_SIZES):
        if _width(needed, size) <= flipped:
            break
    return Widths(size, _shared(needed, wanted, size, flipped), is_flipped=True)


def broken(text: str, room: int) -> str:
    """Return a text with places where words longer than a line break: after separators, else anywhere."""
    if len(text) <= room:
        return text
    return " ".join(_word(word, room) for word in text.split(" "))


def _word(word: str, room: int) -> str:
    if len(word) <= room:
        return word
    parts = _AFTER.sub(rf"\1{BREAK}", word).split(BREAK)
    step = min(_CHUNK, room)
    return BREAK.join(
        piece
        for part in parts
        for piece in ([part] if len(part) <= room else _chunks(part, step))
        if piece
    )


def _chunks(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]


def _width(characters: Sequence[int], size: float) -> float:
    return sum(characters) * size * _CHARACTER + _PADDING * len(characters)


def _shared(
    needed: Sequence[int], wanted: Sequence[int], size: float, width: float
) -> tuple[float, ...]:
    """Return the widths: what is needed, and of the rest shares by what is wanted more."""
    rest = width - _width(needed, size)
    more = [want - need for need, want in zip(needed, wanted, strict=True)]
    total = sum(more)
    if rest < 0:
        return tuple(need * width / sum(needed) for need in needed)
    asked = total * size * _CHARACTER
    # When all have what they want, the rest goes to all alike.
    extra, spare = (rest, 0.0) if asked > rest else (asked, (rest - asked) / len(needed))
    return tuple(
        round(
            need * size * _CHARACTER + _PADDING + (extra * add / total if total else 0) + spare, 2
        )
        for need, add in zip(needed, more, strict=True)
    )
