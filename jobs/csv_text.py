"""Values as lines of CSV that are safe to open in a spreadsheet; all exports are written by `csv_lines`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from unicodedata import normalize

from jobs.visible import is_seen

# A cell that begins like this is run as a formula, or as a call of a program, by spreadsheets (OWASP, CSV
# injection), also in forms that they read alike: full-width, small, raised.
_FORMULA_STARTS = frozenset("=+-@|\N{MINUS SIGN}")
_CONTROLS = ("\t", "\r", "\n")
# Where a spreadsheet that expects other separators, as in many countries, begins a cell inside of a text.
_SEPARATORS = re.compile(r"([;\t\r\n]+)")


def csv_lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Return rows as lines of CSV, in each cell a value that no spreadsheet takes for a formula."""
    writer = csv.writer(_Echo())
    for row in rows:
        yield writer.writerow([neutral(one) for one in row])


def neutral(value: Any) -> str:
    """Return a value as CSV text that no spreadsheet takes for a formula; numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    # Half of a surrogate pair, which no file can hold, is shown.
    text = str(value).encode(errors="backslashreplace").decode()
    parts = _SEPARATORS.split(text)
    parts[::2] = (f"'{one}" if _first_seen(one) in _FORMULA_STARTS else one for one in parts[::2])
    joined = "".join(parts)
    return f"'{joined}" if joined.startswith(_CONTROLS) else joined


class _Echo:
    """A file that gives back what is written, so that rows can be streamed."""

    def write(self, text: str) -> str:
        return text


def _first_seen(text: str) -> str:
    """Return the first character that is seen, in its compatibility form (NFKC); empty without one."""
    letters = (one for letter in text for one in normalize("NFKC", letter))
    return next((one for one in letters if is_seen(one)), "")
