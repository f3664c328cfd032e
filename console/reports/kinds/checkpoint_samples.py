"""What samples of checkpoint lag say of a period: the last and the worst values, and what they cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import Max, Min

from console.frame.series import HOUR, MINUTE, RAW
from console.replication.checkpoints import queries
from jobs.reports.kinds.flows.readiness import Exposure, Worst
from jobs.reports.kinds.flows.sampling import Interval
from jobs.reports.periods import Period

# A longer period is read by hours where there are any.
BY_MINUTES_S = 2 * 86_400
# How far before the end of the period the last sample may be.
LAST_S = {MINUTE: 900, HOUR: 2 * 3600}
# In the order of the worst values of `Exposure`.
VALUES = ("at_risk", "at_risk_ms", "reread", "age_ms")
_CHUNK = 500

Key = tuple[int, str]


@dataclass(slots=True)
class _Seen:
    values: list[int | None] = field(default_factory=lambda: [None] * len(VALUES))
    moments: list[int | None] = field(default_factory=lambda: [None] * len(VALUES))


def read_exposures(
    flow_ids: Sequence[int], period: Period
) -> tuple[dict[Key, Exposure], dict[int, list[Interval]]]:
    """Return what each flow and group (flow, name) would lose and reread, and what samples of flows cover.

    Worst values come from the coarsest step that is fine enough, the last ones from the finest that is kept.
    """
    rows = queries.list_series().filter(flow__in=flow_ids).order_by("flow", "group", "pk")
    keys = {pk: (flow, group) for pk, flow, group in rows.values_list("pk", "flow", "group")}
    covers: dict[int, list[Interval]] = {flow: [] for flow in flow_ids}
    seen: dict[int, _Seen] = {}
    begin, end = int(period.start.timestamp()), int(-(-period.end.timestamp() // 1))
    tiers = (HOUR, MINUTE, RAW) if end - begin > BY_MINUTES_S else (MINUTE, RAW, HOUR)
    for step, first, last in _segments(begin, end, tiers):
        for pk, at_s, *values in _samples(list(keys), step, first, last):
            _note(seen.setdefault(pk, _Seen()), at_s, values)
            flow, group = keys[pk]
            if not group:
                covers[flow].append(_covers(at_s, step))
    lasts = _lasts(list(keys), end)
    exposures = {keys[pk]: _exposure(seen[pk], lasts.get(pk)) for pk in keys if pk in seen}
    return exposures, covers


def _note(held: _Seen, at_s: int, values: Sequence[int | None]) -> None:
    for place, value in enumerate(values):
        most = held.values[place]
        if value is not None and (most is None or value > most):
            held.values[place], held.moments[place] = value, at_s


def _exposure(seen: _Seen, last: tuple[Any, ...] | None) -> Exposure:
    worst = [
        Worst(value, None if at_s is None else _moment(at_s))
        for value, at_s in zip(seen.values, seen.moments, strict=True)
    ]
    found = Exposure(None, None, None, None, None, *worst)
    if last is None:
        return found
    at_s, records, ms, reread, age_ms = last
    return replace(
        found, at=_moment(at_s), rpo_records=records, rpo_ms=ms, reread=reread, age_ms=age_ms
    )


def _lasts(series: Sequence[int], end: int) -> Mapping[int, tuple[Any, ...]]:
    """Return the last sample of each series before the end, the finest that is kept."""
    found: dict[int, tuple[Any, ...]] = {}
    for step, back in LAST_S.items():
        missing = [pk for pk in series if pk not in found]
        # A step that is not over by the end would hold what came later.
        newest = {pk: rest for pk, *rest in _samples(missing, step, end - back, end - step + 1)}
        found |= {pk: tuple(rest) for pk, rest in newest.items()}
    return found


def _segments(begin: int, end: int, tiers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield which step to read from when to when: the first that is there, around it the others."""
    if begin >= end or not tiers:
        return
    step, others = tiers[0], tiers[1:]
    least = max(step, 1)
    ends = queries.list_samples().filter(step_s=step).aggregate(low=Min("at_s"), high=Max("at_s"))
    if ends["low"] is None:
        yield from _segments(begin, end, others)
        return
    first = max(-(-begin // least) * least, ends["low"])
    last = min(end // least * least, ends["high"] + least)
    if first >= last:
        yield from _segments(begin, end, others)
        return
    yield from _segments(begin, first, others)
    yield step, first, last
    yield from _segments(last, end, others)


def _samples(series: Sequence[int], step: int, first: int, last: int) -> Iterator[tuple[Any, ...]]:
    for place in range(0, len(series), _CHUNK):
        some = series[place : place + _CHUNK]
        rows = queries.list_samples().filter(
            series__in=some, step_s=step, at_s__gte=first, at_s__lt=last
        )
        rows = rows.order_by("series", "at_s")
        yield from rows.values_list("series_id", "at_s", *VALUES).iterator(chunk_size=20_000)


def _covers(at_s: int, step: int) -> Interval:
    return Interval(_moment(at_s), _moment(at_s + max(step, settings.CHECKPOINT_INTERVAL_S)))


def _moment(at_s: int) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)
