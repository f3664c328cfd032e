"""The forms of a signed report for people; the same document gives the same bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.replication.failover.reports.html_page import write_html
from jobs.replication.failover.reports.report import report_lines, title_of
from jobs.replication.failover.reports.signing import digest_of
from jobs.replication.failover.reports.text_pdf import write_pdf


def html_of(document: Mapping[str, Any]) -> str:
    """Return the page."""
    report = document["report"]
    return write_html(report, digest_of(report), document["signature"])


def pdf_of(document: Mapping[str, Any]) -> bytes:
    """Return the print."""
    report = document["report"]
    lines = report_lines(report, digest_of(report), document["signature"])
    return write_pdf(lines, title_of(report))
