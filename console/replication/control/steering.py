"""Who paused what of a flow, who limited it, and when: pure rules over `control` and `steered_by`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from console.replication.control.control import topic_of
from console.replication.flows.models import ReplicationFlow
from console.replication.measurement.measure import Measured
from jobs.numbers import format_bytes
from jobs.spark.flow_driver.pause_rules import PAUSED_BY_USER

PAUSED, LIMIT = "paused", "limit"
# More names than a line of a list can hold.
MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Steering:
    """A paused topic or partition, or a limit (None: no limit).

    `by` is empty and `at` None where that is not recorded, and for a limit that is a setting of the flow.
    """

    what: str
    name: str = ""
    bytes_per_s: int | None = None
    by: str = ""
    at: datetime | None = None
    is_setting: bool = False

    @property
    def who(self) -> str:
        """Return ` by admin, 23 Nov 08:13 UTC`; ` by an operator` where that is not recorded."""
        if self.at is not None:
            return f" by {self.by or 'crosslog'}, {self.at:%d %b %H:%M} UTC"
        return " by the flow's settings" if self.is_setting else " by an operator"


def note_steerer(
    flow: ReplicationFlow, before: Mapping[str, Any], by: str, now: datetime
) -> dict[str, Any]:
    """Return `steered_by` of a flow after its control changed from `before`; what stayed keeps its person."""
    known, stamp = flow.steered_by, {"by": by, "at": now.isoformat()}
    was, noted = before.get("paused") or (), known.get(PAUSED) or {}
    paused = {}
    for name in flow.control.get("paused") or ():
        # Of a paused topic, what one partition's resume leaves paused is still by the same person.
        kept = next((one for one in (name, topic_of(name)) if one in was), None)
        paused[name] = stamp if kept is None else noted.get(kept)
    found: dict[str, Any] = {PAUSED: {name: one for name, one in paused.items() if one}}
    if "max_bytes_per_s" in flow.control:
        is_same = _limit_of(before) == _limit_of(flow.control)
        found[LIMIT] = known.get(LIMIT) or {} if is_same else stamp
    return {name: value for name, value in found.items() if value}


def steering_of(flow: ReplicationFlow) -> list[Steering]:
    """Return what of a flow is paused, and its limit if it has one."""
    noted = flow.steered_by.get(PAUSED) or {}
    found = [
        Steering(PAUSED, name, None, *_stamp(noted.get(name)))
        for name in flow.control.get("paused") or ()
    ]
    if "max_bytes_per_s" in flow.control:
        stamp = _stamp(flow.steered_by.get(LIMIT))
        limit = flow.control["max_bytes_per_s"]
        return [*found, Steering(LIMIT, "", limit, *stamp)] if limit else found
    limit = flow.max_bytes_per_s
    return [*found, Steering(LIMIT, "", limit, is_setting=True)] if limit else found


def steering_in_words(flow: ReplicationFlow) -> str:
    """Return the same in a sentence for each person and moment."""
    together: dict[str, list[str]] = {}
    sentences = []
    for one in steering_of(flow):
        if one.what == PAUSED:
            together.setdefault(one.who, []).append(one.name)
        else:
            sentences.append(f"Limited to {format_bytes(one.bytes_per_s)}/s{one.who}.")
    paused = [f"Paused{who}: {_names(names)}." for who, names in together.items()]
    return " ".join([*paused, *sentences])


def with_person(row: Measured, flow: ReplicationFlow) -> Measured:
    """Return a measured partition with the person who paused it, which its run does not know."""
    if row.reason != PAUSED_BY_USER:
        return row
    noted = flow.steered_by.get(PAUSED) or {}
    stamp = noted.get(row.topic) or noted.get(f"{row.topic}:{row.partition}")
    return replace(row, reason=f"Paused{Steering(PAUSED, '', None, *_stamp(stamp)).who}.")


def _limit_of(control: Mapping[str, Any]) -> tuple[bool, Any]:
    return "max_bytes_per_s" in control, control.get("max_bytes_per_s")


def _stamp(noted: Mapping[str, Any] | None) -> tuple[str, datetime | None]:
    at = (noted or {}).get("at")
    return (noted or {}).get("by", ""), datetime.fromisoformat(at) if at else None


def _names(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
