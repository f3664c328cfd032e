"""The e-mail with a report: plain text and HTML with its charts inside, and the chosen files attached."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage, MIMEPart
from email.utils import format_datetime, parseaddr
from typing import Any

from django.conf import settings
from django.core import mail

from console.reports.delivery.contents import Contents, File
from console.reports.models import Delivery
from jobs import numbers
from jobs.reports.rendering.formats import Format
from jobs.visible import visible_line

# Many mail servers refuse messages above 10 to 25 MB, and base64 adds a third.
LARGEST_ATTACHED_BYTES = 7_000_000
LONGEST_SUBJECT = 300


class _Whole(EmailMessage):
    """A message as Django's mail backends send it."""

    def as_bytes(self, *args: Any, linesep: str | None = None, **kwargs: Any) -> bytes:
        """Return the whole message; `linesep`, which Django gives, is that of its policy already."""
        return super().as_bytes(*args, **kwargs)


class Mail(mail.EmailMessage):
    """A message for Django's mail backend that was built by the standard library."""

    def __init__(self, built: EmailMessage) -> None:
        sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
        super().__init__(str(built["Subject"]), "", sender, [str(built["To"])])
        self.built = built

    def message(self) -> Any:
        return self.built


def message_id_of(delivery: Delivery) -> str:
    """Return the Message-ID of a delivery: the same one at each attempt."""
    if delivery.message_id:
        return delivery.message_id
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return f"<crosslog-{delivery.pk}-{delivery.run_id.hex}@{domain}>"


def report_message(delivery: Delivery, contents: Contents, now: datetime) -> Mail:
    """Return the e-mail of a delivery; HTML is its body, so that format is not attached as well."""
    attached, left_out = _chosen(contents.files)
    run, parts = contents.run, contents.mail
    notes = [
        f"{one.format.value.upper()} is not attached: it has {numbers.format_bytes(len(one.content))}."
        for one in left_out
    ]
    notes += [f"On the console: {contents.link}"] if contents.link else []
    built = _begin(delivery.address, f"{run.name}: {run.period.label}", now)
    built["Message-ID"] = message_id_of(delivery)
    built["X-Crosslog-Delivery"] = str(delivery.pk)
    built.set_content("\n".join([parts.text, *notes, ""]), cte="quoted-printable")
    built.add_alternative(parts.html, subtype="html", cte="quoted-printable")
    _add_images(built, parts.images)
    for file in attached:
        main, _, sub = file.media_type.partition(";")[0].partition("/")
        built.add_attachment(file.content, maintype=main, subtype=sub, filename=file.name)
    return Mail(built)


def test_message(address: str, now: datetime) -> Mail:
    """Return a small message that only shows that e-mail works."""
    built = _begin(address, "crosslog test message", now)
    built.set_content("crosslog can send reports to this address.\n")
    return Mail(built)


def _begin(address: str, subject: str, now: datetime) -> _Whole:
    name, sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    built = _Whole(policy=policy.SMTP)
    built["Subject"] = visible_line(subject)[:LONGEST_SUBJECT]
    built["From"] = Address(display_name=name, addr_spec=sender)
    built["To"] = Address(addr_spec=address)
    built["Date"] = format_datetime(now)
    built["Auto-Submitted"] = "auto-generated"
    built["X-Auto-Response-Suppress"] = "All"
    return built


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
