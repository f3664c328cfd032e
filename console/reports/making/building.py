"""How a report is made: rights and subjects, analyses where they are needed, the document, its files."""

from __future__ import annotations

import logging
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.views.debug import SafeExceptionReporterFilter

from console.accounts.asked_rights import acting
from console.accounts.models import User
from console.env import names_read
from console.frame.claims import ending, is_free, owned, release, take
from console.frame.errors import ActionRefused
from console.reports.kinds.asked import Answer, Asked, Question
from console.reports.kinds.registry import MAKERS, Maker
from console.reports.making import store
from console.reports.making.parts import parts_of
from console.reports.models import ReportRun, RunState, Trigger
from console.reports.sending.contents import link_to
from console.reports.sending.source import queue_deliveries
from console.reports.subjects import NOUNS, clusters_of, name_of, subjects_of
from console.runs.analyses.actions import start_scheduled
from console.runs.analyses.results import result_of
from console.runs.models import LIVE_STATES, Run
from jobs.cluster.errors import InvalidFields
from jobs.reports.document import Document, Verdict
from jobs.reports.kinds.kind import KINDS, SubjectNoun
from jobs.reports.rendering import formats
from jobs.reports.rendering.formats import Format, Paper
from jobs.reports.values import stamp
from jobs.severity import Severity
from jobs.spark.submit import VARIABLES
from jobs.version import VERSION

logger = logging.getLogger(__name__)

# A program that makes a report has so much time; then its claim is over, and it is made again.
CLAIM = timedelta(minutes=15)
MOST_ATTEMPTS = 3
MOST_PER_ROUND = 20
_LOST = "The program that made this report ended {} times without a result. Its log says why."
_FULL_DISK = (
    "The files could not be stored: {}. Make room in the home folder and make the report again."
)


def make_due(now: datetime) -> int:
    """Make the reports that wait, one after the other, each in a program of its own; return how many.

    While one is being made, the next rounds leave the others waiting.
    """
    wake_waiting()
    give_up_lost(now)
    if ReportRun.objects.filter(state=RunState.BUILDING).exists():
        return 0
    made = 0
    for run_id in next_runs():
        if claim(run_id, now):
            _make_apart(run_id)
            made += 1
    return made


def next_runs() -> list[UUID]:
    """Return the runs that are made next, the one that waits longest first."""
    queued = ReportRun.objects.filter(state=RunState.QUEUED).order_by("created_at", "pk")
    return list(queued.values_list("pk", flat=True)[:MOST_PER_ROUND])


def wake_waiting() -> None:
    """Queue the runs whose analyses have all ended."""
    for run in ReportRun.objects.filter(state=RunState.WAITING):
        keys = [told["run"] for told in run.answers.values() if told.get("run")]
        if not Run.objects.filter(pk__in=keys, state__in=LIVE_STATES).exists():
            waiting = ReportRun.objects.filter(pk=run.pk, state=RunState.WAITING)
            waiting.update(state=RunState.QUEUED, claimed_until=None)


def give_up_lost(now: datetime) -> None:
    """Queue again what a program has left behind, and give up what several have."""
    lost = ReportRun.objects.filter(is_free(now), state=RunState.BUILDING)
    lost.filter(attempts__lt=MOST_ATTEMPTS).update(state=RunState.QUEUED, claimed_until=None)
    lost.filter(attempts__gte=MOST_ATTEMPTS).update(
        state=RunState.FAILED,
        error=_LOST.format(MOST_ATTEMPTS),
        finished_at=now,
        claimed_until=None,
    )


def claim(run_id: UUID, now: datetime) -> bool:
    """Claim a queued run; False when another worker has it."""
    queued = ReportRun.objects.filter(pk=run_id, state=RunState.QUEUED)
    changes = {"state": RunState.BUILDING, "started_at": now, "attempts": F("attempts") + 1}
    return take(queued, now, CLAIM, **changes)


