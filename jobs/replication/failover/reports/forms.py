"""The forms of a signed report for people; the same document gives the same bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.replication.failover.reports.document import document_of
from jobs.reports.rendering import html, pdf


def html_of(signed: Mapping[str, Any]) -> str:
    """Return the page, with all partitions."""
    return html.html_of(document_of(signed), is_whole=True)


def pdf_of(signed: Mapping[str, Any]) -> bytes:
    """Return the print, with all partitions."""
    return pdf.pdf_of(document_of(signed), is_whole=True)
