"""What a report sends by each channel."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from django.conf import settings

from console.delivery import channels, folder, mail, webhook
from console.delivery.destinations import check_address
from console.delivery.models import Channel, Delivery
from console.delivery.outbox import SOURCES, Source, queue
from console.delivery.results import Refused, TryAgain
from console.frame.errors import ActionRefused
from console.reports.models import ReportRun, Trigger
from console.reports.queries import why_stopped
from console.reports.sending.contents import Contents, File
from console.reports.sending.message import report_message
from jobs.reports.rendering.formats import Format

REPORT = "report"
# What is larger is left out of the body: `document` or `content` is null, and `link` leads to it.
LARGEST_DOCUMENT_BYTES = 2_000_000
LARGEST_FILES_BYTES = 5_000_000


def queue_deliveries(run: ReportRun, now: datetime) -> int:
    """Write a delivery per recipient of a run and return how many; call it with what makes it READY.

    A preview is not delivered.
    """
    if run.trigger == Trigger.PREVIEW:
        return 0
    rows = [
        Delivery(
            source=REPORT,
            subject=run.name,
            run=run,
            channel=one["channel"],
            address=one["address"],
            created_at=now,
            next_at=now,
        )
        for one in run.recipients
    ]
    queue(rows)
    return len(rows)


def send(delivery: Delivery, at: datetime, memory: dict[str, Any]) -> str:
    """Deliver a report to one address; the files of a run are read once in a round.

    The address is checked once more: what is allowed may have changed.
    """
    why = why_stopped(delivery.run)
    if why:
        raise ActionRefused("rights_ended", f"Not sent: {why}")
    contents = memory.get("contents")
    if contents is None or contents.run.pk != delivery.run_id:
        contents = memory["contents"] = _read(delivery.run)
    try:
        check_address(delivery.channel, delivery.address)
    except ValueError as wrong:
        raise Refused(str(wrong)) from None
    match delivery.channel:
        case Channel.EMAIL:
            return mail.send(report_message(delivery, contents, at), delivery.address)
        case Channel.FOLDER:
            return folder.put(delivery.address, contents.named_files())
    told = webhook.event("report.ready", delivery.created_at, _report(delivery, contents))
    message_id = f"delivery-{delivery.pk}"
    return webhook.post(delivery.address, settings.WEBHOOK_KEY, message_id, told, at)


def register() -> None:
    """Let the outbox send reports."""
    SOURCES[REPORT] = Source(send, lambda one: channels.server_of(one.channel, one.address))


def _read(run: ReportRun) -> Contents:
    try:
        return Contents(run)
    except OSError as error:
        text = f"The files of the report cannot be read: {error.strerror}."
        raise TryAgain(text) from None


def _report(delivery: Delivery, contents: Contents) -> dict[str, Any]:
    run, document = contents.run, contents.document
    told = document.to_mapping()
    is_small = len(contents.raw_document) <= LARGEST_DOCUMENT_BYTES
    return {
        "delivery": delivery.pk,
        "run": str(run.pk),
        "name": run.name,
        "kind": run.kind,
        "period": told["period"],
        "headline": run.headline,
        "error": run.error,
        "verdicts": told["verdicts"],
        "link": contents.link or None,
        "files": _files(contents.files, is_small=is_small),
        "document": told if is_small else None,
    }


def _files(files: list[File], *, is_small: bool) -> list[dict[str, Any]]:
    """Return the chosen files, in base64 as long as there is room; JSON is the document that is there."""
    told = []
    room = LARGEST_FILES_BYTES
    for file in files:
        is_there = file.format is Format.JSON and is_small
        fits = len(file.content) <= room and not is_there
        room -= len(file.content) if fits else 0
        told.append(
            {
                "name": file.name,
                "format": file.format.value,
                "media_type": file.media_type,
                "sha256": file.sha256,
                "bytes": len(file.content),
                "content": base64.b64encode(file.content).decode() if fits else None,
            }
        )
    return told
