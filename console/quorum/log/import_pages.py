"""The page that takes an archive of a log folder from a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import ActionForm, RemovalForm, attempt
from console.frame.pages.render import render_page
from console.frame.pages.uploads import BoundedFile
from console.frame.security.access import page
from console.quorum import queries
from console.quorum.log.import_actions import forget_import, import_log, read_again

NOUN = "name in the address"


class ImportForm(ActionForm):
    """An archive, its name and its title."""

    name = forms.CharField(max_length=80, help_text="Part of its address: incident-0312.")
    title = forms.CharField(
        required=False, max_length=200, help_text="Shown on pages instead of the name."
    )
    file = forms.FileField(
        help_text="A tar, tar.gz or zip of a node's __cluster_metadata-0 folder, or of its parent log "
        "directory. crosslog validates all files and redacts secrets."
    )


@csrf_exempt  # the inner page checks it, after the upload handler is set
@require_http_methods(["GET", "HEAD", "POST"])
# Everywhere: what is imported belongs to no cluster, and is seen with a role everywhere. Outside: of a person
# without the right no body is read, and looking for the token reads it.
@page("operate")
def import_page(request: HttpRequest) -> HttpResponseBase:
    """Take an upload to disk instead of memory."""
    request.upload_handlers = [BoundedFile(request)]
    return _import_page(request)


@csrf_protect
def _import_page(request: HttpRequest) -> HttpResponse:
    """Import an archive of a log folder as a log of its own."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        name = _imported(form, request.user)
        if name:
            messages.success(
                request,
                "The log was imported. crosslog reads voters, elections and configs first, then the "
                "partitions. This page shows the progress and the gaps.",
            )
            return redirect("quorum:detail", name)
    context: dict[str, Any] = {"form": form, "most_mb": settings.METADATA_UPLOAD_MB}
    return render_page(request, "quorum/log/import.html", context)


def _imported(form: ImportForm, user: Any) -> str:
    """Return the name of the new log; empty when it was refused, and the form says why."""
    given = form.cleaned_data
    upload: TemporaryUploadedFile = given["file"]
    path = Path(upload.temporary_file_path())
    try:
        return import_log(
            given["name"], given["title"], path, timezone.now(), user, upload.name or path.name
        ).name
    except ActionRefused as refusal:
        form.take_errors(refusal.fields, refusal.message)
        return ""


@require_POST
@page("operate")
def read_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Read an imported log again."""
    log = or_404(queries.get_log(alias))
    if attempt(request, lambda: read_again(log, request.user)):
        messages.success(request, f"The next free worker reads {log.label} again.")
    return redirect("quorum:detail", alias)


@require_POST
@page("operate")
def forget_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Remove an imported log."""
    log = or_404(queries.get_log(alias))
    form = RemovalForm(log.name, NOUN, request.POST)
    if log.is_imported and not form.is_valid():
        text = f"{log.label} was not removed. Type its name to confirm: {log.name}"
        messages.error(request, text)
        return redirect("quorum:detail", alias)
    try:
        forget_import(log)
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
        return redirect("quorum:detail", alias)
    messages.success(request, f"{log.label} was removed, with its archive.")
    return redirect("quorum:list")
