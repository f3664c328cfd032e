"""What is wanted of a report, checked: for forms, routes and the shell alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console.delivery.destinations import check_recipients
from console.frame.security.access import can
from console.reports.subjects import read_names
from jobs.cluster.errors import InvalidFields
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import PeriodName, zone_problem
from jobs.reports.rendering.formats import Format, Paper

LONGEST_NAME = 200
LEAST_KEEP_DAYS, MOST_KEEP_DAYS = 1, 3660
# What is copied from a report into each of its runs.
COPIED = (
    "name",
    "kind",
    "subjects",
    "time_zone",
    "with_before",
    "formats",
    "paper",
    "recipients",
    "keep_days",
)
DEFAULTS: Mapping[str, Any] = {
    "subjects": [],
    "period": PeriodName.WEEK.value,
    "time_zone": "UTC",
    "with_before": True,
    "formats": [Format.PDF.value],
    "paper": Paper.A4.value,
    "recipients": [],
    "keep_days": 400,
}


def check_definition(given: Mapping[str, Any], person: Any) -> dict[str, Any]:
    """Return all values of a report as its row keeps them; what is left out has its default.

    `subjects` are names, which the person has to see. Raises `InvalidFields` with the names of fields.
    """
    values = {**DEFAULTS, **given}
    wrong: dict[str, str] = {}
    kind = str(values.get("kind", ""))
    if kind not in KINDS:
        raise InvalidFields({"kind": f"One of {', '.join(KINDS)}."})
    if KINDS[kind].for_admins and not can(person, "administer"):
        raise InvalidFields({"kind": "A report of the audit log needs the role admin."})
    found: dict[str, Any] = {"kind": kind, "with_before": bool(values["with_before"])}
    for name, check in _CHECKS.items():
        try:
            found[name] = check(values.get(name))
        except InvalidFields as refusal:
            wrong |= refusal.errors
        except ValueError as refusal:
            wrong[name] = str(refusal)
    try:
        found["subjects"] = read_names(kind, _texts(values["subjects"]), person)
    except InvalidFields as refusal:
        wrong |= refusal.errors
    if wrong:
        raise InvalidFields(wrong)
    return found


def _name(given: Any) -> str:
    text = str(given or "").strip()
    if not text or len(text) > LONGEST_NAME or not text.isprintable():
        raise ValueError(f"Enter a name of 1 to {LONGEST_NAME} printable characters.")
    return text


def _period(given: Any) -> str:
    if given not in set(PeriodName):
        raise ValueError(f"One of {', '.join(PeriodName)}.")
    return str(given)


def _zone(given: Any) -> str:
    problem = zone_problem(str(given))
    if problem:
        raise ValueError(problem)
    return str(given)


def _formats(given: Any) -> list[str]:
    wanted = _texts(given)
    if not wanted or not set(wanted) <= set(Format):
        raise ValueError(f"One or more of {', '.join(Format)}.")
    return [one.value for one in Format if one in wanted]


def _paper(given: Any) -> str:
    if given not in set(Paper):
        raise ValueError(f"One of {', '.join(Paper)}.")
    return str(given)


def _keep_days(given: Any) -> int:
    days = int(given) if str(given).isdecimal() and len(str(given)) < 6 else 0  # noqa: PLR2004  more digits than MOST_KEEP_DAYS
    if not LEAST_KEEP_DAYS <= days <= MOST_KEEP_DAYS:
        raise ValueError(f"From {LEAST_KEEP_DAYS} to {MOST_KEEP_DAYS} days.")
    return days


def _texts(given: Any) -> Sequence[str]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidFields({"subjects": "Enter a list of names."})
    return [str(one) for one in given]


_CHECKS = {
    "name": _name,
    "period": _period,
    "time_zone": _zone,
    "formats": _formats,
    "paper": _paper,
    "recipients": check_recipients,
    "keep_days": _keep_days,
}
