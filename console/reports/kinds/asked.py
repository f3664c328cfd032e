"""What a reader of a kind gets, and answers of analyses that a report waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.runs.analyses import sources
from console.runs.analyses.results import tables_in
from console.runs.models import Run
from jobs.reports.periods import Period
from jobs.reports.values import stamp
from jobs.spark.analyses.analysis import ArgumentType


@dataclass(frozen=True, slots=True)
class Question:
    """An analysis whose answer a report needs: `key` is how the reader finds it again in `Asked.answers`."""

    key: str
    kind: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an analysis came to: `document` is its result, None when there is none, for the reason `error`.

    `href` is the page of its run, `run` the run, whose tables can be read whole.
    """

    document: Mapping[str, Any] | None
    error: str = ""
    href: str = ""
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One period to read: `subjects` are the flows or clusters, only those that `person` may see.

    `answers` are those of the questions that the kind had, by their keys. `now` is when the report is made:
    what is older than its retention then is not there.
    """

    period: Period
    subjects: Sequence[Any]
    person: User
    answers: Mapping[str, Answer] = field(default_factory=dict)
    now: datetime = field(default_factory=timezone.now)


# The database answers shorter periods at once.
LONG_PERIOD_D = 35


def key_of(asked: Asked, kind: str, name: str) -> str:
    """Return the key of a question about a log and the period: both periods of a report may ask."""
    return f"{kind}:{name}:{stamp(asked.period.start)}"


def window_of(asked: Asked, name: str) -> dict[str, Any]:
    """Return the arguments of a question about a log in the period."""
    return {
        "log": name,
        "from": stamp(asked.period.start),
        "to": stamp(asked.period.end),
    }


def needs_analysis(asked: Asked, name: str, known_from: datetime | None, *, is_cut: bool) -> bool:
    """Return whether an analysis of a log's archive is to be asked.

    Where what the database held of the period is removed (`is_cut`), and where it holds a long one. An
    archive begins when the database does: of what was before both, there is nothing to be asked.
    """
    period = asked.period
    begin = max(known_from or period.end, period.start)
    is_long = (period.end - begin).days >= LONG_PERIOD_D
    is_removed = is_cut and begin > period.start
    if not is_long and not is_removed:
        return False
    source = sources.get_source(ArgumentType.LOG, name)
    folder = source.folder if source is not None else None
    return folder is not None and folder.is_dir()


def rows_of(answer: Answer, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table of an answer; only the first ones where its files are gone."""
    if answer.run is not None:
        try:
            return list(tables_in(answer.run)[table].stream())
        except ActionRefused:
            pass
    document: Mapping[str, Any] = answer.document or {}
    return [row for one in document["tables"] if one["name"] == table for row in one["preview"]]


def count_rows(answer: Answer, table: str) -> int:
    """Return how many rows a table of an answer has."""
    document: Mapping[str, Any] = answer.document or {}
    return sum(one["rows"] for one in document["tables"] if one["name"] == table)


def moment_in(facts: Mapping[str, Any], name: str) -> datetime | None:
    """Return a moment of the facts of an answer."""
    text = facts.get(name)
    return datetime.fromisoformat(text) if text else None