def make(run_id: UUID, now: datetime, makers: Mapping[str, Maker] = MAKERS) -> None:
    """Make a claimed run: it becomes WAITING, READY (with its deliveries) or FAILED."""
    run = ReportRun.objects.select_related("person").get(pk=run_id)
    with ending(run, "making the report", state=RunState.FAILED, finished_at=now):
        _make(run, now, makers[run.kind])


def _make(run: ReportRun, now: datetime, maker: Maker) -> None:
    person = _person_of(run)
    subjects, left_out = _subjects_of(run, person)
    asked = [Asked(period, subjects, person, now=now) for period in _periods_of(run)]
    if not run.answers and _ask(run, person, maker, asked, now):
        return
    answers = _answers_of(run)
    asked = [replace(one, answers=answers) for one in asked]
    document = build_document(run, maker, asked, left_out, now)
    # What has ended this program twice is not tried a third time.
    is_plain = run.attempts >= MOST_ATTEMPTS
    contents, faults = formats.render_all(document, Paper(run.paper), is_plain=is_plain)
    if not contents:
        raise ActionRefused("no_format", " ".join(faults))
    name = formats.file_name(document, Format.JSON).rpartition(".")[0]
    run.error = " ".join(faults)
    said = (Verdict(Severity.WARNING, "Incomplete", run.error),) if faults else ()
    told = replace(document, verdicts=(*document.verdicts, *said))
    try:
        files = store.write_files(run, contents, name, parts_of(told, link_to(run)))
    except OSError as error:
        raise ActionRefused("full_disk", _FULL_DISK.format(error.strerror or error)) from error
    _finish(run, document, files, clusters_of(subjects), now)


def build_document(
    run: ReportRun,
    maker: Maker,
    asked: Sequence[Asked],
    left_out: Sequence[Verdict],
    now: datetime,
) -> Document:
    """Return the document of a run: of one period, or of two beside each other."""
    recorded = [maker.read(one) for one in asked]
    content = maker.build(recorded[0], recorded[1] if len(recorded) > 1 else None)
    return Document(
        kind=run.kind,
        title=run.name or KINDS[run.kind].title,
        period=run.period,
        before=asked[1].period if len(asked) > 1 else None,
        subjects=tuple(name_of(one) for one in asked[0].subjects),
        sections=content.sections,
        verdicts=(*left_out, *content.verdicts),
        made_at=stamp(now) or "",
        made_for=asked[0].person.get_username(),
        base_url=settings.CROSSLOG_URL,
        crosslog=VERSION,
    )


def _person_of(run: ReportRun) -> User:
    """Return in whose name it is made, with the rights of the request; raises `ActionRefused`."""
    if run.for_admins:
        return acting(run.person, run.asked_with, "administer")
    return acting(run.person, run.asked_with, "view", None)


def _subjects_of(run: ReportRun, person: User) -> tuple[list[Any], list[Verdict]]:
    """Return the flows or clusters that the person may see now, and what is said of the others."""
    noun = KINDS[run.kind].subject
    if noun is SubjectNoun.NONE:
        return [], []
    found = subjects_of(run.kind, run.subjects, person)
    word = NOUNS[noun]
    if not found:
        text = (
            f"There is no {word} that {person.get_username()} may see: there is nothing to report."
        )
        raise ActionRefused("no_subjects", text)
    missing = len(run.subjects) - len(found) if run.subjects else 0
    if not missing:
        return found, []
    text = (
        f"{missing} {word}{'s' * (missing > 1)} removed, or not visible to {person.get_username()}."
    )
    return found, [Verdict(Severity.WARNING, "Incomplete", text)]


def _periods_of(run: ReportRun) -> list[Any]:
    return [run.period, run.period.before()] if run.with_before else [run.period]


def _ask(run: ReportRun, person: User, maker: Maker, asked: Sequence[Asked], now: datetime) -> bool:
    """Ask the analyses that the sections need; False when there are none to wait for."""
    questions = [each for one in asked for each in maker.questions(one)]
    if not questions:
        return False
    told = {one.key: _ask_one(one, person, now) for one in questions}
    is_waiting = any("run" in one for one in told.values())
    state = RunState.WAITING if is_waiting else RunState.BUILDING
    run.answers = told
    owned(run).update(state=state, answers=told)
    return is_waiting


