"""Java's .properties format, exactly as java.util.Properties reads it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANKS = " \t\f"
_NATURAL_LINE = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)


class BadProperties(ValueError):
    """A line that Java would refuse."""


@dataclass(frozen=True, slots=True)
class Line:
    """A key with its value, and the number (from 1) of the line where it begins."""

    number: int
    key: str
    value: str


def read_properties(text: str) -> list[Line]:
    """Return all settings in their order, repeated ones too; raises `BadProperties` naming the line."""
    return [_split(number, line) for number, line in _logical_lines(text)]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines joined where a backslash ends them; comments are never joined, blank lines end one."""
    joined, began, continues = "", 0, False
    for number, natural in enumerate(_NATURAL_LINE.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if not joined:
            if not line or line[0] in "#!":
                continues = False
                continue
            began = began if continues else number
        continues = _ends_with_odd_backslashes(line)
        joined += line[:-1] if continues else line
        if not continues and joined:
            yield began, joined
            joined = ""
    if joined:
        yield began, joined


def _ends_with_odd_backslashes(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(number: int, line: str) -> Line:
    end = _key_end(line)
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return Line(number, _unescape(number, line[:end]), _unescape(number, rest))


def _key_end(line: str) -> int:
    escaped = False
    for at, character in enumerate(line):
        if not escaped and character in f"=:{_BLANKS}":
            return at
        escaped = character == "\\" and not escaped
    return len(line)


def _unescape(number: int, text: str) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        found = match[1]
        if len(found) > 1:
            return chr(int(found[1:], 16))
        if found == "u":
            raise BadProperties(f"line {number}: \\u is not followed by four hexadecimal digits")
        return _ESCAPES.get(found, found)

    replaced = _ESCAPE.sub(replace, text)
    return replaced.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def write_properties(settings: list[tuple[str, str]]) -> str:
    """Return settings as text that Java, and `mm2_properties`, read back the same."""
    return "".join(f"{_escape_key(key)} = {_escape(value)}\n" for key, value in settings)


def _escape_key(key: str) -> str:
    return "".join(f"\\{c}" if c in "=: #!" else _escape_one(c) for c in key)


def _escape(text: str) -> str:
    escaped = "".join(_escape_one(character) for character in text)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape_one(character: str) -> str:
    named = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    if character in named:
        return named[character]
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
