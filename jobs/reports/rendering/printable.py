"""Texts as prints and charts can show them: what the font lacks is escaped, what is too long is cut."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from jobs.reports.document import Document
from jobs.reports.rendering import wording
from jobs.reports.rendering.mail import mail_text_of
from jobs.visible import escaped

FAMILY = "DejaVu Sans"
# The faces that prints and charts are set in; they come with matplotlib.
_FACES = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
# Characters that fonts have and that are not seen: they join others or choose a form of them.
_JOINERS = frozenset({"\u034f", *map(chr, range(0xFE00, 0xFE10))})
# Categories of Unicode: controls, marks of direction, private use, unassigned, ends of lines.
_NOT_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Characters of a word, a text, a title or a heading, and of the head of a column, which each page repeats.
LONGEST_WORD, LONGEST_TEXT, LONGEST_TITLE, LONGEST_HEAD = 500, 2000, 300, 100


def font_folder() -> Path:
    """Return the folder of the font's files."""
    import matplotlib as mpl

    return Path(mpl.get_data_path()) / "fonts" / "ttf"


@cache
def glyphs() -> frozenset[str]:
    """Return the characters that every face of the font has and that are seen."""
    from matplotlib.ft2font import FT2Font

    tables = [set(FT2Font(font_folder() / face).get_charmap()) for face in _FACES]
    letters = map(chr, set.intersection(*tables))
    return (
        frozenset(one for one in letters if unicodedata.category(one) not in _NOT_SHOWN) - _JOINERS
    )


def printable(text: str) -> str:
    """Return a text of which the font has every character: others are shown as `\\u0350`."""
    known = glyphs()
    if known.issuperset(text):
        return text
    return "".join(one if one in known else escaped(one) for one in text)


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Return a text with its long words and its end cut: `…(+99,700)` says how many characters were cut."""
    if len(text) > LONGEST_WORD:
        text = " ".join(_cut(word, LONGEST_WORD) for word in text.split(" "))
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    """Return the begin of a text; one that was cut before is a little longer."""
    if len(text) <= most + len("…(+1,000,000)"):
        return text
    return f"{text[:most]}…(+{len(text) - most:,})"


PLAIN_TEMPLATE = "plain.typ"
# Characters that a line of the page holds at the size of the template.
_WIDTH = 96
_NOTE = (
    "This print has no tables, charts and links, and its long texts are cut, because it could not be made "
    "otherwise ({}). The other formats have all of it."
)


def lines_of(document: Document, why: str, most_rows: int | None) -> list[str]:
    """Return what the print says and why it is so plain; of each table at most so many rows, None: all."""
    texts = [_NOTE.format(why), *mail_text_of(document).split("\n")]
    for table in document.tables():
        rows = [
            [wording.cell_of(*one) for one in zip(row, table.columns, strict=True)]
            for row in table.rows[:most_rows]
        ]
        lines = rows_as_lines([one.title for one in table.columns], rows)
        texts += ["", table.title, *(lines or [table.empty])]
        texts.append(wording.rows_note_of(table, len(rows)))
    return [line for text in texts for line in _wrapped(text)]


def rows_as_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines: the first cell, then the others with their heads."""
    return [
        f"{row[0]}: {', '.join(f'{h} {c}' for h, c in zip(heads[1:], row[1:], strict=True) if c)}"
        for row in rows
    ]


def _wrapped(text: str) -> Iterator[str]:
    plain = "".join(one if " " <= one <= "~" else escaped(one) for one in text[:LONGEST_TEXT])
    yield from textwrap.wrap(plain, _WIDTH) or [""]
