"""Untrusted text for terminals and logs: control characters have no effect.

A name may hold characters that move the cursor, colour what follows, turn the direction of a line or begin
a line of their own. They are shown as `\\u001b`, which JSON understands, too. Path and query of a URL may be
a secret: they are left out.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

# Control characters, marks that turn the direction of text, halves of surrogate pairs, ends of lines.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# What has no ink of its own beside them: blanks, marks on the letter before, private use, unassigned.
_INKLESS = _UNSEEN | {"Zs", "Mn", "Me", "Co", "Cn"}
# Fillers of Hangul and the empty pattern of Braille: letters and signs without ink.
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")
_URL = re.compile(
    r"((?:http|ws|ftp)s?://)(?:[^\s/?#]*@)?([^\s/?#<>\"'`,;()|]*)([/?#][^\s<>\"'`]*)?",
    re.IGNORECASE,
)
# User and password of a URL of any other kind.
_USER = re.compile(r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{1,20}://)[^\s/?#]*@", re.IGNORECASE)
_PLACE = r"(?:\[[^\]]*\]|[^:,]*)(?::\d*)?"
_PLACES = re.compile(f"{_PLACE}(?:,{_PLACE})*")
# Signs after a URL that belong to the sentence.
_AFTER_URL = ".,;:!?)]}"
_NO_PATH = {"", "/", "/…"}


def visible(text: str) -> str:
    """Return a text in which every character is seen; ends of lines and tabs stay."""
    return text if text.isascii() and text.isprintable() else _SUSPECT.sub(_shown, text)


def visible_line(text: str) -> str:
    """Return a text as one line: an end of a line inside it is shown, too."""
    return text if text.isprintable() else visible(text).replace("\n", "\\u000a")


def visible_bytes(value: bytes, most: int) -> str:
    """Return bytes as one line of text, hex (0x…) where they are no UTF-8; cut behind so many characters."""
    try:
        text = visible_line(value.decode())
    except UnicodeDecodeError:
        text = f"0x{value[:most].hex()}"
    return text if len(text) <= most else f"{text[:most]}…"


def without_paths(text: str, mark: Callable[[str], str] | None = None) -> str:
    """Return a text whose URLs of the web are `scheme://host:port/…`, without user, path and query.

    `mark` returns what is shown behind such a URL, for recognising it. Other URLs lose user and password.
    """

    def shown(found: re.Match[str]) -> str:
        scheme, host, rest = found.group(1), known_place(found.group(2)), found.group(3) or ""
        target = rest.rstrip(_AFTER_URL)
        if target in _NO_PATH:
            return f"{scheme}{host}{rest}"
        url = found.group()[: len(found.group()) - len(rest) + len(target)]
        return f"{scheme}{host}/…{f' {mark(url)}' if mark else ''}{rest[len(target) :]}"

    return _USER.sub(r"\1", _URL.sub(shown, text)) if "://" in text else text


def known_place(host: str) -> str:
    """Return host and port as they are; `…` for what is no such thing, as `user:half-of-a-password`."""
    return host if _PLACES.fullmatch(host) else "…"


def is_seen(letter: str) -> bool:
    """Return whether a character has ink of its own: it is no blank, no mark, no control, no filler."""
    return unicodedata.category(letter) not in _INKLESS and letter not in _FILLERS


def escaped(letter: str) -> str:
    """Return a character as `\\u001b`; beyond U+FFFF as the two halves of its pair."""
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines that may hold names of strangers: each of them stays one line."""
    sys.stdout.writelines(f"{visible_line(line)}\n" for line in lines)


class OutputClosed(BaseException):
    """The output takes no more; like Ctrl-C, it ends a command.

    `code` is 0 where the reader has closed it, as `head` does, and 1 where it cannot be written.
    """

    def __init__(self, code: int = 0) -> None:
        self.code = code


@contextmanager
def visible_output() -> Iterator[None]:
    """Show everything that is printed meanwhile, on stdout and on stderr; raises `OutputClosed`."""
    with (
        redirect_stdout(cast("TextIO", _Visible(sys.stdout or _nowhere()))),
        redirect_stderr(cast("TextIO", _Visible(sys.stderr or _nowhere()))),
    ):
        try:
            yield
        finally:
            sys.stdout.flush()


class _Visible:
    """A stream that shows what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._closes_quietly():
            return self._stream.write(visible(text))

    def flush(self) -> None:
        with self._closes_quietly():
            self._stream.flush()

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _closes_quietly(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._drop()
            raise OutputClosed from None
        except OSError as error:
            self._drop()
            if sys.__stderr__ is not None:
                sys.__stderr__.write(f"crosslog: the output cannot be written: {error.strerror}\n")
            raise OutputClosed(1) from None

    def _drop(self) -> None:
        """Send what is left in the buffer, which Python writes at its end, nowhere."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def _nowhere() -> TextIO:
    """Return a stream in place of one that was closed before the start, as by `>&-`."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _shown(found: re.Match[str]) -> str:
    letter = found.group()
    return escaped(letter) if unicodedata.category(letter) in _UNSEEN else letter