def _ask_one(question: Question, person: User, now: datetime) -> dict[str, str]:
    try:
        given = {"kind": question.kind, "arguments": dict(question.arguments)}
        return {"run": str(start_scheduled(given, person, now).pk)}
    except (PermissionDenied, ActionRefused) as refusal:
        return {"error": str(refusal)}
    except InvalidFields as wrong:
        return {"error": " ".join(wrong.errors.values())}


def _answers_of(run: ReportRun) -> Mapping[str, Answer]:
    return {key: _answer(told) for key, told in run.answers.items()}


def _answer(told: Mapping[str, str]) -> Answer:
    if "run" not in told:
        return Answer(None, told["error"])
    found = Run.objects.filter(pk=told["run"]).first()
    if found is None:
        return Answer(None, "The analysis was removed.")
    href = reverse("runs:detail", args=[found.pk])
    try:
        return Answer(result_of(found), href=href, run=found)
    except ActionRefused as refusal:
        return Answer(None, refusal.message, href)


def _finish(
    run: ReportRun, document: Document, files: dict[str, Any], clusters: set[int], now: datetime
) -> None:
    worst = next((one for one in document.verdicts if one.level is not Severity.HEALTHY), None)
    first = worst or next(iter(document.verdicts), None)
    with transaction.atomic():
        is_ours = release(
            run,
            state=RunState.READY,
            files=files,
            error=run.error,
            cluster_count=len(clusters),
            headline=f"{first.word}: {first.sentence}" if first else "",
            finished_at=now,
        )
        if is_ours:
            run.refresh_from_db()
            run.clusters.set(clusters)
            if run.trigger != Trigger.PREVIEW:
                queue_deliveries(run, now)


def _make_apart(run_id: UUID) -> None:
    """Make a run in a program of its own: its memory is free again afterwards."""
    manage = Path(settings.ROOT) / "manage.py"
    command = [sys.executable, str(manage), "make_report", str(run_id)]
    try:
        ended = subprocess.run(  # noqa: PLW1510  its code is looked at
            command,
            stdin=subprocess.DEVNULL,
            timeout=CLAIM.total_seconds() - 10,
            env=environment_of_maker(os.environ),
        )
        code = ended.returncode
    except subprocess.TimeoutExpired:
        code = None
    if code != 0:
        logger.error("the program that makes a report failed run_id=%s code=%s", run_id, code)
        # Its claim is over: the next round queues it again, or gives up.
        building = ReportRun.objects.filter(pk=run_id, state=RunState.BUILDING)
        building.update(claimed_until=None)


_SECRET = SafeExceptionReporterFilter.hidden_settings
_FAMILIES = ("CROSSLOG_", "DJANGO_", "LC_", "MALLOC_", "MPL", "OMP_", "OPENBLAS_", "PYTHON")
# Those of the PostgreSQL client, its password included.
_DATABASE = re.compile(r"PG(?!P_)[A-Z0-9]+")


def environment_of_maker(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the program gets: settings, and of the secrets only those of the database and of Redis.

    Nothing that it does is signed or encrypted, so the key of the console is replaced by a random one.
    """
    settings = {one for name in names_read() for one in (name, f"{name}_FILE")}
    passed = {name: value for name, value in environ.items() if _is_passed(name, settings)}
    return {**passed, "SECRET_KEY": secrets.token_urlsafe(50)}


def _is_passed(name: str, settings: set[str]) -> bool:
    if _DATABASE.fullmatch(name):
        return True
    is_needed = name in VARIABLES or name in settings or name.startswith(_FAMILIES)
    # Addresses of schema registries hold passwords.
    return is_needed and not _SECRET.search(name) and "SCHEMA_REGISTRIES" not in name
