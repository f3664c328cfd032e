"""What the replication report is built from: lag of flows and topics; events by `replication_events`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.conf import settings
from django.db.models import Count, F, FloatField, Max, Min, Q, Sum, Value
from django.db.models.functions import Coalesce
from django.urls import reverse

from console.frame.series import HOUR
from console.replication.measurement import queries as lag
from console.reports.kinds import replication_events as events
from console.reports.kinds.asked import Asked
from console.reports.kinds.copy_audits import read_audits
from console.reports.kinds.objectives import read_objectives
from console.runs.actions import KEEP_ENDED_RUNS
from jobs.reports.kinds.flows.lag_samples import (
    HOUR_ROW,
    LAG_ROW,
    LagSummary,
    Rows,
    summarise,
    summarise_hours,
)
from jobs.reports.kinds.flows.replication_data import (
    FlowReplication,
    ReplicationRecorded,
    TopicEvent,
    TopicLag,
)
from jobs.reports.kinds.flows.sampling import GAP, Interval, whole_of
from jobs.reports.periods import Period

# A flow writes at most so many samples of topics a second.
TOPIC_SAMPLES_PER_S = 2
TASK_CRASHES_KEPT = timedelta(hours=24)
_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class _TopicSpan:
    """The samples of a topic: how many, the worst, and the first and the last one."""

    topic: str
    lag: TopicLag
    first: datetime
    last: datetime


def read(asked: Asked) -> ReplicationRecorded:
    """Return what was recorded of the period."""
    period = asked.period
    flows = sorted(
        (flow for flow in asked.subjects if flow.created_at < period.end),
        key=lambda flow: str(flow.name),
    )
    stretch = _Stretch.of(period, lag.rolled_up_to())
    loose = _loose_topics(stretch)
    topics: list[TopicLag] = []
    changes: list[TopicEvent] = []
    found = []
    for flow in flows:
        summary, sampled = _lag_of(flow, asked, stretch)
        found.append(_flow(flow, summary, asked))
        spans = list(_topics(flow, stretch, loose.get(flow.pk, ())))
        topics += [span.lag for span in spans]
        changes += _joined_and_left(flow, spans, sampled)
    drifts, left_out = events.read_drifts(flows, period)
    return ReplicationRecorded(
        period,
        tuple(found),
        tuple(topics),
        tuple(events.read_runs(flows, period)),
        tuple(events.read_steering(flows, period)),
        (*changes, *left_out),
        tuple(drifts),
        samples_from=min(_samples_from(asked), _hours_from(asked)),
        runs_from=asked.now - KEEP_ENDED_RUNS,
        tasks_from=asked.now - TASK_CRASHES_KEPT,
        findings_from=asked.now - timedelta(days=settings.FINDINGS_RETENTION_D),
        objectives=read_objectives(asked, "flow", flows),
        audits=read_audits(asked, flows),
    )


def _flow(flow: Any, summary: LagSummary, asked: Asked) -> FlowReplication:
    total = flow.counted.get("total") or {}
    crashes = [datetime.fromtimestamp(ms / 1000, UTC) for ms in flow.task_crashes]
    return FlowReplication(
        flow.name,
        reverse("replication:detail", args=[flow.pk]),
        flow.created_at,
        summary,
        total.get("records"),
        total.get("bytes"),
        tuple(at for at in crashes if asked.period.start <= at < asked.period.end),
    )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What of a period is read as hours, `first_s` to `last_s`; the rest before and after it as samples.

    Hours are those that lie wholly in the period and were rolled up. Times are Unix seconds.
    """

    start_s: int
    end_s: int
    first_s: int
    last_s: int

    @classmethod
    def of(cls, period: Period, rolled_to: int | None) -> _Stretch:
        """Return how a period is read when hours are there up to a time."""
        start_s, end_s = _seconds(period)
        first_s = -(-start_s // HOUR) * HOUR
        last_s = min(end_s // HOUR * HOUR, rolled_to or 0)
        if last_s <= first_s:
            return cls(start_s, end_s, end_s, end_s)
        return cls(start_s, end_s, first_s, last_s)

    def hours(self, flow: Any) -> Any:
        """Return the hours of a flow and its topics."""
        return lag.list_lag_hours(flow).filter(at_s__gte=self.first_s, at_s__lt=self.last_s)

    @property
    def loose(self) -> list[tuple[int, int]]:
        """From and until when samples are read, because they are in no hour."""
        found = [(self.start_s, self.first_s), (self.last_s, self.end_s)]
        return [(start_s, end_s) for start_s, end_s in found if start_s < end_s]


def _lag_of(flow: Any, asked: Asked, stretch: _Stretch) -> tuple[LagSummary, Interval | None]:
    """Return the lag of a flow over a period, and from its first to its last sample."""
    whole = whole_of(asked.period)
    if _samples_from(asked) > whole.start:
        return _lag_of_hours(flow, stretch, whole)
    rows = lag.list_lag_samples(flow).filter(
        topic="", at_s__gte=stretch.start_s, at_s__lt=stretch.end_s
    )
    unknown = Value(-1.0, output_field=FloatField())
    values = rows.order_by("at_s", "pk").values_list(
        "at_s",
        Coalesce("lag", -1),
        Coalesce("lag_ms", -1),
        Coalesce("rate_per_s", unknown),
        "unknown_count",
    )
    read: Rows = np.fromiter(values.iterator(chunk_size=_CHUNK), dtype=LAG_ROW)
    summary = summarise(read, whole)
    if not len(read):
        return summary, None
    return summary, Interval(_moment(read["at_s"][0]), _moment(read["at_s"][-1]))


def _lag_of_hours(
    flow: Any, stretch: _Stretch, whole: Interval
) -> tuple[LagSummary, Interval | None]:
    hours = list(stretch.hours(flow).filter(topic=""))
    for start_s, end_s in stretch.loose:
        samples = lag.list_lag_samples(flow).filter(topic="", at_s__gte=start_s, at_s__lt=end_s)
        hours += lag.hours_of(samples)
    hours.sort(key=lambda hour: hour.first_s)
    names = HOUR_ROW.names or ()
    rows = [tuple(_known(getattr(hour, name)) for name in names) for hour in hours]
    summary = summarise_hours(np.array(rows, dtype=HOUR_ROW), whole)
    if not hours:
        return summary, None
    return summary, Interval(_moment(hours[0].first_s), _moment(hours[-1].last_s))


def _known(value: float | None) -> float:
    return -1 if value is None else value


def _loose_topics(stretch: _Stretch) -> dict[int, list[dict[str, Any]]]:
    """Return what samples that are in no hour say of topics, by the key of their flow."""
    found: dict[int, list[dict[str, Any]]] = {}
    for start_s, end_s in stretch.loose:
        rows = lag.list_samples_between(start_s, end_s).filter(topic__gt="")
        for row in rows.values("flow_id", "topic").annotate(
            count=Count("pk"),
            rated=Count("rate_per_s"),
            rates=Sum("rate_per_s"),
            most=Max("lag"),
            most_ms=Max("lag_ms"),
            first=Min("at_s"),
            last=Max("at_s"),
        ):
            found.setdefault(row["flow_id"], []).append(row)
    return found


def _topics(
    flow: Any, stretch: _Stretch, loose: Sequence[Mapping[str, Any]]
) -> Iterator[_TopicSpan]:
    hours = stretch.hours(flow).filter(topic__gt="").values("topic")
    told: dict[str, list[Mapping[str, Any]]] = {}
    for row in (
        *hours.annotate(
            count=Sum("samples"),
            rated=Sum("samples", filter=Q(rate_per_s__isnull=False)),
            rates=Sum(F("rate_per_s") * F("samples"), output_field=FloatField()),
            most=Max("lag"),
            most_ms=Max("lag_ms"),
            first=Min("first_s"),
            last=Max("last_s"),
        ),
        *loose,
    ):
        told.setdefault(row["topic"], []).append(row)
    for topic, rows in sorted(told.items()):
        yield _topic(flow, topic, rows)


def _topic(flow: Any, topic: str, rows: Sequence[Mapping[str, Any]]) -> _TopicSpan:
    def known(name: str) -> list[Any]:
        return [row[name] for row in rows if row[name] is not None]

    first, last, rated = min(known("first")), max(known("last")), sum(known("rated"))
    found = TopicLag(
        flow.name,
        topic,
        f"{reverse('replication:partitions', args=[flow.pk])}?{urlencode({'topic': topic})}",
        sum(known("count")),
        max(known("most"), default=None),
        max(known("most_ms"), default=None),
        round(sum(known("rates")) / rated * (last - first)) if rated else None,
    )
    return _TopicSpan(topic, found, _moment(first), _moment(last))


def _joined_and_left(
    flow: Any, spans: Sequence[_TopicSpan], sampled: Interval | None
) -> Iterator[TopicEvent]:
    """Yield topics whose samples begin long after those of the flow, or end long before them."""
    if sampled is None:
        return
    late = max(GAP, timedelta(seconds=2 * len(spans) / TOPIC_SAMPLES_PER_S))
    page = reverse("replication:detail", args=[flow.pk])
    for span in spans:
        if span.first - sampled.start > late:
            why = "First lag sample; the flow had samples before."
            yield TopicEvent(span.first, flow.name, span.topic, "Added", why, page)
        if sampled.end - span.last > late:
            why = "Last lag sample; the flow has later ones. The reason is not recorded."
            yield TopicEvent(span.last, flow.name, span.topic, "Removed", why, page)


def _samples_from(asked: Asked) -> datetime:
    return asked.now - timedelta(hours=settings.LAG_RETENTION_H)


def _hours_from(asked: Asked) -> datetime:
    return asked.now - timedelta(days=settings.LAG_HOURS_D)


def _seconds(period: Period) -> tuple[int, int]:
    """Return the first whole second of a period and the first one after it."""
    return int(-(-period.start.timestamp() // 1)), int(-(-period.end.timestamp() // 1))


def _moment(at_s: float) -> datetime:
    return datetime.fromtimestamp(float(at_s), UTC)
