"""What a reader of a kind gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from console.accounts.models import User
from console.runs.models import Run
from jobs.reports.periods import Period


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
