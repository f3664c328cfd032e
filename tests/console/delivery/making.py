"""Finished reports with their files, and deliveries of them."""

import uuid
from datetime import UTC, datetime, timedelta

from console.clusters.models import Cluster
from console.delivery import outbox
from console.delivery.models import Delivery, DeliveryState
from console.reports.making import store
from console.reports.making.parts import parts_of
from console.reports.models import ReportRun, RunState, Trigger
from console.reports.sending.contents import link_to
from console.reports.sending.source import queue_deliveries
from jobs.reports.document import Document, Figure, Figures, Section, Verdict
from jobs.reports.periods import Period
from jobs.reports.rendering.formats import Format, json_of
from jobs.severity import Severity

NOW = datetime(2026, 11, 23, 7, 0, tzinfo=UTC)
WEEK = Period(NOW.replace(day=16, hour=0), NOW.replace(hour=0), "UTC", "last-week")
PDF = b"%PDF-1.7 on paper"
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def make_document(**fields) -> Document:
    verdict = Verdict(
        Severity.HEALTHY, "Available", "All topics were available 99.98 % of the week."
    )
    figures = Figures((Figure("Topics", 16022), Figure("Unclean elections", 0)))
    values = {
        "kind": "availability",
        "title": "Availability",
        "period": WEEK,
        "sections": (Section("topics", "By topic", None, None, (figures,)),),
        "made_at": "2026-11-23T07:00:00.000Z",
        "made_for": "ada",
        "verdicts": (verdict,),
    }
    return Document(**values | fields)


def make_report_run(
    *recipients: tuple[str, str], files=None, clusters=(), document=None, **fields
) -> ReportRun:
    """Make a finished run with its JSON and the chosen files; recipients are (channel, address)."""
    document = document or make_document()
    contents = {Format.PDF: PDF} if files is None else files
    values = {
        "name": "Weekly availability",
        "kind": "availability",
        "period_start": WEEK.start,
        "period_end": WEEK.end,
        "period_name": WEEK.name,
        "formats": [one.value for one in contents],
        "recipients": [{"channel": channel, "address": to} for channel, to in recipients],
        "trigger": Trigger.SCHEDULE,
        "state": RunState.READY,
        "headline": "All topics were available 99.98 % of the week.",
        "created_at": NOW,
        "cluster_count": len(clusters),
    } | fields
    run = ReportRun.objects.create(pk=uuid.uuid4(), **values)
    run.clusters.set(clusters)
    whole = {Format.JSON: json_of(document), **contents}
    run.files = store.write_files(
        run, whole, "crosslog-availability-2026-11-16", parts_of(document, link_to(run))
    )
    run.save()
    return run


def queue_one(channel: str, address: str, **fields) -> Delivery:
    """Make a run with one recipient and put it into the outbox."""
    run = make_report_run((channel, address), **fields)
    queue_deliveries(run, NOW)
    return run.deliveries.get()


def make_delivery(*clusters: Cluster, **fields) -> Delivery:
    """Make a delivery that was given up, without files."""
    values = {
        "name": fields.pop("name", "Weekly availability"),
        "kind": "availability",
        "period_start": WEEK.start,
        "period_end": WEEK.end,
        "trigger": Trigger.SCHEDULE,
        "state": RunState.READY,
        "created_at": NOW,
        "cluster_count": len(clusters),
        "for_admins": fields.pop("for_admins", False),
    }
    run = ReportRun.objects.create(**values)
    run.clusters.set(clusters)
    sentence = "mail.example.org:587 did not answer: no answer within 20 s."
    values = {
        "channel": "email",
        "address": "ops@example.org",
        "state": DeliveryState.GAVE_UP,
        "attempts": 22,
        "created_at": NOW,
        "log": outbox.log_with(Delivery(), NOW, "gave_up", sentence),
    } | fields
    return Delivery.objects.create(run=run, subject=run.name, **values)
