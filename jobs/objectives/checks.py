"""Checks of objectives: how fast their budgets burn, and what is left. Pure.

Two windows each, as in Google's SRE workbook: the long one says that it matters, the short one that it lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from jobs.checks.check import Area, Check, Threshold, Unit, check
from jobs.findings import Finding
from jobs.numbers import format_span_s
from jobs.objectives.objective import Status
from jobs.severity import Severity

FAST, SLOW, LEFT = "fast_burn", "slow_burn", "left_percent"
_objective = partial(Check, area=Area.CLUSTER)
_factor = partial(Threshold, unit=Unit.COUNT, least=1, most=2000)
# fmt: off
BURN = _objective("objective_burn", "Error budget burns fast", "Does the error budget last?",
    "The burn rate of an objective is at least the fast one over 1 h and over the last steps of 5 min "
    "(critical), or at least the slow one over 6 h and over 1 h (warning).", Severity.CRITICAL,
    runbook="Look for incidents of the flow or the cluster. The page of objectives has the burn rates.",
    effect="error budget burns {burn} times too fast",
    thresholds=(
        _factor(FAST, 14.4, text="Burn rate for critical: 14.4 spends 2 % of the budget in an hour."),
        _factor(SLOW, 6, text="Burn rate for a warning: 6 spends 5 % of the budget in six hours.")))
BUDGET = _objective("objective_budget", "Error budget low", "Is error budget left?",
    "Of the error budget of the last 30 days nothing is left (critical), or less than the threshold.",
    Severity.WARNING, effect="error budget low",
    runbook="Delay changes that risk the objective, or agree on another target. Bad time counts for 30 days.",
    thresholds=(Threshold(LEFT, 10, Unit.PERCENT, "Budget left for a warning.", most=100),))
# fmt: on


@dataclass(frozen=True, slots=True)
class Judgeable:
    """An objective to judge; `key` is its key."""

    key: int
    label: str
    status: Status


@check(BURN)
def burns(one: Judgeable, limits: Mapping[str, float] | None) -> Iterator[Finding]:
    """Find an objective whose budget burns too fast in both windows."""
    status = one.status
    hour, six, now = (
        status.burn(window) for window in (status.hour, status.six_hours, status.recent)
    )
    if limits is None or hour is None:
        return
    if now is not None and min(hour, now) >= limits[FAST]:
        severity, burn, span = Severity.CRITICAL, hour, "1 h"
    elif six is not None and min(hour, six) >= limits[SLOW]:
        severity, burn, span = Severity.WARNING, six, "6 h"
    else:
        return
    yield BURN.finding(
        f"{one.label}: the error budget burned {burn:.1f} times faster than allowed in the last {span}.",
        severity=severity,
        subject=f"objective {one.key}",
        evidence={"burn": round(burn, 1), "window": span},
    )


@check(BUDGET)
def spent(one: Judgeable, limits: Mapping[str, float] | None) -> Iterator[Finding]:
    """Find an objective whose budget is spent or nearly so."""
    left, left_s = one.status.budget_left, one.status.budget_left_s
    if limits is None or left is None or left_s is None or left * 100 >= limits[LEFT]:
        return
    is_spent = left_s <= 0
    text = f"{left:.1%} of the error budget is left ({format_span_s(max(left_s, 0))})."
    yield BUDGET.finding(
        f"{one.label}: {'the error budget of 30 days is spent.' if is_spent else text}",
        severity=Severity.CRITICAL if is_spent else Severity.WARNING,
        subject=f"objective {one.key}",
        evidence={"budget_left_percent": round(left * 100, 1), "budget_left_s": round(left_s)},
    )


def judge(
    one: Judgeable, burn: Mapping[str, float] | None, budget: Mapping[str, float] | None
) -> tuple[Severity, list[Finding]]:
    """Return the state of an objective and its findings, by the thresholds of both checks (None: excluded).

    Unknown: nothing is found, and a check is excluded or nothing was measured in the last hour.
    """
    found = [*burns(one, burn), *spent(one, budget)]
    if found:
        return max((each.severity for each in found), key=lambda severity: severity.rank), found
    is_judged = one.status.hour.known_s and burn is not None and budget is not None
    return Severity.HEALTHY if is_judged else Severity.UNKNOWN, found
