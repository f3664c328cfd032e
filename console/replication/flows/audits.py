"""The latest copy audit of flows: verdict, level, age, counts, and how much of the flow it judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Max, Q, QuerySet
from django.urls import reverse
from django.utils.dateparse import parse_datetime

from console.replication.flows.models import ReplicationFlow
from console.replication.translation.translator import subject_of
from console.runs.models import LIVE_STATES, Run, RunState
from jobs.numbers import format_count, format_span_s
from jobs.severity import Severity

KIND = "copy-audit"
OLD = timedelta(days=7)
MOST_FINDINGS = 3
DIFFERENCES = ("missing", "extra", "reordered", "altered", "duplicated")
DEFINITION = (
    "Source and target records of the flow, read and compared by a Spark analysis that does not use the "
    "positions or offset syncs of the flow. L0 compares batch headers, L1 digests per hour, L2 each "
    "record by a 64-bit hash, L3 each record by SHA-256."
)


class Verdict(StrEnum):
    """What an audit found; UNKNOWN: nothing differs, and something could not be judged."""

    NOT_AUDITED = "not_audited"
    EQUAL = "equal"
    DIFFERS = "differs"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> Verdict:
        return cls.UNKNOWN


_JUDGED = (Verdict.EQUAL.value, Verdict.DIFFERS.value)
_SHOWN = {
    Verdict.NOT_AUDITED: ("Not audited", Severity.UNKNOWN),
    Verdict.EQUAL: ("Equal", Severity.HEALTHY),
    Verdict.DIFFERS: ("Differs", Severity.CRITICAL),
    Verdict.UNKNOWN: ("Unknown", Severity.UNKNOWN),
}


@dataclass(frozen=True, slots=True)
class FlowAudit:
    """The audit of a flow that counts; `run` None: it was never audited.

    `at` is when the audit fixed the ends of the logs, `selected` the argument `topics` (empty: the whole
    flow). `found` are sentences about the first differences, `later` says how a later audit does.
    """

    verdict: Verdict = Verdict.NOT_AUDITED
    run: UUID | None = None
    at: datetime | None = None
    age_s: float | None = None
    selected: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    found: tuple[str, ...] = ()
    later: str = ""

    definition = DEFINITION

    @property
    def differs(self) -> bool:
        return self.verdict is Verdict.DIFFERS

    @property
    def is_old(self) -> bool:
        """Whether it says little about the records of now."""
        return self.age_s is not None and self.age_s > OLD.total_seconds()

    @property
    def is_partial(self) -> bool:
        """Whether it judged a part of the topics only."""
        topics, of = self.facts.get("topics"), self.facts.get("topics_of_flow")
        return bool(self.selected) or (topics is not None and of is not None and topics < of)

    @property
    def word(self) -> str:
        part = self.verdict is Verdict.EQUAL and self.is_partial
        return "Equal in part" if part else _SHOWN[self.verdict][0]

    @property
    def severity(self) -> Severity:
        """How bad it is: what was not judged is unknown, and what is old is not healthy."""
        if self.verdict is Verdict.EQUAL and self.is_partial:
            return Severity.UNKNOWN
        if self.verdict is Verdict.EQUAL and self.is_old:
            return Severity.WARNING
        return _SHOWN[self.verdict][1]

    @property
    def level(self) -> str:
        """L0 to L3; empty: never audited."""
        return str(self.facts.get("level") or "")

    @property
    def scope(self) -> str:
        """How many topics of the flow it judged; empty: never audited."""
        topics, of = self.facts.get("topics"), self.facts.get("topics_of_flow")
        return "" if self.run is None else f"{format_count(topics)} of {format_count(of)} topics"

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of differences, without zeros."""
        told = ((name, self.facts.get(name) or 0) for name in DIFFERENCES)
        return {name: number for name, number in told if number}

    @property
    def sentence(self) -> str:
        """What was compared and found, in a sentence; empty: never audited."""
        if self.run is None:
            return ""
        counts = [f"{format_count(number)} {name}" for name, number in self.counts.items()]
        compared = format_count(self.facts.get("records_compared"))
        text = (
            f"{', '.join(counts) or 'No difference'} in {compared} compared records of {self.scope}"
        )
        unknown = self.facts.get("partitions_unknown")
        not_judged = f"; {format_count(unknown)} partitions were not judged" if unknown else ""
        return f"{text} (level {self.level}){not_judged}."

    @property
    def note(self) -> str:
        """Level, age and scope, as a small text."""
        if self.run is None:
            return self.later or "no copy audit of this flow"
        old = " (old)" if self.is_old else ""
        age = f"{format_span_s(self.age_s)} ago{old}"
        return " \N{MIDDLE DOT} ".join(
            part for part in (self.level, age, self.scope, self.later) if part
        )

    @property
    def href(self) -> str:
        """The page of its run; empty: never audited."""
        return reverse("runs:detail", args=[self.run]) if self.run else ""


@dataclass(frozen=True, slots=True)
class _Ended:
    """An audit that succeeded."""

    run: UUID
    subject: str
    created_at: datetime
    at: datetime
    selected: str
    facts: Mapping[str, Any]

    @property
    def is_judged(self) -> bool:
        return self.facts.get("verdict") in _JUDGED

    def replaces(self, earlier: _Ended) -> bool:
        """Whether it judged at least what an earlier one judged, as closely."""
        is_as_wide = not self.selected or self.selected == earlier.selected
        return self.is_judged and is_as_wide and _level(self.facts) >= _level(earlier.facts)


