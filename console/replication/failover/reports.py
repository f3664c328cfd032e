"""The signed report of a run in its three forms."""

from __future__ import annotations

import json

from django.http import HttpResponse

from console.replication.failover.models import FailoverRun
from jobs.replication.failover.reports.forms import html_of, pdf_of
from jobs.reports.rendering.html import content_policy

FORMS = ("html", "pdf", "json")


def report_response(run: FailoverRun, form: str) -> HttpResponse:
    """Return a report; the JSON form is the document as it was signed. Call it for a run that has one."""
    document = json.loads(run.report)
    name = f"failover-{run.kind}-{run.pk}.{form}"
    if form == "html":
        answer = HttpResponse(html_of(document), content_type="text/html; charset=utf-8")
        answer["Content-Security-Policy"] = content_policy()
        answer["Content-Disposition"] = f'inline; filename="{name}"'
        return answer
    if form == "pdf":
        answer = HttpResponse(pdf_of(document), content_type="application/pdf")
    else:
        answer = HttpResponse(run.report, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
