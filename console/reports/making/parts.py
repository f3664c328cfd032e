"""What is stored of a report beside its files: charts for its page, and the body of its e-mails.

They are drawn where the report is made, so that neither web server nor worker ever loads what draws.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from console.reports.making import store
from console.reports.models import ReportRun
from jobs.reports.document import Document

logger = logging.getLogger(__name__)

_HTML, _TEXT = "mail.html", "mail.txt"


@dataclass(frozen=True, slots=True)
class MailBody:
    """The body of an e-mail twice, and the pictures of its HTML (PNG) by their content ids."""

    text: str
    html: str
    images: Mapping[str, bytes]


def parts_of(document: Document, link: str) -> dict[str, bytes]:
    """Return all parts of a document by their names; `link` is the address of its page, or empty."""
    from jobs.reports.rendering.charts import svg_of
    from jobs.reports.rendering.mail import mail_html_of, mail_text_of

    charts = [svg_of(one, document.period) for one in document.charts()]
    text = mail_text_of(document, link)
    try:
        page, images = mail_html_of(document)
    except Exception:
        # Whatever it was, the e-mail has its text.
        logger.exception("body of e-mails failed kind=%s", document.kind)
        page, images = f"<!doctype html>\n<pre>{escape(text)}</pre>\n", {}
    return {
        **{_chart(number): content for number, content in enumerate(charts)},
        **{_image(cid): content for cid, content in images.items()},
        _HTML: page.encode(),
        _TEXT: text.encode(),
    }


def read_chart(run: ReportRun, number: int) -> bytes:
    """Return a chart of the document of a run as SVG; raises `ActionRefused`."""
    return store.read_part(run, _chart(number))


def read_mail(run: ReportRun) -> MailBody:
    """Return the body of the e-mails of a run; raises `ActionRefused`."""
    images = {
        name.removesuffix(".png"): store.read_part(run, name)
        for name in store.list_parts(run)
        if name.endswith(".png")
    }
    return MailBody(
        store.read_part(run, _TEXT).decode(), store.read_part(run, _HTML).decode(), images
    )


def _chart(number: int) -> str:
    return f"chart-{number}.svg"


def _image(cid: str) -> str:
    return f"{cid}.png"
