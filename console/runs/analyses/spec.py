"""Files of an analysis, and the specification of its job."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from console.accounts.asked_rights import acting
from console.runs import uploads
from console.runs.analyses import sources
from console.runs.models import Run
from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import Analysis, ArgumentType
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec

TASKS = 2
EVENTS_OF = timedelta(days=30)
MOST_EVENTS = 2000


class SourceGone(Exception):
    """The log, flow or cluster of the question is gone; the message is for people."""


def spec_of(run: Run, now: datetime, analyses: Mapping[str, Analysis] = ANALYSES) -> JobSpec:
    """Return the specification of the job, with names resolved; raises `SourceGone`."""
    analysis = analyses.get(run.kind)
    if analysis is None:
        raise SourceGone(f"This release has no analysis of the kind {run.kind}. Start another one.")
    arguments, resources = dict(run.arguments), {}
    found: list[sources.Source] = []
    named = []
    for argument in analysis.arguments:
        name = arguments.get(argument.name)
        if name is None:
            continue
        if argument.type is ArgumentType.FILE:
            resources[argument.name] = {
                "path": str(_upload(name, now).path),
                "most_rows": settings.ANALYSIS_UPLOAD_ROWS,
            }
        elif argument.type in sources.NOUNS:
            source = _source(argument.type, name)
            found += _counted(argument.type, source)
            named.append(f"{sources.NOUNS[argument.type]} {name}")
            if argument.type is ArgumentType.LOG:
                arguments[argument.name] = str(source.folder)
            else:
                resources[argument.name] = dict(_resource(source))
    # A cluster of the same alias that was registered since has another log.
    if run.subject and sources.subject_of(found) != run.subject:
        raise _gone(", ".join(named))
    resources |= _events(analysis, run, found, now)
    archive = Path(settings.CROSSLOG_ARCHIVE)
    values = {
        "arguments": arguments,
        "resources": resources,
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


def _source(type_: ArgumentType, name: str) -> sources.Source:
    source = sources.get_source(type_, name)
    if source is None:
        raise _gone(f"{sources.NOUNS[type_]} {name}")
    return source


def _counted(type_: ArgumentType, source: sources.Source) -> list[sources.Source]:
    """Return a source whose clusters count: a preset of extractors has none."""
    return [source] if source.clusters or type_ is not ArgumentType.EXTRACTOR else []


def _resource(source: sources.Source) -> Mapping[str, Any]:
    try:
        return source.resource()
    except InvalidFields as wrong:
        text = "; ".join(f"{name}: {problem}" for name, problem in wrong.errors.items())
        raise SourceGone(f"The settings of {source.name} do not hold: {text}") from None


def _events(
    analysis: Analysis, run: Run, found: list[sources.Source], now: datetime
) -> dict[str, Any]:
    """Return recorded events of the time of the question, where it wants them: `{"events": {...}}`.

    They are read with the rights of the request.
    """
    if not analysis.wants_events:
        return {}
    person = run.requested_by
    clusters = {pk for one in found for pk in one.clusters}
    user = acting(person, run.asked_with, "view", clusters) if person else None
    moments = {
        name: datetime.fromtimestamp(ms / 1000, UTC)
        for name in ("from", "to")
        if (ms := run.arguments.get(name)) is not None
    }
    until = min(moments.get("to", now), now)
    since = max(moments.get("from", now - EVENTS_OF), now - EVENTS_OF)
    events = sources.read_events(user, found, since, until, MOST_EVENTS)
    return {"events": {"events": events}}


def _upload(name: str, now: datetime) -> uploads.Upload:
    found = uploads.use(name, now)
    if found is None:
        raise SourceGone(uploads.GONE)
    return found


def _gone(what: str) -> SourceGone:
    return SourceGone(f"The {what} was removed before this analysis started.")
