"""The page that explains a configuration of MirrorMaker 2: read what is shown, keep nothing."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from console.frame.pages.render import is_partial, render_page
from console.frame.security.access import anywhere, page
from console.replication.mirror_config.explanation import Explained, explain
from console.replication.mirror_config.forms import (
    BoundedUpload,
    MirrorConfigForm,
    is_upload_too_large,
)
from jobs.cluster.errors import InvalidFields
from jobs.replication.mirror_config.values import Severity

# The words of the pills, by how bad a finding is.
_PILLS = {Severity.ERROR: "risk", Severity.WARNING: "warn", Severity.INFO: "notice"}


@csrf_exempt
@require_http_methods(["GET", "POST"])
@page("view", anywhere)
def mirror_config_page(request: HttpRequest) -> HttpResponseBase:
    """Set up how an upload is read, before anything looks at the form; the token is checked then."""
    if request.method == "POST":
        request.upload_handlers = [BoundedUpload(request)]
    return _checked(request)


@csrf_protect
def _checked(request: HttpRequest) -> HttpResponse:
    """Show the form, and what is explained."""
    is_asked = request.method == "POST"
    form = MirrorConfigForm(request.POST, request.FILES) if is_asked else MirrorConfigForm()
    explained = _try(request, form) if is_asked else None
    if is_asked:
        form.forget_text()
    shown = [(_PILLS[f.severity], f) for f in explained.findings] if explained else []
    context = {"form": form, "explained": explained, "findings": shown}
    name = "_page" if is_partial(request) else "page"
    return render_page(request, f"replication/mirror_config/{name}.html", context)


def _try(request: HttpRequest, form: MirrorConfigForm) -> Explained | None:
    is_valid = form.is_valid()
    if is_upload_too_large(request):
        form.refuse_large_upload()
        return None
    files = form.files_shown() if is_valid else []
    if not files:
        return None
    asked = form.cleaned_data
    try:
        return explain(
            request.user,
            files,
            asked["flow"],
            words=asked["words"],
            with_defaults=asked["with_defaults"],
        )
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return None
