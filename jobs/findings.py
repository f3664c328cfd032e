"""Findings: the value that rules return, and its life from round to round. Pure."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from jobs.severity import Severity

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    `code` is stable, for programs. `subject` is what it is about (a partition `orders-3`, a topic, a group
    and a partition, a node), empty for all of its scope. `evidence` are numbers and words, their units in
    their names. `since` is when it began (None: only the moment is known at which it was seen), `ended` when
    it was over (None: it is not). `trouble` and `cause` name its runbook.
    """

    code: str
    severity: Severity
    sentence: str
    todo: str = ""
    subject: str = ""
    topic: str = ""
    partition: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    ended: datetime | None = None
    brokers: tuple[int, ...] = ()
    trouble: str = ""
    cause: str = ""

    @property
    def key(self) -> Key:
        """What makes it the same finding in the next round."""
        return str(self.code), self.subject

    def to_mapping(self) -> dict[str, Any]:
        """Return the part that `crosslog drift --json` prints."""
        return {
            "code": str(self.code),
            "severity": self.severity.value,
            "sentence": self.sentence,
            "todo": self.todo,
            "subject": self.subject,
            "topic": self.topic,
            "partition": self.partition,
            "evidence": dict(self.evidence),
            "since": self.since.isoformat() if self.since else None,
        }


def worst_first(findings: Iterable[Finding], before: Container[Key] = frozenset()) -> list[Finding]:
    """Return findings by severity, equal ones in their order; `before` come behind the critical ones."""

    def place(one: Finding) -> tuple[bool, int]:
        severity = one.severity
        return severity is not Severity.CRITICAL and one.key not in before, -severity.rank

    return sorted(findings, key=place)


class Known(Protocol):
    """An open finding: since when, and when it was last seen."""

    code: str
    subject: str
    opened_at: datetime
    last_seen_at: datetime


K = TypeVar("K", bound=Known)


@dataclass(frozen=True, slots=True)
class Life:
    """When findings of one kind open and end.

    What the next round may contradict (`two_rounds`) opens with the second of two rounds in a row that see
    it, everything else with the first. It ends when it was not seen for `end_after`; zero: with the first
    round that does not see it. Of more than `most_open` the worst are kept, and what is open, so that the
    limit does not end it.
    """

    kind: str
    two_rounds: Collection[str] = ()
    end_after: timedelta = timedelta()
    most_open: int = 200


@dataclass(frozen=True, slots=True)
class Change(Generic[K]):
    """What a round changed.

    `opened` come with the moment at which they began, `closed` with that at which they had ended; what is
    neither `kept` nor `closed` of the open ones waits. `pending` are those that one round has seen, with its
    moment; `past` those that were over when they were seen.
    """

    opened: list[tuple[Finding, datetime]]
    kept: list[tuple[K, Finding]]
    closed: list[tuple[K, datetime]]
    pending: dict[Key, datetime]
    past: list[Finding]


def follow(
    open_now: Iterable[K],
    pending: Mapping[Key, datetime],
    found: Iterable[Finding],
    judged: Container[str] | None,
    now: datetime,
    life: Life,
) -> Change[K]:
    """Return what becomes of open and pending findings after a round.

    `judged` are the codes whose rules were applied (None: all); the others are neither confirmed nor over.
    """
    known = {(one.code, one.subject): one for one in open_now}
    all_found = list(found)
    seen: dict[Key, Finding] = {}
    for one in worst_first((one for one in all_found if one.ended is None), known):
        if len(seen) < life.most_open:
            seen.setdefault(one.key, one)
    past = worst_first(one for one in all_found if one.ended is not None)[: life.most_open]
    fresh = {key: one for key, one in seen.items() if key not in known}
    opens = {key for key in fresh if key in pending or key[0] not in life.two_rounds}

    def is_over(key: Key) -> bool:
        if key in seen or not _is_judged(key, judged):
            return False
        return not life.end_after or now - known[key].last_seen_at >= life.end_after

    still = {k: at for k, at in pending.items() if k not in seen and not _is_judged(k, judged)}
    return Change(
        [(fresh[key], _began(fresh[key], pending.get(key), now)) for key in fresh if key in opens],
        [(one, seen[key]) for key, one in known.items() if key in seen],
        [(one, _end_of(one, past)) for key, one in known.items() if is_over(key)],
        still | {key: now for key in fresh if key not in opens},
        past,
    )


def _is_judged(key: Key, judged: Container[str] | None) -> bool:
    return judged is None or key[0] in judged


def _began(finding: Finding, first_seen_at: datetime | None, now: datetime) -> datetime:
    """It began when it says so, else with the first round that saw it."""
    return min(finding.since or first_seen_at or now, now)


def _end_of(one: Known, past: Iterable[Finding]) -> datetime:
    """It was over when it says so, else when it was last seen."""
    key = one.code, one.subject
    ends = [other.ended for other in past if other.key == key and other.ended]
    return min((at for at in ends if at >= one.opened_at), default=one.last_seen_at)


@dataclass(frozen=True, slots=True)
class Sighting:
    """Since when rounds in a row saw something (ms since 1970), and how many did."""

    first_ms: int
    rounds: int = 1


@dataclass(frozen=True, slots=True)
class Sightings:
    """What the last round saw, which was at `round_ms` on the same clock; None: there was no round.

    For rooms that must know what two rounds agree on before they judge it.
    """

    seen: Mapping[Key, Sighting] = field(default_factory=dict)
    round_ms: int | None = None

    def after(self, keys: Collection[Key], now_ms: int, within_ms: int) -> Sightings:
        """Return the sightings after the next round; rounds further apart than `within_ms` do not agree."""
        is_near = self.round_ms is not None and 0 <= now_ms - self.round_ms <= within_ms
        known = self.seen if is_near else {}
        found = {
            key: replace(known[key], rounds=known[key].rounds + 1)
            if key in known
            else Sighting(now_ms)
            for key in keys
        }
        return Sightings(found, now_ms)

    def is_agreed(self, key: Key) -> bool:
        """Whether at least two rounds in a row saw it."""
        return key in self.seen and self.seen[key].rounds > 1

    def without(self, codes: Collection[str]) -> Sightings:
        """Return the sightings without those of some codes."""
        return replace(self, seen={k: one for k, one in self.seen.items() if k[0] not in codes})

    def to_mapping(self) -> dict[str, Any]:
        seen = [[*key, one.first_ms, one.rounds] for key, one in self.seen.items()]
        return {"round_ms": self.round_ms, "seen": seen}

    @classmethod
    def from_mapping(cls, told: Mapping[str, Any]) -> Sightings:
        """Return what `to_mapping` made; no sighting for an empty mapping."""
        seen = {(code, subject): Sighting(at, n) for code, subject, at, n in told.get("seen", ())}
        return cls(seen, told.get("round_ms"))