def audits_of(flows: Iterable[ReplicationFlow], now: datetime) -> dict[int, FlowAudit]:
    """Return the audit that counts at a moment, of each flow by its key; at most six queries.

    It is the latest that succeeded. One that differs counts until a later audit of the same topics or of the
    whole flow, of the same level or above, judges otherwise.
    """
    subjects = {subject_of(flow): flow.pk for flow in flows}
    ended, later = _read(list(subjects), now)
    found = {pk: FlowAudit(later=later.get(subject, "")) for subject, pk in subjects.items()}
    for subject, runs in ended.items():
        one = _counting(runs)
        found[subjects[subject]] = FlowAudit(
            Verdict(one.facts.get("verdict", Verdict.UNKNOWN)),
            one.run,
            one.at,
            max((now - one.at).total_seconds(), 0.0),
            one.selected,
            one.facts,
            later=later.get(subject, ""),
        )
    return _with_findings(found)


def _read(subjects: Sequence[str], now: datetime) -> tuple[dict[str, list[_Ended]], dict[str, str]]:
    """Return by subject the newest audits of each topics and level, newest first; and how later ones do.

    Where the newest one judged nothing, the newest that did is returned, too.
    """
    runs = Run.objects.filter(
        Q(finished_at=None) | Q(finished_at__lte=now),
        kind=KIND,
        subject__in=subjects,
        created_at__lte=now,
    )
    newest: dict[str, dict[str, datetime]] = {}
    for row in runs.values("subject", "state").annotate(newest=Max("created_at")):
        newest.setdefault(row["subject"], {})[row["state"]] = row["newest"]
    succeeded = runs.filter(state=RunState.SUCCEEDED)
    found = _newest_of_each(succeeded) if newest else []
    unclear = {one.subject for one in found if not one.is_judged}
    if unclear:
        judged = succeeded.filter(summary__facts__verdict__in=_JUDGED, subject__in=unclear)
        found += _newest_of_each(judged)
    ended: dict[str, list[_Ended]] = {}
    for one in sorted(found, key=lambda each: each.created_at, reverse=True):
        ended.setdefault(one.subject, []).append(one)
    return ended, {subject: _later(states) for subject, states in newest.items()}


def _newest_of_each(runs: QuerySet[Run]) -> list[_Ended]:
    """Return the newest runs of each subject, topics and level."""
    groups = runs.values("subject", "arguments__topics", "arguments__level")
    wanted = {row["newest"] for row in groups.annotate(newest=Max("created_at"))}
    rows = runs.filter(created_at__in=wanted).values_list(
        "pk", "subject", "created_at", "finished_at", "arguments", "summary__facts"
    )
    found = []
    for pk, subject, created_at, finished_at, arguments, told in rows:
        facts = told or {}
        at = parse_datetime(facts.get("as_of") or "") or finished_at or created_at
        found.append(_Ended(pk, subject, created_at, at, arguments.get("topics") or "", facts))
    return found


def _later(states: Mapping[str, datetime]) -> str:
    """Say how the newest audit does when it has not succeeded."""
    state = max(states, key=lambda one: states[one])
    if state == RunState.SUCCEEDED:
        return ""
    is_later = RunState.SUCCEEDED in states
    words = "is queued or running" if state in LIVE_STATES else f"ended as {state.lower()}"
    return f"{'a later' if is_later else 'an'} audit {words}"


def _counting(runs: Sequence[_Ended]) -> _Ended:
    """Return the audit that counts, of the newest first."""
    for place, one in enumerate(runs):
        is_replaced = any(later.replaces(one) for later in runs[:place])
        if one.facts.get("verdict") == Verdict.DIFFERS and not is_replaced:
            return one
    return runs[0]


def _with_findings(found: dict[int, FlowAudit]) -> dict[int, FlowAudit]:
    """Return the audits, those that differ with their first differences."""
    wanted = {one.run: pk for pk, one in found.items() if one.differs}
    rows = Run.objects.filter(pk__in=list(wanted)).values_list("pk", "summary__tables")
    for run, tables in rows if wanted else ():
        previews = (one["preview"] for one in tables or () if one["name"] == "findings")
        told = [_told(row) for row in next(previews, []) if row.get("what") in DIFFERENCES]
        audit = found[wanted[run]]
        found[wanted[run]] = replace(audit, found=tuple(told[:MOST_FINDINGS]))
    return found


def _told(row: Mapping[str, Any]) -> str:
    """Return a difference in words: where, how many records, at which offsets."""
    sides = (("source", row.get("source_offset")), ("target", row.get("target_offset")))
    places = ", ".join(f"{side} offset {offset}" for side, offset in sides if offset is not None)
    records = row.get("records")
    many = f"{format_count(records)} " if records is not None else ""
    at = f" at {places}" if places else ""
    return f"{row.get('topic')}-{row.get('partition')}: {many}{row['what']}{at}"


def _level(facts: Mapping[str, Any]) -> str:
    return str(facts.get("level") or "")
