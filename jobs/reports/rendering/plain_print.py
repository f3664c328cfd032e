"""The plainest form of a print: lines of ASCII, for a report whose print failed otherwise. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from jobs.reports.document import Document
from jobs.reports.rendering import wording
from jobs.reports.rendering.mail import mail_text_of
from jobs.reports.rendering.printable import LONGEST_TEXT
from jobs.visible import escaped

TEMPLATE = "plain.typ"
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
