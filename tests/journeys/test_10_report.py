"""A report on a schedule, made and delivered by e-mail as PDF."""

import io
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage

import pypdf
import pytest

from tests.waiting import eventually

pytestmark = pytest.mark.journey
CRON = "0 7 * * MON"
MADE_WITHIN_S = 60
DELIVERED_WITHIN_S = 60


def test_a_scheduled_report_arrives_by_e_mail_as_a_pdf_of_its_subject_and_period(world):
    name = f"Availability {uuid.uuid4().hex[:8]}"
    recipient = f"{uuid.uuid4().hex[:8]}@example.org"
    with scheduled(world, name, recipient) as schedule:
        run = world.post(f"schedules/{schedule}/run/")["ref"]
        eventually(
            lambda: made(world, run)["state"] in {"ready", "failed"}, MADE_WITHIN_S, every=0.3
        )
        assert made(world, run)["state"] == "ready", made(world, run)["error"]

        eventually(
            lambda: state_of_delivery(world, run) == "delivered", DELIVERED_WITHIN_S, every=0.3
        )
        (message,) = messages_to(world, recipient)
        period = period_of(message, name)
        (file,) = message.iter_attachments()
        assert file.get_content_type() == "application/pdf"
        text = text_of(file.get_content())
        for expected in (name, f"Period: {period}", "Subjects: east"):
            assert expected in text


@contextmanager
def scheduled(world, name: str, recipient: str) -> Iterator[int]:
    """A schedule of a report about east for one recipient; both are deleted with the block."""
    report = world.post(
        "reports/",
        {
            "name": name,
            "kind": "availability",
            "subjects": ["east"],
            "period": "last-24-hours",
            "formats": ["pdf"],
            "recipients": [{"channel": "email", "address": recipient}],
        },
    )["id"]
    schedule = world.post(
        "schedules/",
        {"name": name, "kind": "report", "cron": CRON, "arguments": {"report": report}},
    )["id"]
    try:
        yield schedule
    finally:
        world.console.visitor.delete(f"api/v1/schedules/{schedule}/")
        world.console.visitor.delete(f"api/v1/reports/{report}/")


def made(world, run: str) -> dict:
    """Return the report that was made, or is being made."""
    return dict(world.get(f"report-runs/{run}/"))


def state_of_delivery(world, run: str) -> str | None:
    """Return how the delivery of a report is doing, None while there is none."""
    rows = world.get(f"deliveries/?run={run}")["results"]
    return rows[0]["state"] if rows else None


def messages_to(world, recipient: str) -> list[EmailMessage]:
    """Return what came to one address."""
    return [one for one in world.mailbox.messages if recipient in one["To"]]


def period_of(message: EmailMessage, name: str) -> str:
    """Return the period that a message's subject has behind the report's name."""
    found, _, period = message["Subject"].partition(": ")
    assert found == name
    assert period
    return str(period)


def text_of(pdf: bytes) -> str:
    """Return the text of all pages, without the ends of lines."""
    pages = pypdf.PdfReader(io.BytesIO(pdf)).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())
