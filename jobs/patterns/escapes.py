"""What stands behind a backslash, inside a class and outside: a class of characters, or one of them. Pure."""

from __future__ import annotations

from jobs.patterns.character_classes import CASED, CATEGORIES, LAST, POSIX, SHORT, Ranges, others
from jobs.patterns.cursor import Cursor

_CONTROLS = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "a": 0x07, "e": 0x1B}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")
# \0377 is the highest: the third digit counts only then.
_HIGHEST_OCTAL = 0o377
# Each has hundreds of ranges.
_MOST_CATEGORIES = 20

# Ranges of characters, and classes that RE2 knows by name.
Class = tuple[Ranges, tuple[str, ...]]


class Escapes:
    """Reads behind the backslashes of one pattern."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._categories = 0

    def read_class(self, letter: str, begin: int, *, ignore_case: bool) -> Class | None:
        """Return the class that this letter behind a backslash begins, None when it begins none."""
        if letter.lower() in SHORT:
            found = SHORT[letter.lower()]
            return (found if letter.islower() else others(found)), ()
        return self._property(letter, begin, ignore_case=ignore_case) if letter in "pP" else None

    def read_character(self, letter: str, begin: int) -> int:
        """Return the character that this letter behind a backslash means, or begins."""
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "c":
            return ord(self._cursor.take("\\c", begin)) ^ 64
        if letter == "0":
            return self._octal(begin)
        if letter in "ux":
            return self._hexadecimal(self._digits(letter, begin), begin)
        if letter.isascii() and letter.isalnum():
            self._cursor.refuse(f"\\{letter} means nothing", begin)
        return ord(letter)

    def _property(self, letter: str, begin: int, *, ignore_case: bool) -> Class:
        cursor = self._cursor
        name = cursor.take(f"\\{letter}", begin)
        if name == "{":
            name = cursor.take_until("}", f"\\{letter}{{", begin)
        written, plain = f"\\{letter}{{{name[:30]}}}", name.removeprefix("Is")
        if ignore_case and plain in CASED:
            cursor.cannot(f"{written} with (?i)", begin, "Write the letters: [a-zA-Z].")
        if name in POSIX:
            return (POSIX[name] if letter == "p" else others(POSIX[name])), ()
        if plain not in CATEGORIES:
            cursor.cannot(f"the class {written}", begin, "Write its characters: [a-zA-Z0-9].")
        self._categories += 1
        if self._categories > _MOST_CATEGORIES:
            hint = f"The most is {_MOST_CATEGORIES} in a pattern."
            cursor.cannot(f"one more category {written}", begin, hint)
        return (), (f"\\{letter}{{{plain}}}",)

    def _digits(self, letter: str, begin: int) -> str:
        cursor = self._cursor
        if letter == "x" and cursor.peek("{"):
            cursor.at += 1
            return cursor.take_until("}", "\\x{", begin)
        return "".join(cursor.take(f"\\{letter}", begin) for _ in range(4 if letter == "u" else 2))

    def _hexadecimal(self, digits: str, begin: int) -> int:
        is_number = digits != "" and set(digits) <= _HEXADECIMAL
        point = int(digits, 16) if is_number else LAST + 1
        if point > LAST:
            self._cursor.refuse(f"{digits[:20]!r} is no character's number", begin)
        return point

    def _octal(self, begin: int) -> int:
        cursor = self._cursor
        point = int(cursor.text[cursor.at], 8) if self._is_octal() else LAST
        if point == LAST:
            cursor.refuse("\\0 is not complete", begin)
        cursor.at += 1
        for _ in range(2):
            if self._is_octal() and point * 8 <= _HIGHEST_OCTAL:
                point = point * 8 + int(cursor.text[cursor.at], 8)
                cursor.at += 1
        return point

    def _is_octal(self) -> bool:
        return not self._cursor.ends() and self._cursor.text[self._cursor.at] in _OCTAL
