"""What is delivered of a run: its document and the files of the formats that were chosen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from console.reports.making import store
from console.reports.making.parts import MailBody, read_mail
from console.reports.models import ReportRun
from jobs.reports.document import Document
from jobs.reports.rendering.formats import FILE_KINDS, Format


@dataclass(frozen=True, slots=True)
class File:
    """A file of a report."""

    format: Format
    name: str
    sha256: str
    content: bytes

    @property
    def media_type(self) -> str:
        """Its type, as in `Content-Type`."""
        return FILE_KINDS[self.format].media_type


class Contents:
    """What is delivered of a run, read once for all its recipients; raises `ActionRefused`.

    `files` are those of the chosen formats that could be made; of all formats where none of the chosen could.
    """

    def __init__(self, run: ReportRun) -> None:
        self.run = run
        chosen = [one for one in run.formats if one in run.files]
        if run.formats and not chosen:
            chosen = list(run.files)
        self.files = [_file(run, Format(one)) for one in chosen]

    @cached_property
    def raw_document(self) -> bytes:
        """The report itself as JSON."""
        return store.read_file(self.run, Format.JSON)

    @cached_property
    def document(self) -> Document:
        """The report itself."""
        return Document.from_mapping(json.loads(self.raw_document))

    def named_files(self) -> dict[str, bytes]:
        """Return the files by their names in a folder.

        The names end in the first letters of the run's id: another report of the same day replaces nothing, a
        second attempt replaces its own.
        """
        names = [(Path(one.name), one.content) for one in self.files]
        mark = self.run.pk.hex[:8]
        return {f"{name.stem}-{mark}{name.suffix}": content for name, content in names}

    @cached_property
    def mail(self) -> MailBody:
        return read_mail(self.run)

    @property
    def link(self) -> str:
        """The page of the run; empty without CROSSLOG_URL."""
        return link_to(self.run)


def link_to(run: ReportRun) -> str:
    """Return the address of a run's page for somebody outside the console; empty without CROSSLOG_URL."""
    page = reverse("reports:run", args=[run.pk])
    return f"{settings.CROSSLOG_URL}{page}" if settings.CROSSLOG_URL else ""


def _file(run: ReportRun, format_: Format) -> File:
    content = store.read_file(run, format_)
    told = run.files[format_.value]
    return File(format_, str(told["name"]), str(told["sha256"]), content)
