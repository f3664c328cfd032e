"""The formats of a report, and how a document becomes each of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from jobs.logs import own_fault
from jobs.reports.document import Document
from jobs.visible import visible

logger = logging.getLogger(__name__)


class Format(StrEnum):
    """What a report can be had as; CSV is a zip with a file per table."""

    HTML = "html"
    PDF = "pdf"
    CSV = "csv"
    JSON = "json"


class Paper(StrEnum):
    """The size of a page."""

    A4 = "a4"
    LETTER = "letter"


@dataclass(frozen=True, slots=True)
class FileKind:
    """How files of a format are called and sent."""

    suffix: str
    media_type: str


FILE_KINDS: Mapping[Format, FileKind] = {
    Format.HTML: FileKind("html", "text/html; charset=utf-8"),
    Format.PDF: FileKind("pdf", "application/pdf"),
    Format.CSV: FileKind("zip", "application/zip"),
    Format.JSON: FileKind("json", "application/json"),
}


def render(
    document: Document, format_: Format, paper: Paper = Paper.A4, *, is_plain: bool = False
) -> bytes:
    """Return a document in one format; `is_plain`: a print in its plainest form."""
    from jobs.reports.rendering.csv_files import zip_of
    from jobs.reports.rendering.html import html_of
    from jobs.reports.rendering.pdf import pdf_of

    match format_:
        case Format.HTML:
            return html_of(document).encode()
        case Format.PDF:
            return pdf_of(document, paper, is_plain=is_plain)
        case Format.CSV:
            return zip_of(document)
        case Format.JSON:
            return json_of(document)


def render_all(
    document: Document, paper: Paper, *, is_plain: bool = False
) -> tuple[dict[Format, bytes], list[str]]:
    """Return the files of a document, and a sentence for each format that could not be made."""
    contents, faults = {}, []
    for one in Format:
        try:
            contents[one] = render(document, one, paper, is_plain=is_plain)
        except Exception:
            # Whatever it was, the other formats are made.
            logger.exception("format failed kind=%s format=%s", document.kind, one)
            faults.append(f"{one.upper()} could not be made: {own_fault('making it')}")
    return contents, faults


def json_of(document: Document) -> bytes:
    """Return the JSON of a document; `Document.from_mapping` reads it. What is not seen is escaped."""
    return visible(json.dumps(document.to_mapping(), ensure_ascii=False, indent=1)).encode()


def file_name(document: Document, format_: Format) -> str:
    """Return what a file of a document is called: kind and first day of the period."""
    start = document.period.to_mapping()["start"][:10]
    return f"crosslog-{document.kind}-{start}.{FILE_KINDS[format_].suffix}"
