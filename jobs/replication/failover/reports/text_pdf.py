"""Lines of text as a PDF: version 1.4, the standard fonts that every reader has, nothing embedded. Pure.

Texts are WinAnsi (cp1252); what it does not have becomes a question mark, and the JSON form keeps it.
Source: ISO 32000-1, 7.5 (structure), 9.6.2.2 (standard fonts), annex D (encoding).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobs.replication.failover.reports.report import Line, Style

# A4 in points, and the margin around the text.
WIDTH, HEIGHT, MARGIN = 595, 842, 50
_FOOT = 30


@dataclass(frozen=True, slots=True)
class _Face:
    """A font at a size; `wide` is a width in ems that no line of prose exceeds per character on average."""

    font: str
    size: float
    leading: float
    wide: float
    before: float = 0.0


_FACES = {
    Style.TITLE: _Face("F2", 16, 22, 0.58),
    Style.HEADING: _Face("F2", 11, 16, 0.60, 10),
    Style.TEXT: _Face("F1", 9, 13, 0.56),
    Style.ROW: _Face("F3", 7.5, 10.5, 0.60),
}
_FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}
_FIRST_PAGE = 3 + len(_FONTS)


@dataclass(frozen=True, slots=True)
class _Placed:
    face: _Face
    x: float
    y: float
    text: str


def write_pdf(lines: Iterable[Line], title: str) -> bytes:
    """Return a PDF of these lines; long ones are broken, and pages are added as needed."""
    pages = list(_pages(lines)) or [[]]
    numbers = [_FIRST_PAGE + 2 * index for index in range(len(pages))]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>"
        % (len(pages), b" ".join(b"%d 0 R" % number for number in numbers)),
        *(_font(name) for name in _FONTS.values()),
    ]
    for index, placed in enumerate(pages):
        foot = f"{title} - page {index + 1} of {len(pages)}"
        objects += _page(
            numbers[index] + 1, [*placed, _Placed(_FACES[Style.ROW], MARGIN, _FOOT, foot)]
        )
    objects.append(b"<< /Title (%s) /Producer (crosslog) >>" % _escaped(title))
    return _file(objects)


def _font(name: str) -> bytes:
    return (
        b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
        % name.encode()
    )


def _pages(lines: Iterable[Line]) -> Iterator[list[_Placed]]:
    page: list[_Placed] = []
    y = float(HEIGHT - MARGIN)
    for style, text in lines:
        face = _FACES[style]
        y -= face.before
        for part in _broken(face, text):
            if y - face.leading < MARGIN:
                yield page
                page, y = [], float(HEIGHT - MARGIN)
            y -= face.leading
            page.append(_Placed(face, MARGIN, y, part))
    if page:
        yield page


def _broken(face: _Face, text: str) -> Sequence[str]:
    """Break a line so that it stays inside the margins: by characters, since nothing is measured."""
    most = int((WIDTH - 2 * MARGIN) / (face.size * face.wide))
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(
        text, most, subsequent_indent=indent + "  ", drop_whitespace=True, break_long_words=True
    ) or [""]


def _page(content: int, placed: Sequence[_Placed]) -> list[bytes]:
    fonts = b" ".join(b"/%s %d 0 R" % (name.encode(), 3 + at) for at, name in enumerate(_FONTS))
    stream = b"\n".join(_shown(one) for one in placed)
    return [
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
        b"/Resources << /Font << %s >> >> >>" % (WIDTH, HEIGHT, content, fonts),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]


def _shown(one: _Placed) -> bytes:
    return b"BT /%s %.1f Tf %.1f %.1f Td (%s) Tj ET" % (
        one.face.font.encode(),
        one.face.size,
        one.x,
        one.y,
        _escaped(one.text),
    )


def _escaped(text: str) -> bytes:
    """Return the inside of a literal string: what has a meaning there is escaped."""
    plain = "".join(char if char >= " " else " " for char in text)
    raw = plain.encode("cp1252", errors="replace")
    return raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _file(objects: Sequence[bytes]) -> bytes:
    """Return the file: header, numbered objects, the table of where each begins, and the trailer."""
    # Four bytes above 127 tell programs that this is no text.
    content = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (
        len(objects) + 1,
        len(objects),
    )
    content += b"startxref\n%d\n%%%%EOF\n" % table
    return bytes(content)
