"""Where the files of an analysis are, and what its job is told."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from console.runs.analyses import sources
from console.runs.models import Run
from jobs.spark.analyses.analysis import Analysis, ArgumentType
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec

TASKS = 2


class SourceGone(Exception):
    """What was asked about is not there any more; the message is for people."""


def spec_of(run: Run, analyses: Mapping[str, Analysis] = ANALYSES) -> JobSpec:
    """Return what the job of an analysis is told, with the folders of its logs; raises `SourceGone`."""
    analysis = analyses.get(run.kind)
    if analysis is None:
        raise SourceGone(f"This release has no analysis of the kind {run.kind}. Ask another one.")
    arguments = dict(run.arguments)
    for argument in analysis.arguments:
        if argument.type is ArgumentType.LOG and arguments.get(argument.name) is not None:
            arguments[argument.name] = _folder_of(arguments[argument.name], run.subject)
    archive = Path(settings.CROSSLOG_ARCHIVE)
    values = {
        "arguments": arguments,
        "tables": str(tables_of(run)),
        "histories": str(archive / "histories"),
        "tasks": TASKS,
    }
    return JobSpec(str(run.pk), run.kind, values, lease_s=settings.LEASE_S)


def tables_of(run: Run) -> Path:
    """Return the folder of the tables that an analysis answered; it may not be there."""
    return _tables_folder() / (Path(run.folder).name or str(run.pk))


def remove_tables(run: Run) -> None:
    """Remove the tables of all attempts."""
    for folder in _tables_folder().glob(f"{run.pk}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _tables_folder() -> Path:
    return Path(settings.CROSSLOG_ARCHIVE) / "analyses"


def _folder_of(name: str, subject: str) -> str:
    source = sources.get_source(name)
    # A cluster of the same alias that was registered since has another log.
    if source is None or (subject and source.subject != subject):
        raise SourceGone(f"The metadata log {name} was removed before this analysis started.")
    return str(source.folder)
