"""What is entered for a route, checked; its condition in words, and why it can never match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from console.findings.models import SEVERITIES
from console.notifications.models import LONGEST_PATTERN, NotificationRoute
from jobs.checks.check import CHECKS, Area, Check
from jobs.near_names import near_name
from jobs.patterns.java import NotAPattern
from jobs.patterns.matching import Matcher, glob_expression
from jobs.reports.periods import zone_problem

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MOST_CHECKS, LONGEST_CHECK = 100, 60
LONGEST_WAIT_S, SHORTEST_REPEAT_S, LONGEST_REPEAT_S = 3600, 60, 30 * 86_400
_WILD = set("*?[")


def problems_of(route: NotificationRoute) -> dict[str, str]:
    """Return what is wrong with fields of a route; forms and the API check what is one of a few words."""
    found = {
        "checks": _checks_problem(route.checks),
        "subject_pattern": _glob_problem(route.subject_pattern, LONGEST_PATTERN),
        "time_zone": zone_problem(route.time_zone),
        **_times_problems(route),
    }
    return {name: problem for name, problem in found.items() if problem}


def condition_of(route: NotificationRoute) -> str:
    """Return a condition in words: `critical, broker_* of east, Mon-Fri 08:00-18:00 Europe/Berlin`."""
    is_worst = route.severity == SEVERITIES[-1][0]
    what = ", ".join(route.checks) or "all checks"
    parts = [
        route.severity if is_worst else f"{route.severity} or worse",
        f"{what} of {route.cluster.alias}" if route.cluster else what,
        f"subject {route.subject_pattern}" if route.subject_pattern else "",
        _times_of(route),
    ]
    return ", ".join(part for part in parts if part)


def never_matches(route: NotificationRoute) -> str:
    """Return why no incident can ever match; empty when one can."""
    if not route.checks:
        return ""
    found = checks_of(route.checks)
    if not found:
        return f"There is no check {', '.join(route.checks)}."
    if all(one.is_advice for one in found):
        return "These checks open no incidents: they are advice."
    if route.cluster_id and all(one.area is Area.CROSSLOG for one in found):
        return "These checks are about crosslog, not about a cluster."
    return ""


def checks_of(patterns: Iterable[str]) -> list[Check]:
    """Return the checks that ids and globs name."""
    matcher = Matcher(glob_expression(one) for one in patterns)
    return [one for one in CHECKS.by_id.values() if matcher.matches(one.id)]


def _checks_problem(checks: Sequence[str]) -> str:
    if len(checks) > MOST_CHECKS:
        return f"At most {MOST_CHECKS} checks; these are {len(checks)}. Use globs, as in broker_*."
    for one in checks:
        problem = _glob_problem(one, LONGEST_CHECK)
        if problem:
            return problem
        if not checks_of([one]):
            near = "" if _WILD & set(one) else near_name(one, CHECKS.by_id)
            return f"There is no check {one}.{f' {near} is meant, probably.' if near else ''}"
    return ""


def _glob_problem(glob: str, longest: int) -> str:
    if len(glob) > longest or not (glob.isprintable() or not glob):
        return f"Enter up to {longest} visible characters."
    try:
        glob_expression(glob)
    except NotAPattern as problem:
        return f"This pattern cannot be evaluated: {problem}"
    return ""


def _times_problems(route: NotificationRoute) -> Mapping[str, str]:
    found = {}
    if (route.starts is None) != (route.ends is None):
        name = "starts" if route.starts is None else "ends"
        found[name] = "Enter both times, or none for the whole day."
    elif route.starts is not None and route.starts == route.ends:
        found["ends"] = "It ends when it starts. Enter no times for the whole day."
    if not 0 <= route.wait_s <= LONGEST_WAIT_S:
        found["wait_s"] = f"Enter 0 to {LONGEST_WAIT_S} seconds."
    if route.repeat_s and not SHORTEST_REPEAT_S <= route.repeat_s <= LONGEST_REPEAT_S:
        found["repeat_s"] = (
            f"Enter 0, or {SHORTEST_REPEAT_S} to {LONGEST_REPEAT_S} seconds (30 days)."
        )
    return found


def _times_of(route: NotificationRoute) -> str:
    days = sorted(set(route.days))
    first, last = days[0], days[-1]
    is_run = days == list(range(first, last + 1)) and last - first > 1
    named = f"{DAYS[first]}-{DAYS[last]}" if is_run else ", ".join(DAYS[one] for one in days)
    parts = [] if len(days) == len(DAYS) else [named]
    if route.starts and route.ends:
        parts.append(f"{route.starts:%H:%M}-{route.ends:%H:%M}")
    return " ".join([*parts, route.time_zone]) if parts else ""
