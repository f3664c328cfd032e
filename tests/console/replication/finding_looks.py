"""Looks at a flow, one after the other, and what came of them."""

from datetime import timedelta

from console.findings.models import Finding
from console.replication.findings.collect import look_at_flow
from console.replication.findings.models import FlowWatch
from jobs.replication.topics.drift import DriftReport
from tests.console.making import (
    NOW,
    make_partition,
)
from tests.console.replication.finding import clusters_that_answer

MINUTE = timedelta(minutes=1)


def row(flow, **fields):
    values = {
        "state": "watched", "position": 100, "log_start_offset": 0, "end_offset": 110, "lag": 10,
    } | fields  # fmt: skip
    return make_partition(flow, **values)


def look(flow, kafka=None, minute=0, **more):
    kafka = kafka or clusters_that_answer()
    assert look_at_flow(flow.pk, lambda: NOW + minute * MINUTE, kafka, **more)
    return FlowWatch.objects.get(flow=flow)


def codes(flow, *, closed=False):
    rows = Finding.objects.filter(flow=flow, closed_at__isnull=not closed)
    return sorted(rows.values_list("code", flat=True))


def report(*topics):
    return DriftReport("f", topics)
