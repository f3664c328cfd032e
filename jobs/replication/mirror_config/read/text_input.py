"""A file of somebody's, bounded and decoded: what cannot be read is said, with what to do."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

MOST_BYTES = 1024 * 1024
_OTHER_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TEMPLATE = re.compile(r"\{\{|\{%")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


class BadInput(ValueError):
    """A file that is no configuration of MirrorMaker 2; `file` is its name, the text says why."""

    def __init__(self, file: str, text: str) -> None:
        super().__init__(text)
        self.file = file


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file's name and bytes, as they came."""

    name: str
    content: bytes


def template_error(file: str, text: str, line: int | None = None) -> BadInput | None:
    """Return that a text is a template that is not rendered yet; None when it has no sign of one.

    `line` is where the text begins in the file; without it, the text is the file, and comments are passed by.
    """
    for number, one in enumerate(text.split("\n"), start=line or 1):
        sign = _TEMPLATE.search(one)
        if sign and (line is not None or not one.lstrip().startswith("#")):
            return BadInput(
                file,
                f"Line {number} holds {sign[0]}: this is a template (of Helm or Jinja). Render it first, for "
                "example by `helm template`, and give the result.",
            )
    return None


def check_bytes(file: InputFile) -> bytes:
    """Return the bytes without UTF-8's mark; raises `BadInput` for what is no text."""
    if len(file.content) > MOST_BYTES:
        raise BadInput(
            file.name, f"It is larger than {MOST_BYTES:,} bytes: no configuration needs that much."
        )
    if file.content.startswith(_OTHER_MARKS):
        raise BadInput(file.name, "It is UTF-16 or UTF-32. Save it as UTF-8 and try again.")
    content = file.content.removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise BadInput(file.name, "It is empty.")
    strange = _CONTROL.search(content)
    if strange:
        line = content.count(b"\n", 0, strange.start()) + 1
        raise BadInput(
            file.name, f"Line {line} holds byte {strange[0][0]:#04x}: this is not a text file."
        )
    return content


def decode_utf8(file: InputFile, content: bytes) -> str:
    """Return text; raises `BadInput` with the line of the first byte that is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(
            file.name, f"Line {line} is not UTF-8 (byte {error.start}). Save it as UTF-8."
        ) from None
