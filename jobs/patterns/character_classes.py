"""Sets of characters as Java's regular expressions name them, written for RE2. Pure."""

from __future__ import annotations

from collections.abc import Iterable

Range = tuple[int, int]
Ranges = tuple[Range, ...]

LAST = 0x10FFFF
# What ends a line for Java (`.` stops there), and what \h and \v are: Pattern's javadoc.
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_DIGITS: Ranges = ((0x30, 0x39),)
_UPPER: Ranges = ((0x41, 0x5A),)
_LOWER: Ranges = ((0x61, 0x7A),)
_PUNCTUATION: Ranges = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))
# By the letter behind the backslash; the capital letter is everything else.
SHORT: dict[str, Ranges] = {
    "d": _DIGITS,
    "w": (*_DIGITS, *_UPPER, (0x5F, 0x5F), *_LOWER),
    "s": ((0x09, 0x0D), (0x20, 0x20)),
    "h": (
        *((0x09, 0x09), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E)),
        *((0x2000, 0x200A), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
    ),
    "v": ((0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029)),
}
# POSIX's classes, which are ASCII in Java: \p{Alpha}.
POSIX: dict[str, Ranges] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0x00, 0x7F),),
    "Alpha": (*_UPPER, *_LOWER),
    "Digit": _DIGITS,
    "Alnum": (*_DIGITS, *_UPPER, *_LOWER),
    "Punct": _PUNCTUATION,
    "Graph": ((0x21, 0x7E),),
    "Print": ((0x20, 0x7E),),
    "Blank": ((0x09, 0x09), (0x20, 0x20)),
    "Cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "XDigit": (*_DIGITS, (0x41, 0x46), (0x61, 0x66)),
    "Space": ((0x09, 0x0D), (0x20, 0x20)),
}
# Unicode's general categories, of RE2's version of Unicode, which may be newer than a Java's.
CATEGORIES = frozenset(
    {
        *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No"),
        *(
            "P",
            "Pc",
            "Pd",
            "Ps",
            "Pe",
            "Pi",
            "Pf",
            "Po",
            "S",
            "Sm",
            "Sc",
            "Sk",
            "So",
            "Z",
            "Zs",
            "Zl",
            "Zp",
        ),
    }
)
# With (?i), versions of Java differ in whether these take the other case.
CASED = frozenset({"Lower", "Upper", "Lu", "Ll", "Lt"})


def others(ranges: Ranges) -> Ranges:
    """Return every character that is in none of these ranges."""
    found, at = [], 0
    for low, high in sorted(ranges):
        if low > at:
            found.append((at, low - 1))
        at = max(at, high + 1)
    return (*found, (at, LAST)) if at <= LAST else tuple(found)


def in_both_cases(ranges: Iterable[Range]) -> Ranges:
    """Return the ranges with the other case of each ASCII letter, and of no other letter: Java's (?i)."""
    found = list(ranges)
    for low, high in tuple(found):
        for first, last, distance in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
            least, most = max(low, first), min(high, last)
            if least <= most:
                found.append((least + distance, most + distance))
    return tuple(found)


def one_of(ranges: Iterable[Range], also: Iterable[str] = (), *, is_negated: bool = False) -> str:
    """Return RE2's class of these ranges and of `also`, which are classes like `\\p{L}`."""
    inside = "".join(
        code(low) if low == high else f"{code(low)}-{code(high)}" for low, high in ranges
    )
    return f"[{'^' if is_negated else ''}{inside}{''.join(also)}]"


def code(point: int) -> str:
    """Return how RE2 reads exactly this character, inside a class and outside."""
    character = chr(point)
    is_plain = character.isascii() and character.isalnum()
    return character if is_plain else f"\\x{{{point:x}}}"
