"""Collection rounds: claim what is due, collect, write how it ended and when the next round is due.

A kind of round is declared once (`Rounds`), and its room says what it collects. Two Celery tasks serve all
kinds (`console.frame.tasks`). A queued task carries no id: the worker takes the row that is longest overdue.
If each task named its cluster, in the order of the aliases, an overloaded queue would always drop the last
ones, and the last cluster would never be queried.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, OperationalError, models
from django.db.models import Count, F, Min, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from console.frame.claims import CLAIM, is_due_before, is_free, take
from console.frame.processes import liveness
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.limits import SENTENCE, short
from jobs.logs import own_fault

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Subject = TypeVar("Subject", bound=models.Model)
Row = TypeVar("Row", bound="Round")

PARTIAL = "partial"
# A slow cluster is queried less often: it uses no more than a third of a worker.
REST_PER_WORK = 2
# The scheduler's next tick finds the row due instead of the one after.
EARLY = timedelta(seconds=0.5)
MOST_REASONS = MOST_NAMED = 3


class Round(models.Model):
    """How the last round of one subject ended; a round that fails keeps the rows of the one before.

    `claimed_until` keeps other workers away while a round runs, then it says when the next one is due.
    `failing_since` is null while the last round succeeded, also when it was partial (`error_code`).
    """

    claimed_until = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    succeeded_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    error_code = models.CharField(max_length=60, blank=True, default="")
    error = models.TextField(blank=True, default="")
    hint = models.TextField(blank=True, default="")

    class Meta:
        abstract = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round came to.

    `missing` says what the answer left out: the round succeeded in part. `fault` makes it a failed round
    whose `values` are written all the same. A round that `is_over` False neither succeeded nor failed: the
    next one continues. `due_in_s` is when the next one is due, instead of the interval of the kind.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""
    fault: ClusterFault | None = None
    is_over: bool = True
    due_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rounds(Generic[Subject, Row]):
    """One kind of round.

    `of` is the field of `rows` that leads to its subject (a cluster or a flow), `subjects` are those that
    are collected, `part` the values of a model that has the rounds of several kinds. `activity` names the
    work in messages ("collecting"). Without `rests` a row is free as soon as its round ended: its room has
    a `due` of its own.
    """

    name: str
    rows: type[Row]
    of: str
    subjects: Callable[[], QuerySet[Subject]]
    every_s: Callable[[], float]
    activity: str
    claim: timedelta = CLAIM
    part: Mapping[str, Any] = field(default_factory=dict)
    rests: bool = True

    def due(self, now: datetime) -> list[int]:
        """Return the keys of subjects whose round is due, the one that waits longest first; one query."""
        mine = self.rows._default_manager.filter(**self.part, **{self.of: OuterRef("pk")})
        until = Subquery(mine.values("claimed_until")[:1])
        waiting = self.subjects().annotate(waits_since=until)
        return longest_waiting(waiting.filter(is_free(now, "waits_since")), "waits_since")

    def overdue(self, since: datetime) -> tuple[int, datetime | None]:
        """Return how many rows have been due since before a moment, and since when the first; one query."""
        every = timedelta(seconds=self.every_s())
        mine = {**self.part, f"{self.of}__in": self.subjects().order_by().values("pk")}
        found = self.rows._default_manager.filter(is_due_before(since, every), **mine).aggregate(
            count=Count("pk"), first=Min(Coalesce("claimed_until", "finished_at"))
        )
        return found["count"], found["first"]

    def run(
        self,
        pk: int,
        collect: Callable[[Subject, Row], Outcome],
        clock: Clock = timezone.now,
        row_of: Callable[[Subject], Row] | None = None,
    ) -> bool:
        """Run the round of one subject when it is due; False when it was not, or the subject is gone.

        A fault is written to the row, not raised. `row_of` makes the row where its key is not enough.
        """
        subject = self.subjects().filter(pk=pk).first()
        if subject is None:
            return False
        row = (row_of or self.row_of)(subject)
        if not self.claim_row(row, clock()):
            return False
        self.carry_out(row, str(subject), lambda: collect(subject, row), clock)
        return True

    def row_of(self, subject: Subject) -> Row:
        """Return the row of a subject, made when there is none."""
        key: dict[str, Any] = {**self.part, self.of: subject}
        return self.rows._default_manager.get_or_create(**key)[0]

    def claim_row(self, row: Row, now: datetime, **changes: Any) -> bool:
        """Claim a row and read it again; False when another worker has it or it is not due yet."""
        if not take(self.rows._default_manager.filter(pk=row.pk), now, self.claim, **changes):
            return False
        row.refresh_from_db()
        return True

    def carry_out(
        self, row: Row, label: str, collect: Callable[[], Outcome], clock: Clock
    ) -> Outcome:
        """Collect for a claimed row and write how it ended; raises only what the database does."""
        begun = time.monotonic()

        def end(outcome: Outcome) -> Outcome:
            self.finish(row, label, outcome, clock(), time.monotonic() - begun)
            return outcome

        try:
            return end(collect())
        except Exception as problem:  # noqa: BLE001  logged by `fault_of`
            # Also values that no column takes: the row says so, and other subjects have their rounds.
            return end(Outcome(fault=self.fault_of(problem, label)))

    def fault_of(self, problem: Exception, label: str) -> ClusterFault:
        """Return what the row of a round says that raised this; a fault of the program is logged."""
        if isinstance(problem, ClusterFault):
            return problem
        if isinstance(problem, InvalidFields):
            text = f"The settings are not usable: {problem}"
            return ClusterFault(text, cluster=label, hint="Correct the settings.")
        logger.error("round broke kind=%s subject=%s", self.name, label, exc_info=problem)
        return ClusterFault(own_fault(self.activity), cluster=label, hint="")

    def finish(self, row: Row, label: str, outcome: Outcome, now: datetime, took_s: float) -> None:
        """Write how a round ended, unless another worker has claimed the row since."""
        if outcome.fault is not None:
            error = outcome.fault.message
            logger.warning("round failed kind=%s subject=%s error=%s", self.name, label, error)
        every_s = self.every_s() if outcome.due_in_s is None else outcome.due_in_s
        rest = timedelta(seconds=max(every_s - took_s, REST_PER_WORK * took_s)) - EARLY
        values = {
            "finished_at": now,
            "duration_ms": int(took_s * 1000),
            **ending(outcome, now),
            **outcome.values,
        }
        rows = self.rows._default_manager.filter(pk=row.pk)
        ours = rows.filter(claimed_until=row.claimed_until)
        until = now + max(rest, timedelta()) if self.rests else None
        if not ours.update(claimed_until=until, **values):
            # A round at once was requested meanwhile: the row stays due. No other round has ended since.
            rows.filter(claimed_until=None, finished_at=row.finished_at).update(**values)


def sentence_about(what: str, reasons: Mapping[str, str], total: int) -> str:
    """Return one sentence about the missing parts of an answer, "" when there are none.

    `reasons` maps the name of a missing part to why; parts with the same reason are counted together.
    """
    if not reasons:
        return ""
    alike: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        alike.setdefault(short(reason, SENTENCE).rstrip("."), []).append(short(name))
    groups = sorted(alike.items(), key=lambda entry: -len(entry[1]))
    told = "; ".join(f"{reason} ({_named(names)})" for reason, names in groups[:MOST_REASONS])
    more = f"; and {len(groups) - MOST_REASONS} more reasons" if len(groups) > MOST_REASONS else ""
    return f"{len(reasons)} of {total} {what}: {told}{more}."


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def ending(outcome: Outcome, now: datetime) -> dict[str, Any]:
    """Return the columns that say how a round ended, of a row that exists."""
    if (fault := outcome.fault) is not None:
        since = Coalesce(F("failing_since"), Value(now))
        told = {"error_code": fault.code, "error": fault.message, "hint": fault.hint}
        return {"failing_since": since, **told}
    if not outcome.is_over:
        return {}
    return {
        "succeeded_at": now,
        "failing_since": None,
        "error_code": PARTIAL if outcome.missing else "",
        "error": outcome.missing,
        "hint": "",
    }


# The queue of rounds.

# So many workers may work on one kind at once; each continues while a row is due.
WORKERS_PER_KIND = 8
# How long a worker continues before the next kind has its turn: one period of the scheduler.
SHARE_S = 5.0


@dataclass(frozen=True, slots=True)
class Kind:
    """What the scheduler knows of a kind: `due` lists keys, `take` returns False for one that is taken.

    `rounds` are those that are to come in time.
    """

    due: Callable[[datetime], Collection[Any]]
    take: Callable[[Any], object]
    queue: str = "collect"
    rounds: Rounds[Any, Any] | None = None


# Filled by the `tasks` modules of the rooms.
KINDS: dict[str, Kind] = {}


def longest_waiting(due: QuerySet[Any], since: str) -> list[int]:
    """Return the keys of rows in the order of their turns: those first whose `since` is null, or oldest."""
    return list(due.order_by(F(since).asc(nulls_first=True), "pk").values_list("pk", flat=True))


def work_through_due(
    kind: Kind, clock: Clock = timezone.now, monotonic: Callable[[], float] = time.monotonic
) -> int:
    """Take due rows, longest waiting first, until none is left or the share is used up; return how many.

    One that breaks is passed over: it would cost all that are due after it their turns.
    """
    until, taken = monotonic() + SHARE_S, 0

    def take(each: Any) -> bool:
        try:
            return bool(kind.take(each))
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("turn broke key=%s", each)
            return False

    while any(take(each) for each in kind.due(clock())):
        taken += 1
        liveness.sign()
        if monotonic() >= until:
            break
    return taken
