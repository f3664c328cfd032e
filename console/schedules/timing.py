"""When a cron expression is due, in a time zone.

A local time that a change to summer time leaves out is due right after the gap, one that exists twice
is due the first time only; expressions whose minute or hour begins with a star follow elapsed time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from jobs.cluster.errors import InvalidFields

LONGEST_CRON = 100
FIELDS = 5
# Any moment: whether an expression means something does not depend on it.
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
# More missed times are not counted one by one.
MOST_MISSED = 1000
HELP = "Five fields: minute, hour, day of the month, month, day of the week, as in 0 3 * * MON-FRI."


def check_times(cron: str, time_zone: str) -> None:
    """Raise `InvalidFields` for what is no cron expression, never due, or no time zone."""
    wrong = {}
    if time_zone not in zones():
        wrong["time_zone"] = "Unknown time zone: write it as Europe/Berlin or UTC."
    problem = _problem_of(cron)
    if problem:
        wrong["cron"] = f"{problem} {HELP}"
    if wrong:
        raise InvalidFields(wrong)


def next_times(cron: str, time_zone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times after a moment, aware UTC; raises `InvalidFields`."""
    check_times(cron, time_zone)
    zone, last = ZoneInfo(time_zone), after
    for local in CronSim(cron, after.astimezone(zone)):
        at = local.astimezone(UTC)
        # Where an hour comes twice, the library begins again in the first one.
        if at > last:
            last = at
            yield at


def next_after(cron: str, time_zone: str, after: datetime) -> datetime | None:
    """Return the first time after a moment; None when none follows."""
    return next(next_times(cron, time_zone, after), None)


def count_due(cron: str, time_zone: str, after: datetime, until: datetime) -> int:
    """Return how many times lie after a moment and not after another, `MOST_MISSED` at most."""
    first = islice(next_times(cron, time_zone, after), MOST_MISSED)
    return sum(1 for _ in _until(first, until))


def in_words(cron: str) -> str:
    """Return what an expression says in English; the expression itself when it says nothing."""
    try:
        return CronSim(cron, _SOME_DAY).explain()
    except CronSimError:
        return cron


def local_text(at: datetime, time_zone: str) -> str:
    """Return a time in a zone: `Thu 26 Nov 2026 03:00 Europe/Berlin`; in UTC when the zone is unknown."""
    zone = time_zone if time_zone in zones() else "UTC"
    return f"{at.astimezone(ZoneInfo(zone)):%a %d %b %Y %H:%M} {zone}"


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones."""
    return frozenset(available_timezones())


def _problem_of(cron: str) -> str:
    # The library also takes six fields, the first of seconds.
    if len(cron.split()) != FIELDS or len(cron) > LONGEST_CRON:
        return "Not a cron expression."
    try:
        is_ever = next(CronSim(cron, _SOME_DAY), None) is not None
    except CronSimError as problem:
        return f"Not a cron expression ({str(problem).lower()})."
    return "" if is_ever else "It never matches: no such day exists."


def _until(times: Iterator[datetime], end: datetime) -> Iterator[datetime]:
    for at in times:
        if at > end:
            return
        yield at
