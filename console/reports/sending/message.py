"""The e-mail with a report: plain text and HTML with its charts inside, and the chosen files attached."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.message import EmailMessage, MIMEPart
from typing import Any

from console.delivery.mail import Mail, begin, message_id_of
from console.delivery.models import Delivery
from console.reports.sending.contents import Contents, File
from jobs import numbers
from jobs.reports.rendering.formats import Format

# Many mail servers refuse messages above 10 to 25 MB, and base64 adds a third.
LARGEST_ATTACHED_BYTES = 7_000_000
LONGEST_SUBJECT = 300


def report_message(delivery: Delivery, contents: Contents, now: datetime) -> Mail:
    """Return the e-mail of a delivery; HTML is its body, so that format is not attached as well."""
    attached, left_out = _chosen(contents.files)
    run, parts = contents.run, contents.mail
    notes = [
        f"{one.format.value.upper()} is not attached: it has {numbers.format_bytes(len(one.content))}."
        for one in left_out
    ]
    notes += [f"On the console: {contents.link}"] if contents.link else []
    built = begin(delivery.address, f"{run.name}: {run.period.label}", now)
    built["Message-ID"] = message_id_of(delivery)
    built["X-Crosslog-Delivery"] = str(delivery.pk)
    built.set_content("\n".join([parts.text, *notes, ""]), cte="quoted-printable")
    built.add_alternative(parts.html, subtype="html", cte="quoted-printable")
    _add_images(built, parts.images)
    for file in attached:
        main, _, sub = file.media_type.partition(";")[0].partition("/")
        built.add_attachment(file.content, maintype=main, subtype=sub, filename=file.name)
    return Mail(built)


def _chosen(files: list[File]) -> tuple[list[File], list[File]]:
    """Return which files are attached, and which are too large for it."""
    attached: list[File] = []
    left_out: list[File] = []
    room = LARGEST_ATTACHED_BYTES
    for file in files:
        if file.format is Format.HTML:
            continue
        fits = len(file.content) <= room
        (attached if fits else left_out).append(file)
        room -= len(file.content) if fits else 0
    return attached, left_out


def _add_images(built: EmailMessage, images: Mapping[str, bytes]) -> None:
    body: Any = built.get_body(("html",))
    for cid, content in images.items():
        part: MIMEPart = body
        part.add_related(content, "image", "png", cid=f"<{cid}>", disposition="inline")
