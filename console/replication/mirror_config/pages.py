"""The page that explains a configuration of MirrorMaker 2: read what is shown, keep nothing."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import MemoryFileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from console.frame.pages.forms import ActionForm
from console.frame.pages.render import is_partial, render_page
from console.frame.security.access import anywhere, page
from console.replication.mirror_config.explanation import Explained, explain
from jobs.cluster.errors import InvalidFields
from jobs.replication.mirror_config.read.text_input import MOST_BYTES, InputFile
from jobs.replication.mirror_config.values import Severity

# The words of the pills, by how bad a finding is.
_PILLS = {Severity.ERROR: "critical", Severity.WARNING: "warning", Severity.INFO: "info"}


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


_TOO_LARGE = f"A file of at most {MOST_BYTES:,} bytes is wanted: no configuration needs more."
PASTED = "pasted"


class BoundedUpload(MemoryFileUploadHandler):
    """Keeps a small upload in memory and drops a large one as it comes in: no file touches a disk."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.received = 0

    def handle_raw_input(self, *args: Any, **kwargs: Any) -> None:
        """Take every upload: its length is looked at while it comes in."""
        self.activated = True

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Keep a part; raises `SkipFile` when the files together are too large: other fields stay."""
        self.received += len(raw_data)
        if self.received > MOST_BYTES:
            if self.request is not None:
                self.request.META[_MARK] = "yes"
            raise SkipFile
        return super().receive_data_chunk(raw_data, start)


_MARK = "crosslog.upload_too_large"


def is_upload_too_large(request: HttpRequest) -> bool:
    """Return whether an upload was dropped because of its length."""
    return _MARK in request.META


class MirrorConfigForm(ActionForm):
    """A pasted text or an uploaded file, and what of it should be shown."""

    text = forms.CharField(
        label="Configuration",
        required=False,
        max_length=MOST_BYTES,
        help_text="mm2.properties, connectors of Kafka Connect in JSON, or KafkaMirrorMaker2 in YAML.",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "mono"}),
        strip=False,
    )
    file = forms.FileField(
        label="Or a file", required=False, help_text="At most 1 MiB. It is not stored."
    )
    flow = forms.CharField(
        label="Flow",
        required=False,
        max_length=500,
        help_text="For example A->B. Empty: all flows.",
    )
    words = forms.CharField(
        label="Search values",
        required=False,
        max_length=200,
        help_text="For example: topics B.",
    )
    with_defaults = forms.BooleanField(label="Include default values", required=False)

    def refuse_large_upload(self) -> None:
        """Say at the field that an upload was too large."""
        self.add_error("file", _TOO_LARGE)

    def forget_text(self) -> None:
        """Leave the pasted text out of the page: it may hold secrets."""
        self.data = {name: value for name, value in self.data.items() if name != "text"}

    def files_shown(self) -> list[InputFile]:
        """Return what was pasted and uploaded; none of both is an error at the field."""
        found = []
        text, upload = self.cleaned_data["text"], self.cleaned_data["file"]
        if text.strip():
            found.append(InputFile(PASTED, text.encode("utf-8", "replace")))
        if isinstance(upload, UploadedFile):
            found.append(InputFile(str(upload.name), upload.read(MOST_BYTES + 1)))
        if not found:
            self.add_error("text", "Paste a configuration, or choose a file.")
        return found
