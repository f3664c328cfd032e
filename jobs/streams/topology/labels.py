"""Names as the lines of a box: broken where a name has a seam, and shortened in their middle."""

from __future__ import annotations

LONGEST_LINE = 18
_SEAMS = frozenset("-._/: ")
_CUT = "\N{HORIZONTAL ELLIPSIS}"
# Kafka Streams numbers the nodes that it names: KSTREAM-SINK-0000000013.
_NUMBER_DIGITS = 10
_MOST_NOTES = 6
# Pixels of a letter at the size of the drawing's text, seen in several fonts; the last is for other scripts.
_WIDE, _NARROW, _OTHER = 8.1, 6.5, 11.5


def label_lines(name: str) -> tuple[str, ...]:
    """Return a name in one line or two; zeros before a generated number are left out."""
    start, dash, number = name.rpartition("-")
    if dash and len(number) == _NUMBER_DIGITS and number.isascii() and number.isdigit():
        name = f"{start}-{int(number)}"
    if len(name) <= LONGEST_LINE:
        return (name,)
    seams = [at for at, letter in enumerate(name[:-1], start=1) if letter in _SEAMS]
    seam = min(seams, key=lambda at: (abs(2 * at - len(name)), -at), default=len(name) // 2)
    return _shortened(name[:seam], LONGEST_LINE - 1), _shortened(name[seam:], 1)


def note_lines(note: str) -> tuple[str, ...]:
    """Return the lines of a note, each shortened; after some, how many more there are."""
    lines = [_shortened(line, LONGEST_LINE // 2) for line in note.split("\n")] if note else []
    more = len(lines) - _MOST_NOTES
    return tuple(lines) if more <= 1 else (*lines[:_MOST_NOTES], f"and {more} more")


def text_width(line: str) -> int:
    """Return how many pixels a line needs, rather too many than too few."""
    return round(sum(_letter_width(letter) for letter in line))


def _shortened(line: str, head: int) -> str:
    """Return a line that fits, with its first `head` letters and its last ones."""
    tail = LONGEST_LINE - 1 - head
    return line if len(line) <= LONGEST_LINE else line[:head] + _CUT + line[len(line) - tail :]


def _letter_width(letter: str) -> float:
    if not letter.isascii():
        return _OTHER
    return _WIDE if letter.isupper() or letter in "mw@%" else _NARROW
