"""Files of reports as answers."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from console.reports.making import store
from console.reports.making.parts import read_chart
from console.reports.models import ReportRun
from jobs.reports.rendering.formats import FILE_KINDS, Format
from jobs.reports.rendering.html import content_policy


def file_response(run: ReportRun, file_format: str) -> HttpResponse:
    """Return a report in one format; raises Http404 and, where its file is gone, `ActionRefused`."""
    if file_format not in set(Format) or file_format not in run.files:
        raise Http404(f"This report has no file of the format {file_format}.")
    found = Format(file_format)
    answer = HttpResponse(store.read_file(run, found), content_type=FILE_KINDS[found].media_type)
    name = run.files[file_format]["name"]
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    if found is Format.HTML:
        answer["Content-Security-Policy"] = content_policy()
    return answer


def chart_response(run: ReportRun, number: int) -> HttpResponse:
    """Return a chart of a report as SVG; raises `ActionRefused`."""
    answer = HttpResponse(read_chart(run, number), content_type="image/svg+xml")
    answer["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    # The charts of a report never change.
    answer["Cache-Control"] = "private, max-age=86400, immutable"
    return answer
