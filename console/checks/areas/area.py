"""What an area returns, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Model

from jobs.checks.settings import Settings
from jobs.findings import Finding, Key

# A clock that differs this much from the time that passed was set, or there were no rounds.
JUMP_S = 120


@dataclass(frozen=True, slots=True)
class Judged:
    """Findings about a cluster, a flow or a log (None: crosslog itself).

    `codes` are the checks that were applied there: others are neither confirmed nor over. A scope
    whose data is too old to judge has none of its checks here: not judged is Unknown. `unjudged` are single
    subjects (code, subject) of these checks that were not judged.
    """

    scope: Model | None
    codes: Collection[str]
    found: tuple[Finding, ...] = ()
    unjudged: frozenset[Key] = frozenset()


@dataclass(slots=True)
class Given:
    """The moment of a round, the settings, and the area's own memory, which it may replace.

    `passed_s` is the time since the round before, at most a minute: a clock that was set makes no
    finding old. 0: there was none.
    """

    now: datetime
    settings: Settings
    passed_s: float = 0
    memory: dict[str, Any] = field(default_factory=dict)


def clock_set_s(given: Given) -> float:
    """Return when the clock was last set (Unix s), 0: never; an area keeps `at_s` and `steady_s` for it."""
    now_s, known = given.now.timestamp(), given.memory
    drift_s = now_s - known.get("at_s", now_s - given.passed_s) - given.passed_s
    return now_s if abs(drift_s) > JUMP_S else float(known.get("steady_s", 0))


@dataclass(frozen=True, slots=True)
class Area:
    """One part of a round; `judge` has a constant number of queries."""

    name: str
    judge: Callable[[Given], Iterable[Judged]]
